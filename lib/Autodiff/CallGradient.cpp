//===- CallGradient.cpp - the grad body of a call, inlined --------------------===//
// The body's input slots are the operands, the results, then the cotangents of the first results, dim by dim; its dims
// are the op's own (`b`, `s`, `t`). Inlined, they get the caller's names, so that rules see them.
//
// Two dims of the op may be one of the caller's, as queries and keys of self-attention. A call does not mind: what its
// operands' dims are is said by position. An op that goes by names would take the two for one; if the body has one that
// sees both, only the first of the two gets the caller's name, and values are renamed on the way in and back.
//===----------------------------------------------------------------------===//
#include "DimRenaming.h"
#include "GradientRules.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <set>

namespace stg::autodiff {

namespace {

class CallGradient {
public:
  CallGradient(OpGradient &gradient, const Body &grad)
      : gradient_(gradient), call_(gradient.op.get<CallFields>()), grad_(grad), build_(gradient.build),
        values_(grad.values.size()), sources_(grad.inputs.size()) {}

  void run() {
    checkCotangents();
    markNeeded();
    nameDims();
    for (size_t i = 0; i < grad_.ops.size(); ++i)
      if (needed_[i])
        copy(grad_.ops[i]);
    for (size_t i = 0; i < gradient_.op.operands.size(); ++i)
      if (gradient_.wanted[i])
        gradient_.contribute(i, cotangentOf(i));
  }

private:
  [[noreturn]] void fail(const llvm::Twine &text) { internalError(gradient_.program.text(call_.callee), text.str()); }

  size_t operandCount() const { return gradient_.op.operands.size(); }
  size_t forwardCount() const { return operandCount() + gradient_.op.results.size(); }

  void checkCotangents() {
    if (grad_.inputs.size() < forwardCount() || grad_.inputs.size() > forwardCount() + gradient_.cotangents.size())
      fail("its gradient takes " + llvm::Twine(grad_.inputs.size()) + " values");
    for (size_t i = grad_.inputs.size() - forwardCount(); i < gradient_.cotangents.size(); ++i)
      if (gradient_.cotangents[i])
        fail("the loss depends on result " + llvm::Twine(i) + ", whose cotangent the gradient does not take");
  }

  ValueId outputFor(size_t operand) {
    int32_t output = operand < call_.gradOutputs.size() ? call_.gradOutputs[operand] : -1;
    if (output < 0 || static_cast<size_t>(output) >= grad_.outputs.size())
      fail("training needs the cotangent of operand " + llvm::Twine(operand) + ", which the gradient does not give");
    return grad_.outputs[static_cast<size_t>(output)].value;
  }

  void markNeeded() {
    live_.assign(grad_.values.size(), false);
    for (size_t i = 0; i < operandCount(); ++i)
      if (gradient_.wanted[i])
        live_[outputFor(i).index] = true;
    read_.assign(grad_.values.size(), false);
    for (const BodyOutput &output : grad_.outputs)
      read_[output.value.index] = true;
    for (const Op &op : grad_.ops)
      for (ValueId operand : op.operands)
        read_[operand.index] = true;
    needed_.assign(grad_.ops.size(), false);
    for (size_t i = grad_.ops.size(); i-- > 0;) {
      const Op &op = grad_.ops[i];
      needed_[i] = llvm::any_of(op.results, [&](ValueId result) { return live_[result.index]; });
      if (needed_[i])
        for (ValueId operand : op.operands)
          live_[operand.index] = true;
    }
  }

  //===--------------------------------------------------------------------===//
  // Names of dims
  //===--------------------------------------------------------------------===//

  /// The caller's value that a slot stands for; of a cotangent, what it is the cotangent of.
  ValueId callerValue(uint32_t slot) const {
    const Op &op = gradient_.op;
    if (slot < operandCount())
      return op.operands[slot];
    return op.results[slot < forwardCount() ? slot - operandCount() : slot - forwardCount()];
  }

  void nameDims() {
    std::set<NameId> ours, theirs;
    DimRenaming separate;
    for (uint32_t slot = 0; slot < grad_.inputs.size(); ++slot) {
      const auto &inner = grad_.inputs[slot].type.dims, &outer = build_.type(callerValue(slot)).dims;
      if (inner.size() != outer.size())
        fail("the gradient takes " + llvm::Twine(inner.size()) + " dims of a value that has " +
             llvm::Twine(outer.size()));
      for (size_t i = 0; i < inner.size(); ++i) {
        if (!theirs.insert(inner[i].name).second)
          continue;
        names_.set(inner[i].name, outer[i].name);
        separate.set(inner[i].name, ours.insert(outer[i].name).second ? outer[i].name : freshName(inner[i].name));
      }
    }
    for (const Value &value : grad_.values)
      for (const Dim &dim : value.type->dims)
        if (theirs.insert(dim.name).second && ours.count(dim.name)) {
          names_.set(dim.name, freshName(dim.name));
          separate.set(dim.name, names_(dim.name));
        }
    if (!keepsDimsApart())
      names_ = std::move(separate);
  }

  NameId freshName(NameId name) const { return build_.context().name("grad." + gradient_.program.text(name).str()); }

