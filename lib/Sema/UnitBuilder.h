//===- UnitBuilder.h - the units of a program while it is elaborated -------===//
// Units are closed one after the other; at most one is open. A value of another unit is imported into the open one on
// first use, so a body's inputs are exactly what it reads. Which outputs a body has is known only when all units are
// (`first` may be read by `last`): bodies therefore stay pending until finish(), which merges equal bodies, adds
// outputs, and writes the program.
//
// Invariant: a Tensor names (unit, value); units that share a pending body share its value ids.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_SEMA_UNITBUILDER_H
#define STG_LIB_SEMA_UNITBUILDER_H

#include "stg/IR/Program.h"
#include "stg/Sema/Values.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include <map>
#include <memory>

namespace stg {

/// Where an import of a unit comes from.
struct ValueOrigin {
  UnitId unit;
  ValueId value;
  InputId input;
  auto operator<=>(const ValueOrigin &) const = default;
  static ValueOrigin of(const Tensor &tensor) { return {tensor.unit, tensor.value, tensor.input}; }
};

struct PendingUnit {
  uint32_t body = 0;
  std::string path;
  int64_t index = -1;
  std::vector<ValueOrigin> inputs;
  std::vector<WeightBinding> weights;
  std::vector<StateBinding> states;
};

using ImportKey = std::pair<ValueOrigin, std::pair<const void *, std::string>>;

class UnitBuilder {
public:
  explicit UnitBuilder(Program &program) : program_(program) {}

  bool isOpen() const { return open_; }
  UnitId current() const { return UnitId(static_cast<uint32_t>(units_.size())); }
  const std::string &path() const { return unit_.path; }
  void open(std::string path, int64_t index);
  /// Closes the open unit under its final name; one without anything in it vanishes. Returns whether it stays.
  bool close(std::string path, std::string bodyName, int64_t index);
  const Body &bodyOf(UnitId unit) const { return bodies_[units_[unit.index].body]; }
  /// Adds a unit of the body that `model` has, with other bindings.
  UnitId repeat(UnitId model, std::string path, int64_t index, std::vector<ValueOrigin> inputs);
  const PendingUnit &unit(UnitId id) const { return units_[id.index]; }
  size_t numUnits() const { return units_.size(); }

  /// The tensor as a value of the open unit. Two `variable`s that hold the same value get an input each: in another
  /// iteration they may differ. A new input of the body takes the variable's name.
  ValueId local(const Tensor &tensor, std::pair<const void *, std::string> variable = {});
  ValueId read(const Stored &stored);
  /// Adds an op whose result types are known. Names are made unique (`x`, `x'1`).
  llvm::SmallVector<Tensor, 2> add(Op op, llvm::ArrayRef<TensorType> types, llvm::ArrayRef<std::string> names);
  /// Ops of the open unit so far: what is defined later was made since.
  size_t numOps() const { return body_.ops.size(); }
  bool madeSince(ValueId value, size_t op) const { return body_.value(value).def.index >= op; }
  /// Gives a value of the open unit another name: a result is named by its target.
  void rename(ValueId value, const std::string &name);
  void addLoss(const Tensor &scalar);
  /// A new weight or state owned by the open unit (inside repeats and units) or by the program.
  Stored declareOwned(bool isState, std::string path, TensorType type, WeightPrecision precision, SourceRange where);
  Stored declareGlobal(bool isState, std::string path, TensorType type, WeightPrecision precision, SourceRange where);
  uint32_t slotOf(const Stored &stored);

  uint32_t nextKernel() { return ++kernel_; }
  uint32_t nextDropout() { return dropouts_++; }
  TensorType typeOf(ValueId value) const { return *body_.value(value).type; }
  const Body &body() const { return body_; }
  /// Origins of the open unit's inputs so far, in slot order.
  const std::vector<ValueOrigin> &inputs() const { return unit_.inputs; }

  /// Elaborates an op's define block: `operands` become inputs of a body of its own.
  struct Detached {
    PendingUnit unit;
    Body body;
    std::map<ImportKey, ValueId> imports;
    std::map<std::pair<bool, std::pair<UnitId, uint32_t>>, uint32_t> slots;
    std::map<std::pair<bool, uint32_t>, ValueId> reads;
    llvm::StringMap<unsigned> names;
    uint32_t kernel, dropouts;
    bool open;
  };
  std::unique_ptr<Detached> detach(llvm::ArrayRef<TensorType> operands, llvm::ArrayRef<std::string> names,
                                   std::vector<Tensor> &inputs);
  /// Ends detach(): the body is called `name` and has these outputs.
  BodyId attach(std::unique_ptr<Detached> outer, llvm::StringRef name,
                llvm::ArrayRef<std::pair<std::string, Tensor>> results);
  /// Drops what was built since detach().
  void abandon(std::unique_ptr<Detached> outer);

  /// Values that leave the program.
  void addOutput(std::string name, const Tensor &tensor) { outputs_.push_back({std::move(name), tensor}); }
  /// Moves everything into the program.
  void finish();

private:
  Program &program_;
  bool open_ = false;
  PendingUnit unit_;
  Body body_;
  std::map<ImportKey, ValueId> imports_;
  std::map<std::pair<bool, std::pair<UnitId, uint32_t>>, uint32_t> slots_; ///< (isState, owner) -> slot
  std::map<std::pair<bool, uint32_t>, ValueId> reads_;                     ///< (isState, slot) -> value
  llvm::StringMap<unsigned> names_;
  uint32_t kernel_ = 0, dropouts_ = 0;

  std::vector<Body> bodies_;
  std::vector<Body> defines_;
  std::vector<PendingUnit> units_;
  std::vector<std::pair<std::string, Tensor>> outputs_;
};

/// `attn`, then `attn'1`, `attn'2`.
std::string uniqueName(llvm::StringMap<unsigned> &taken, const std::string &name);

/// Structural equality: same ops on same values, same slots and outputs. Names count, source places do not.
bool sameBody(const Body &a, const Body &b);

} // namespace stg

#endif
