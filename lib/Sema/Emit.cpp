//===- Emit.cpp - ops of the open unit ------------------------------------------------===//
// The one place where elaboration makes ops: result types come from the shape rules, sizes are checked where a tensor
// is made. Below it the views that elaboration inserts by itself: factored dims taken apart and put together, other
// orders.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "stg/Shape/ShapeRules.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;
using llvm::StringRef;

void Elaborator::ensureOpen() {
  if (units_.isOpen())
    return;
  units_.open("", -1);
  inputSources_.clear();
}

/// Instance path inside the open unit, `attn`; the callee of a call is the last component. Invalid at the unit's level.
NameId Elaborator::scopeInUnit(const Op &op, const Frame *frame) {
  std::string path = StringRef(frame->path).drop_front(std::min(unitBase_.size(), frame->path.size())).str();
  if (auto *call = std::get_if<CallFields>(&op.fields))
    path += program_.text(call->callee);
  else if (!path.empty())
    path.pop_back(); // the final dot
  return path.empty() ? NameId() : program_.context->name(path);
}

llvm::SmallVector<Tensor, 2> Elaborator::emit(OpKind kind, llvm::ArrayRef<Tensor> operands, OpFields fields,
                                              Context &context, SourceRange where, std::vector<std::string> names) {
  llvm::SmallVector<Tensor, 2> unknown(names.size(), Tensor::makeUnknown());
  if (llvm::any_of(operands, [](const Tensor &tensor) { return tensor.unknown; }))
    return unknown;
  ensureOpen();
  ++opsMade_;
  Op op;
  op.kind = kind;
  op.fields = std::move(fields);
  op.kernel = context.kernel;
  op.scope = scopeInUnit(op, context.scope->frame);
  op.where = where;
  llvm::SmallVector<const TensorType *, 4> types;
  for (const Tensor &operand : operands) {
    op.operands.push_back(units_.local(operand));
    types.push_back(&operand.type);
  }
  ShapeResult shape = inferTypes(op, types, units_.body(), *program_.context);
  if (!shape.ok()) {
    auto builder = diags_.report(
        where, diag::TypesDoNotFit{.op = mnemonic(kind), .reason = stg::describe(*shape.error, *program_.context)});
    withInstances(builder, context.scope->frame);
    return unknown;
  }
  for (const TensorType &type : shape.types)
    if (!checkElements(type, where, context.scope))
      return unknown;
  return units_.add(std::move(op), shape.types, names);
}

Tensor Elaborator::splitFactored(Tensor tensor, Context &context, SourceRange where) {
  if (tensor.unknown)
    return tensor;
  ViewFields fields;
  for (const Dim &dim : tensor.type.dims) {
    const DimGroup *group = findDim(context.scope, program_.text(dim.name));
    if (!group || group->name != dim.name || group->parts.size() < 2)
      continue;
    // Only a tensor of that very size: one that brings another keeps it whole.
    if (sameSize(group->size(program_.context->dims), dim.size) == false)
      continue;
    ViewItem item;
    item.from.push_back(dim.name);
    item.to = group->parts;
    item.factored = true;
    fields.items.push_back(std::move(item));
  }
  if (fields.items.empty())
    return tensor;
  Context below = context.below();
  return emit(OpKind::View, {tensor}, std::move(fields), below, where, {valueName(below, "view")})[0];
}

/// Parts of a dim that only the callee factored become that dim again.
Tensor Elaborator::mergeForCaller(Tensor tensor, Scope *callee, Scope *caller, Context &context, SourceRange where) {
  ViewFields fields;
  for (const DimGroup &group : grouped(tensor.type, callee)) {
    if (group.parts.size() < 2 || program_.text(group.name).starts_with("("))
      continue;
    bool known = llvm::any_of(grouped(tensor.type, caller), [&](const DimGroup &other) {
      return other.name == group.name && other.parts.size() == group.parts.size();
    });
    if (known)
      continue;
    ViewItem item;
    for (const Dim &part : group.parts)
      item.from.push_back(part.name);
    item.to.push_back({group.name, group.size(program_.context->dims)});
    item.factored = true;
    fields.items.push_back(std::move(item));
  }
  if (fields.items.empty())
    return tensor;
  Context below = context.below();
  return emit(OpKind::View, {tensor}, std::move(fields), below, where, {valueName(below, "view")})[0];
}

Tensor Elaborator::reorder(const Tensor &tensor, llvm::ArrayRef<NameId> order, Context &context, SourceRange where) {
  if (tensor.unknown || llvm::equal(llvm::map_range(tensor.type.dims, [](const Dim &dim) { return dim.name; }), order))
    return tensor;
  ViewFields fields;
  fields.order.assign(order.begin(), order.end());
  return emit(OpKind::View, {tensor}, std::move(fields), context, where, {valueName(context)})[0];
}
