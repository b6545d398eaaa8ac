//===- SlotOrigins.h - who makes what the slots of units bring --------------===//
#pragma once

#include "UnrollTemplates.h"

namespace stg {

/// What an input slot of a unit is bound to, passed-through inputs followed to their origin.
struct SlotOrigin {
  enum class Kind : uint8_t {
    /// The node at `place` of `unit`.
    Node,
    /// Output `output` of `unit`, which no node makes: a weight, a state or a constant.
    Leaf,
    /// Input `input` of the program.
    Program,
    /// Output `output` of `unit`, which another rank of the pipeline sends: number `transfer` of its transfers.
    Message
  };
  Kind kind = Kind::Leaf;
  UnitId unit;
  NodePlace place;
  uint32_t output = 0;
  InputId input;
  uint32_t transfer = 0;
};

/// For each unit and slot, computed once: ranks and micro-batches only add ids.
class SlotOrigins {
public:
  SlotOrigins(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates);

  const SlotOrigin &input(UnitId unit, uint32_t slot) const { return inputs_[firstInput_[unit.index] + slot]; }
  /// Where a rank that runs `from.unit` has the value from.
  SlotOrigin output(UnitValue from) const;
  /// A number for the gradient buffer behind a weight slot: equal where two units train one weight.
  uint32_t buffer(UnitId unit, uint32_t slot) const { return buffers_[firstWeight_[unit.index] + slot]; }
  /// The buffer of a weight of the program.
  static uint32_t buffer(WeightId weight) { return weight.index; }
  uint32_t buffers() const { return bufferCount_; }

private:
  void follow(UnitId unit, uint32_t slot);
  std::optional<uint32_t> transferOf(UnitValue value, UnitId reader) const;
  void numberBuffers();

  const Program &program_;
  llvm::ArrayRef<std::optional<BodyTemplate>> templates_;
  std::vector<size_t> firstInput_, firstWeight_; ///< per unit
  std::vector<SlotOrigin> inputs_;
  std::vector<uint32_t> buffers_;
  uint32_t bufferCount_ = 0;
};

} // namespace stg
