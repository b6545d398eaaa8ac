//===- TensorForms.cpp - the layouts in which a tensor is used --------------===//
#include "TensorForms.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/IR/LayoutOps.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace stg;

namespace {

class FormFollower {
public:
  explicit FormFollower(const Program &program) : program_(program) {}

  std::vector<TensorForm> run(llvm::ArrayRef<UnitTensor> sites) {
    for (const UnitTensor &site : sites)
      follow(site, formFor(*valueAt(site).layout, std::nullopt));
    return std::move(forms_);
  }

private:
  const Body &bodyOf(UnitId unit) const { return program_.body(program_.units[unit.index]); }
  const Value &valueAt(const UnitTensor &tensor) const { return bodyOf(tensor.unit).value(tensor.value); }
  const Op &opAt(const UnitOp &op) const { return bodyOf(op.unit).op(op.op); }

  /// Forms are alike if the same conversion gives the same layout.
  size_t formFor(const Layout &layout, std::optional<UnitOp> by) {
    for (size_t i = 0; i < forms_.size(); ++i)
      if (forms_[i].layout == layout && forms_[i].by.empty() == !by &&
          (!by || opAt(forms_[i].by[0]).kind == opAt(*by).kind)) {
        if (by)
          forms_[i].by.push_back(*by);
        return i;
      }
    forms_.push_back({layout, {}, {}});
    if (by)
      forms_.back().by.push_back(*by);
    return forms_.size() - 1;
  }

  void follow(const UnitTensor &tensor, size_t form) {
    const Body &body = bodyOf(tensor.unit);
    if (!visited_.insert({program_.units[tensor.unit.index].body.index, tensor.value.index}).second)
      return;
    for (uint32_t i = 0; i < body.ops.size(); ++i) {
      const Op &op = body.ops[i];
      auto operand = llvm::find(op.operands, tensor.value);
      if (operand == op.operands.end())
        continue;
      UnitOp at{tensor.unit, OpId(i)};
      if (!convertsLayout(op.kind)) {
        forms_[form].readers.push_back(at);
        continue;
      }
      ValueId made = op.results[static_cast<size_t>(operand - op.operands.begin())];
      follow({tensor.unit, made}, formFor(*body.value(made).layout, at));
    }
    for (uint32_t output = 0; output < body.outputs.size(); ++output)
      if (body.outputs[output].value == tensor.value)
        followOutput({tensor.unit, output}, form);
    if (ValueId again = computedAgain(program_, body, tensor.value))
      follow({tensor.unit, again}, form);
  }

  void followOutput(const UnitValue &output, size_t form) {
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      for (uint32_t slot = 0; slot < program_.units[u].inputs.size(); ++slot)
        if (program_.units[u].inputs[slot] == InputBinding(output))
          for (const Op &op : bodyOf(UnitId(u)).ops)
            if (op.kind == OpKind::Input && op.get<SlotFields>().slot == slot)
              follow({UnitId(u), op.results[0]}, form);
  }

  const Program &program_;
  std::vector<TensorForm> forms_;
  std::set<std::pair<uint32_t, uint32_t>> visited_; // (body, value)
};

} // namespace

std::vector<TensorForm> stg::formsOf(const Program &program, llvm::ArrayRef<UnitTensor> sites) {
  return FormFollower(program).run(sites);
}
