//===- CallGradient.cpp - the grad body of a call, inlined --------------------===//
// The body's input slots are the operands, the results, then the cotangents of the first results. Its dims are the op's
// own where one dim of the caller is two of the op's (queries and keys of self-attention): operands that lack a slot's
// dims are renamed by position, and cotangents back.
//===----------------------------------------------------------------------===//
#include "GradientRules.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace stg::autodiff {

namespace {

class CallGradient {
public:
  CallGradient(OpGradient &gradient, const Body &grad)
      : gradient_(gradient), call_(gradient.op.get<CallFields>()), grad_(grad), build_(gradient.build),
        values_(grad.values.size()) {}

  void run() {
    markNeeded();
    for (uint32_t slot = 0; slot < grad_.inputs.size(); ++slot)
      sources_.push_back(ValueId());
    for (size_t i = 0; i < grad_.ops.size(); ++i)
      if (needed_[i])
        copy(grad_.ops[i]);
    for (size_t i = 0; i < gradient_.op.operands.size(); ++i)
      if (gradient_.wanted[i])
        gradient_.contribute(i, cotangentOf(i));
  }

private:
  [[noreturn]] void fail(const llvm::Twine &text) { internalError(gradient_.program.text(call_.callee), text.str()); }

  ValueId outputFor(size_t operand) {
    int32_t output = operand < call_.gradOutputs.size() ? call_.gradOutputs[operand] : -1;
    if (output < 0 || static_cast<size_t>(output) >= grad_.outputs.size())
      fail("training needs the cotangent of operand " + llvm::Twine(operand) + ", which the gradient does not give");
    return grad_.outputs[static_cast<size_t>(output)].value;
  }

  void markNeeded() {
    std::vector<bool> live(grad_.values.size(), false);
    for (size_t i = 0; i < gradient_.op.operands.size(); ++i)
      if (gradient_.wanted[i])
        live[outputFor(i).index] = true;
    needed_.assign(grad_.ops.size(), false);
    for (size_t i = grad_.ops.size(); i-- > 0;) {
      const Op &op = grad_.ops[i];
      needed_[i] = llvm::any_of(op.results, [&](ValueId result) { return live[result.index]; });
      if (needed_[i])
        for (ValueId operand : op.operands)
          live[operand.index] = true;
    }
  }

  /// The value of the caller behind an input slot, with the slot's dims in the slot's order.
  ValueId valueFor(uint32_t slot) {
    if (sources_[slot])
      return sources_[slot];
    build_.enter(gradient_.op);
    size_t operands = gradient_.op.operands.size(), results = gradient_.op.results.size();
    ValueId value;
    if (slot < operands)
      value = gradient_.op.operands[slot];
    else if (slot < operands + results)
      value = gradient_.op.results[slot - operands];
    else
      value = cotangent(slot - operands - results);
    DimList own = build_.type(value).dims, wanted = grad_.inputs[slot].type.dims;
    if (own.size() != wanted.size())
      fail("the gradient takes " + llvm::Twine(wanted.size()) + " dims of a value that has " + llvm::Twine(own.size()));
    if (isByPosition(own, wanted)) {
      llvm::SmallVector<NameId, 6> names;
      for (const Dim &dim : own)
        names.push_back(dim.name);
      value = build_.renamed(value, names, wanted);
    }
    return sources_[slot] = build_.full(value, wanted);
  }

  static bool isByPosition(llvm::ArrayRef<Dim> own, llvm::ArrayRef<Dim> wanted) {
    return llvm::any_of(wanted, [&](const Dim &dim) {
      return llvm::none_of(own, [&](const Dim &each) { return each.name == dim.name; });
    });
  }

  /// Of result `i`, whole; zeros if nothing depends on it.
  ValueId cotangent(size_t i) {
    if (i >= gradient_.cotangents.size())
      fail("the gradient takes more cotangents than there are results");
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
    for (ValueId result : op.results)
      types.push_back(*grad_.value(result).type);
    llvm::SmallVector<ValueId, 2> results = build_.emitAll(op.kind, operands, op.fields, types);
    for (size_t i = 0; i < results.size(); ++i)
      values_[op.results[i].index] = results[i];
  }

  ValueId cotangentOf(size_t operand) {
    ValueId value = values_[outputFor(operand).index];
    DimList own = gradient_.operandType(operand).dims;
    llvm::SmallVector<NameId, 6> names;
    for (const Dim &dim : grad_.inputs[operand].type.dims)
      names.push_back(dim.name);
    build_.enter(gradient_.op);
    return build_.renamed(value, names, own);
  }

  OpGradient &gradient_;
  const CallFields &call_;
  const Body &grad_;
  BackwardBuilder &build_;
  std::vector<bool> needed_;     ///< per op of the grad body
  std::vector<ValueId> values_;  ///< per value of the grad body: the copy
  std::vector<ValueId> sources_; ///< per input slot
};

} // namespace

void callGradient(OpGradient &gradient) {
  const CallFields &call = gradient.op.get<CallFields>();
  if (!call.grad.valid())
    internalError(gradient.program.text(call.callee), "training needs its gradient, and it has none");
  const Body &grad = gradient.program.body(call.grad);
  size_t cotangents = grad.inputs.size() - gradient.op.operands.size() - gradient.op.results.size();
  for (size_t i = cotangents; i < gradient.cotangents.size(); ++i)
    if (gradient.cotangents[i])
      internalError(gradient.program.text(call.callee),
                    "the loss depends on result " + std::to_string(i) + ", whose cotangent the gradient does not take");
  CallGradient(gradient, grad).run();
}

} // namespace stg::autodiff