  /// Whether no op takes two dims for one under `names_`.
  bool keepsDimsApart() const {
    for (size_t i = 0; i < grad_.ops.size(); ++i) {
      const Op &op = grad_.ops[i];
      if (!needed_[i])
        continue;
      std::set<NameId> seen;
      auto add = [&](ValueId value) {
        if (op.kind == OpKind::Call)
          seen.clear();
        for (const Dim &dim : grad_.value(value).type->dims)
          seen.insert(dim.name);
        return areApart(seen);
      };
      if (!llvm::all_of(op.operands, add) || !llvm::all_of(keptResults(op), add))
        return false;
    }
    return true;
  }

  /// Without results at the end that the gradient itself never reads (of a bias or sinks that this call lacks), or that
  /// nobody needs here and that would have a dim twice.
  llvm::ArrayRef<ValueId> keptResults(const Op &op) const {
    llvm::ArrayRef<ValueId> results = op.results;
    if (op.kind != OpKind::Call)
      return results;
    auto isLeftOut = [&](ValueId value) {
      std::set<NameId> dims;
      for (const Dim &dim : grad_.value(value).type->dims)
        dims.insert(dim.name);
      return !live_[value.index] && (!read_[value.index] || !areApart(dims));
    };
    while (isLeftOut(results.back()))
      results = results.drop_back();
    return results;
  }

  bool areApart(const std::set<NameId> &dims) const {
    std::set<NameId> renamed;
    return llvm::all_of(dims, [&](NameId dim) { return renamed.insert(names_(dim)).second; });
  }

  //===--------------------------------------------------------------------===//
  // Copying
  //===--------------------------------------------------------------------===//

  static llvm::SmallVector<NameId, 6> namesOf(llvm::ArrayRef<Dim> dims) {
    llvm::SmallVector<NameId, 6> names;
    for (const Dim &dim : dims)
      names.push_back(dim.name);
    return names;
  }

  ValueId valueFor(uint32_t slot) {
    if (sources_[slot])
      return sources_[slot];
    build_.enter(gradient_.op);
    ValueId value = slot < forwardCount() ? callerValue(slot) : cotangent(slot - forwardCount());
    TensorType inside = names_(grad_.inputs[slot].type);
    llvm::SmallVector<NameId, 6> outer = namesOf(build_.type(value).dims);
    return sources_[slot] = build_.renamed(value, outer, inside.dims);
  }

  /// Of result `i`, whole; zeros if nothing depends on it.
  ValueId cotangent(size_t i) {
    TensorType type = build_.type(gradient_.op.results[i]);
    if (gradient_.cotangents[i])
      return build_.full(gradient_.cotangents[i], type.dims);
    ValueId zero = build_.emit(OpKind::Constant, {}, ConstantFields{.element = type.element}, {type.element, {}});
    return build_.withDims(zero, type.dims);
  }

  void copy(const Op &op) {
    if (op.kind == OpKind::Input) {
      values_[op.results[0].index] = valueFor(op.get<SlotFields>().slot);
      return;
    }
    // Statements of the gradient are kernels of their own.
    build_.enter(gradient_.op, op.kernel + 1);
    llvm::SmallVector<ValueId, 6> operands;
    for (ValueId operand : op.operands)
      operands.push_back(values_[operand.index]);
    llvm::SmallVector<TensorType, 4> types;
    for (ValueId result : keptResults(op))
      types.push_back(names_(*grad_.value(result).type));
    OpFields fields = names_(op.fields);
    if (auto *call = std::get_if<CallFields>(&fields)) {
      call->resultFactors.resize(types.size());
      call->resultElements.resize(types.size());
    }
    llvm::SmallVector<ValueId, 2> results = build_.emitAll(op.kind, operands, std::move(fields), types);
    for (size_t i = 0; i < results.size(); ++i)
      values_[op.results[i].index] = results[i];
  }

  ValueId cotangentOf(size_t operand) {
    ValueId value = values_[outputFor(operand).index];
    TensorType inside = names_(grad_.inputs[operand].type);
    DimList outer = gradient_.operandType(operand).dims;
    build_.enter(gradient_.op);
    return build_.renamed(value, namesOf(inside.dims), outer);
  }

  OpGradient &gradient_;
  const CallFields &call_;
  const Body &grad_;
  BackwardBuilder &build_;
  DimRenaming names_;            ///< dims of the grad body
  std::vector<bool> read_;       ///< per value of the grad body: an op or output has it
  std::vector<bool> live_;       ///< per value of the grad body: read on the way to a wanted cotangent
  std::vector<bool> needed_;     ///< per op of the grad body
  std::vector<ValueId> values_;  ///< per value of the grad body: the copy
  std::vector<ValueId> sources_; ///< per input slot
};

} // namespace

void callGradient(OpGradient &gradient) {
  const CallFields &call = gradient.op.get<CallFields>();
  if (!call.grad.valid())
    internalError(gradient.program.text(call.callee), "training needs its gradient, and it has none");
  CallGradient(gradient, gradient.program.body(call.grad)).run();
}

} // namespace stg::autodiff
