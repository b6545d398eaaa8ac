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
    Program
  };
  Kind kind = Kind::Leaf;
  UnitId unit;
  NodePlace place;
  uint32_t output = 0;
  InputId input;
};

/// For each unit and slot, computed once: micro-batches only add the ids of first nodes.
class SlotOrigins {
public:
  SlotOrigins(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates);

  const SlotOrigin &input(UnitId unit, uint32_t slot) const { return inputs_[firstInput_[unit.index] + slot]; }
  /// A number for the gradient buffer behind a weight slot: equal where two units train one weight.
  uint32_t buffer(UnitId unit, uint32_t slot) const { return buffers_[firstWeight_[unit.index] + slot]; }
  uint32_t buffers() const { return bufferCount_; }

private:
  void follow(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates, UnitId unit,
              uint32_t slot);
  void numberBuffers(const Program &program);

  std::vector<size_t> firstInput_, firstWeight_; ///< per unit
  std::vector<SlotOrigin> inputs_;
  std::vector<uint32_t> buffers_;
  uint32_t bufferCount_ = 0;
};

} // namespace stg
