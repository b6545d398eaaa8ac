//===- DropoutMasks.cpp -----------------------------------------------------===//
#include "DropoutMasks.h"
#include "llvm/ADT/STLExtras.h"

namespace stg::autodiff {

namespace {

class MaskMaker {
public:
  MaskMaker(IRContext &context, Body &body) : context_(context), body_(body) {}

  DropoutMasks run(const std::vector<bool> &varied) {
    std::vector<Op> ops = std::exchange(body_.ops, {});
    for (Op &op : ops) {
      body_.ops.push_back(std::move(op));
      if (body_.ops.back().kind == OpKind::Dropout && varied[body_.ops.back().results[0].index])
        addMask(Op(body_.ops.back()));
    }
    for (uint32_t i = 0; i < body_.ops.size(); ++i)
      for (ValueId result : body_.ops[i].results)
        body_.values[result.index].def = OpId(i);
    return std::move(masks_);
  }

private:
  /// In the statement of `dropout`, by its name and `what`.
  ValueId add(const Op &dropout, const char *what, OpKind kind, llvm::ArrayRef<ValueId> operands, OpFields fields,
              TensorType type) {
    Op op;
    op.kind = kind;
    op.part = dropout.part;
    op.operands.assign(operands.begin(), operands.end());
    op.fields = std::move(fields);
    op.kernel = dropout.kernel;
    op.scope = dropout.scope;
    op.where = dropout.where;
    op.results.push_back(ValueId(static_cast<uint32_t>(body_.values.size())));
    Value value;
    value.type = std::move(type);
    const Value &result = body_.value(dropout.results[0]);
    value.scope = result.scope;
    if (result.name)
      value.name = freeName(context_.text(result.name).str() + "." + what);
    body_.values.push_back(std::move(value));
    body_.ops.push_back(std::move(op));
    return body_.ops.back().results[0];
  }

  /// Ones, dropped alike; what is left is 1 / (1 - p), and counts as 1.
  void addMask(const Op &dropout) {
    TensorType type{ElementType::F32, body_.value(dropout.operands[0]).type->dims};
    BroadcastFields dims;
    dims.dims.assign(type.dims.begin(), type.dims.end());
    ValueId one = add(dropout, "constant", OpKind::Constant, {}, ConstantFields{.number = 1}, {ElementType::F32, {}});
    ValueId ones = add(dropout, "broadcast", OpKind::Broadcast, one, std::move(dims), type);
    ValueId dropped = add(dropout, "dropout", OpKind::Dropout, ones, dropout.fields, type);
    type.element = ElementType::U8;
    ValueId mask =
        add(dropout, "mask", OpKind::Map, {one, dropped}, MapFields{MapFn::WherePositive, ElementType::U8}, type);
    masks_[dropout.results[0].index] = mask;
  }

  NameId freeName(const std::string &wanted) const {
    NameId name = context_.name(wanted);
    auto isTaken = [&](const Value &value) { return value.name == name; };
    for (unsigned number = 1; llvm::any_of(body_.values, isTaken); ++number)
      name = context_.name(wanted + "'" + std::to_string(number));
    return name;
  }

  IRContext &context_;
  Body &body_;
  DropoutMasks masks_;
};

} // namespace

DropoutMasks addDropoutMasks(IRContext &context, Body &body, const std::vector<bool> &varied) {
  return MaskMaker(context, body).run(varied);
}

} // namespace stg::autodiff
