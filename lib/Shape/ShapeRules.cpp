//===- ShapeRules.cpp - operand types to result types ----------------------===//
// Every rule builds its result dim by dim and stops at the first that is broken, so that one cause gives one message.
// Operands have distinct dims each (the verifier's promise); rules keep that so.
//===----------------------------------------------------------------------===//
#include "stg/Shape/ShapeRules.h"

namespace stg {

namespace {

using Operands = llvm::ArrayRef<const TensorType *>;
using Names = llvm::SmallVector<NameId, 4>;

ShapeResult fail(ShapeFault fault, llvm::ArrayRef<unsigned> operands = {}, llvm::ArrayRef<NameId> dims = {},
                 DimExpr a = {}, DimExpr b = {}) {
  ShapeError error;
  error.fault = fault;
  error.operands.assign(operands.begin(), operands.end());
  error.dims.assign(dims.begin(), dims.end());
  error.a = a;
  error.b = b;
  ShapeResult result;
  result.error = std::move(error);
  return result;
}

ShapeResult succeed(TensorType type) {
  ShapeResult result;
  result.types.push_back(std::move(type));
  return result;
}

ShapeResult checkCount(Operands operands, unsigned count, IRContext &context) {
  if (operands.size() == count)
    return {};
  return fail(ShapeFault::OperandCount, {}, {}, context.dims.constant(static_cast<int64_t>(operands.size())));
}

bool differ(DimExpr a, DimExpr b) { return sameSize(a, b) == false; }

/// The name that occurs twice, if one does.
std::optional<NameId> repeated(llvm::ArrayRef<NameId> names) {
  for (size_t i = 0; i < names.size(); ++i)
    if (llvm::is_contained(names.take_front(i), names[i]))
      return names[i];
  return std::nullopt;
}

/// All dims in order of first appearance, or two sizes of one name.
struct DimUnion {
  llvm::SmallVector<Dim, 8> dims;
  llvm::SmallVector<unsigned, 8> owners; ///< operand that brought the dim
  std::optional<ShapeResult> conflict;

  explicit DimUnion(Operands operands) {
    for (unsigned i = 0; i < operands.size(); ++i)
      for (const Dim &dim : operands[i]->dims)
        add(dim, i);
  }

  Names names() const {
    Names list;
    for (const Dim &dim : dims)
      list.push_back(dim.name);
    return list;
  }

private:
  void add(const Dim &dim, unsigned operand) {
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i].name != dim.name)
        continue;
      if (!conflict && differ(dims[i].size, dim.size))
        conflict = fail(ShapeFault::SizesDiffer, {owners[i], operand}, {dim.name}, dims[i].size, dim.size);
      return;
    }
    dims.push_back(dim);
    owners.push_back(operand);
  }
};

void eraseDims(TensorType &type, llvm::ArrayRef<NameId> names) {
  llvm::erase_if(type.dims, [&](const Dim &dim) { return llvm::is_contained(names, dim.name); });
}

/// Puts `dims` where `name` stands, which vanishes.
void replaceDim(TensorType &type, NameId name, llvm::ArrayRef<Dim> dims) {
  auto *place = llvm::find_if(type.dims, [&](const Dim &dim) { return dim.name == name; });
  size_t index = place - type.dims.begin();
  type.dims.erase(place);
  type.dims.insert(type.dims.begin() + index, dims.begin(), dims.end());
}

//===----------------------------------------------------------------------===//
// Leaves
//===----------------------------------------------------------------------===//

ShapeResult inferDeclaredShape(const Op &op, Operands operands, const Body &body, IRContext &context) {
  if (ShapeResult count = checkCount(operands, 0, context); !count.ok())
    return count;
  if (const auto *constant = std::get_if<ConstantFields>(&op.fields))
    return succeed({constant->element, {}});
  if (const auto *iota = std::get_if<IotaFields>(&op.fields))
    return succeed({iota->element, {iota->dim}});
  const auto *slot = std::get_if<SlotFields>(&op.fields);
  if (slot && op.kind == OpKind::Input && slot->slot < body.inputs.size())
    return succeed(body.inputs[slot->slot].type);
  if (slot && op.kind == OpKind::Weight && slot->slot < body.weights.size())
    return succeed(body.weights[slot->slot].type);
  if (slot && op.kind == OpKind::State && slot->slot < body.states.size())
    return succeed(body.states[slot->slot].type);
  return fail(ShapeFault::FieldsMismatch);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

ShapeResult inferContractShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<ContractFields>();
  if (operands.empty())
    return checkCount(operands, 2, context);
  DimUnion all(operands);
  if (all.conflict)
    return *all.conflict;
  if (std::optional<NameId> twice = repeated(fields.reduced))
    return fail(ShapeFault::DuplicateDim, {}, *twice);
  Names names = all.names();
  for (NameId reduced : fields.reduced)
    if (!llvm::is_contained(names, reduced))
      return fail(ShapeFault::UnknownReducedDim, {}, reduced);
  TensorType type{fields.element, {}};
  type.dims.assign(all.dims.begin(), all.dims.end());
  eraseDims(type, fields.reduced);
  return succeed(std::move(type));
}

/// Two operands of which neither has all dims of the other: the one with the most dims and the first that it misses
/// something of.
ShapeResult reportOuterProduct(Operands operands, const DimUnion &all) {
  unsigned largest = 0;
  for (unsigned i = 1; i < operands.size(); ++i)
    if (operands[i]->dims.size() > operands[largest]->dims.size())
      largest = i;
  auto isCovered = [&](const TensorType *type) {
    return llvm::all_of(type->dims, [&](const Dim &dim) { return operands[largest]->has(dim.name); });
  };
  unsigned other = 0;
  while (isCovered(operands[other]))
    ++other;
  return fail(ShapeFault::NotContained, {std::min(largest, other), std::max(largest, other)}, all.names());
}

ShapeResult inferMapShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<MapFields>();
  unsigned wanted = arity(fields.fn);
  if (wanted == 0 ? operands.size() < 2 : operands.size() != wanted)
    return fail(ShapeFault::OperandCount, {}, {}, context.dims.constant(static_cast<int64_t>(operands.size())));
  DimUnion all(operands);
  if (all.conflict)
    return *all.conflict;
  for (const TensorType *operand : operands)
    if (operand->dims.size() == all.dims.size())
      return succeed({fields.element, operand->dims});
  return reportOuterProduct(operands, all);
}

ShapeResult inferReduceShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<ReduceFields>();
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  if (std::optional<NameId> twice = repeated(fields.reduced))
    return fail(ShapeFault::DuplicateDim, {}, *twice);
  for (NameId reduced : fields.reduced)
    if (!operands[0]->has(reduced))
      return fail(ShapeFault::UnknownReducedDim, {0}, reduced);
  TensorType type{fields.element, operands[0]->dims};
  eraseDims(type, fields.reduced);
  return succeed(std::move(type));
}

ShapeResult inferSameShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  if (const auto *masked = std::get_if<MaskedFields>(&op.fields)) {
    for (NameId dim : {masked->query, masked->key})
      if (!operands[0]->has(dim))
        return fail(ShapeFault::MissingDim, {0}, dim);
    if (masked->query == masked->key)
      return fail(ShapeFault::DuplicateDim, {}, masked->key);
  }
  return succeed(*operands[0]);
}

//===----------------------------------------------------------------------===//
// Data movement
//===----------------------------------------------------------------------===//

DimExpr product(llvm::ArrayRef<Dim> dims, IRContext &context) {
  DimExpr product = context.dims.constant(int64_t(1));
  for (const Dim &dim : dims) {
    if (!dim.size)
      return {};
    product = product * dim.size;
  }
  return product;
}

/// The dims of `type` in the order of `order`, which names each once.
std::optional<ShapeResult> reorder(TensorType &type, llvm::ArrayRef<NameId> order) {
  if (std::optional<NameId> twice = repeated(order))
    return fail(ShapeFault::DuplicateDim, {}, *twice);
  TensorType ordered{type.element, {}};
  for (NameId name : order) {
    const Dim *dim = type.find(name);
    if (!dim)
      return fail(ShapeFault::MissingDim, {0}, name);
    ordered.dims.push_back(*dim);
  }
  for (const Dim &dim : type.dims)
    if (!ordered.has(dim.name))
      return fail(ShapeFault::ExtraDim, {0}, dim.name);
  type = std::move(ordered);
  return std::nullopt;
}

ShapeResult inferViewShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<ViewFields>();
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  const TensorType &from = *operands[0];
  Names taken, made;
  for (const ViewItem &item : fields.items) {
    if (item.from.empty())
      return fail(ShapeFault::FieldsMismatch);
    llvm::SmallVector<Dim, 4> old;
    for (NameId name : item.from) {
      const Dim *dim = from.find(name);
      if (!dim)
        return fail(ShapeFault::MissingDim, {0}, name);
      old.push_back(*dim);
      taken.push_back(name);
    }
    for (const Dim &dim : item.to)
      made.push_back(dim.name);
    DimExpr before = product(old, context), after = product(item.to, context);
    if (differ(before, after))
      return fail(ShapeFault::ViewSizes, {0}, item.from, before, after);
  }
  if (std::optional<NameId> twice = repeated(taken))
    return fail(ShapeFault::DuplicateDim, {0}, *twice);
  // The result: each item's new dims in the place of its first old one.
  TensorType type{from.element, {}};
  for (const Dim &dim : from.dims) {
    const ViewItem *item =
        llvm::find_if(fields.items, [&](const ViewItem &item) { return llvm::is_contained(item.from, dim.name); });
    if (item == fields.items.end())
      type.dims.push_back(dim);
    else if (item->from.front() == dim.name)
      type.dims.append(item->to.begin(), item->to.end());
  }
  Names names;
  for (const Dim &dim : type.dims)
    names.push_back(dim.name);
  if (std::optional<NameId> twice = repeated(names))
    return fail(ShapeFault::DuplicateDim, {}, *twice);
  if (!fields.order.empty())
    if (std::optional<ShapeResult> error = reorder(type, fields.order))
      return *error;
  return succeed(std::move(type));
}

ShapeResult inferConcatShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<ConcatFields>();
  if (operands.empty())
    return checkCount(operands, 2, context);
  // One operand has all dims; the others are repeated along those that they lack, as in element-wise ops.
  unsigned largest = 0;
  for (unsigned i = 1; i < operands.size(); ++i)
    if (operands[i]->dims.size() > operands[largest]->dims.size())
      largest = i;
  DimExpr total = context.dims.constant(int64_t(0));
  for (unsigned i = 0; i < operands.size(); ++i) {
    const Dim *dim = operands[i]->find(fields.dim.name);
    if (!dim)
      return fail(ShapeFault::MissingDim, {i}, fields.dim.name);
    total = total && dim->size ? total + dim->size : DimExpr();
    for (const Dim &mine : operands[i]->dims) {
      const Dim *other = operands[largest]->find(mine.name);
      if (!other)
        return fail(ShapeFault::MissingDim, {largest}, mine.name);
      if (mine.name != fields.dim.name && differ(other->size, mine.size))
        return fail(ShapeFault::SizesDiffer, {largest, i}, mine.name, other->size, mine.size);
    }
  }
  if (differ(total, fields.dim.size))
    return fail(ShapeFault::SizesDiffer, {}, fields.dim.name, total, fields.dim.size);
  TensorType type{fields.element, operands[largest]->dims};
  replaceDim(type, fields.dim.name, fields.dim);
  return succeed(std::move(type));
}

/// Whether positions start .. start + length leave 0 .. size, if that is known.
std::optional<ShapeResult> checkRange(const Dim &dim, DimExpr start, DimExpr length) {
  if (!start || !length || !dim.size)
    return std::nullopt;
  std::optional<int64_t> first = start.size(), end = (start + length).size(), size = dim.size.size();
  if ((first && *first < 0) || (end && size && *end > *size))
    return fail(ShapeFault::OutOfRange, {0}, dim.name, start + length, dim.size);
  return std::nullopt;
}

ShapeResult inferAtShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<AtFields>();
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  const Dim *dim = operands[0]->find(fields.dim);
  if (!dim)
    return fail(ShapeFault::MissingDim, {0}, fields.dim);
  if (auto error = checkRange(*dim, fields.index, context.dims.constant(int64_t(1))))
    return *error;
  TensorType type = *operands[0];
  eraseDims(type, fields.dim);
  return succeed(std::move(type));
}

ShapeResult inferSliceShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<SliceFields>();
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  const Dim *dim = operands[0]->find(fields.from);
  if (!dim)
    return fail(ShapeFault::MissingDim, {0}, fields.from);
  if (fields.to.name != fields.from && operands[0]->has(fields.to.name))
    return fail(ShapeFault::DuplicateDim, {0}, fields.to.name);
  if (auto error = checkRange(*dim, fields.start, fields.to.size))
    return *error;
  TensorType type = *operands[0];
  replaceDim(type, fields.from, fields.to);
  return succeed(std::move(type));
}

/// Sizes of the dims that both operands have, but for `except`.
std::optional<ShapeResult> checkAligned(Operands operands, std::optional<NameId> except) {
  for (const Dim &dim : operands[0]->dims)
    if (const Dim *other = operands[1]->find(dim.name); other && dim.name != except && differ(dim.size, other->size))
      return fail(ShapeFault::SizesDiffer, {0, 1}, dim.name, dim.size, other->size);
  return std::nullopt;
}

ShapeResult inferGatherShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<GatherFields>();
  if (ShapeResult count = checkCount(operands, 2, context); !count.ok())
    return count;
  const TensorType &data = *operands[0], &index = *operands[1];
  if (isFloat(index.element) || index.element == ElementType::Bool)
    return fail(ShapeFault::IndexNotInteger, {1});
  if (!data.has(fields.dim))
    return fail(ShapeFault::MissingDim, {0}, fields.dim);
  if (index.has(fields.dim)) // position and index along one name: which of the two the result has is unsaid
    return fail(ShapeFault::DuplicateDim, {1}, fields.dim);
  if (auto error = checkAligned(operands, std::nullopt))
    return *error;
  llvm::SmallVector<Dim, 4> fresh;
  for (const Dim &dim : index.dims)
    if (!data.has(dim.name))
      fresh.push_back(dim);
  TensorType type = data;
  replaceDim(type, fields.dim, fresh);
  return succeed(std::move(type));
}

ShapeResult inferScatterShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<ScatterFields>();
  if (ShapeResult count = checkCount(operands, 2, context); !count.ok())
    return count;
  const TensorType &index = *operands[1];
  if (isFloat(index.element) || index.element == ElementType::Bool)
    return fail(ShapeFault::IndexNotInteger, {1});
  if (std::optional<NameId> twice = repeated(fields.replaced))
    return fail(ShapeFault::DuplicateDim, {}, *twice);
  if (auto error = checkAligned(operands, std::nullopt))
    return *error;
  // Data stands still along the dims that only the index has (a one, for one-hot).
  TensorType type{fields.element, {}};
  DimUnion all(operands);
  type.dims.assign(all.dims.begin(), all.dims.end());
  for (NameId name : fields.replaced)
    if (!type.has(name))
      return fail(ShapeFault::MissingDim, {0}, name);
  if (type.has(fields.dim.name) && !llvm::is_contained(fields.replaced, fields.dim.name))
    return fail(ShapeFault::DuplicateDim, {}, fields.dim.name);
  if (fields.replaced.empty()) {
    type.dims.push_back(fields.dim);
    return succeed(std::move(type));
  }
  eraseDims(type, llvm::ArrayRef<NameId>(fields.replaced).drop_front());
  replaceDim(type, fields.replaced.front(), fields.dim);
  return succeed(std::move(type));
}

ShapeResult inferAppendShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<AppendFields>();
  if (ShapeResult count = checkCount(operands, 2, context); !count.ok())
    return count;
  const TensorType &state = *operands[0], &addition = *operands[1];
  const Dim *into = state.find(fields.into), *from = addition.find(fields.from);
  if (!into)
    return fail(ShapeFault::MissingDim, {0}, fields.into);
  if (!from)
    return fail(ShapeFault::MissingDim, {1}, fields.from);
  for (const Dim &dim : state.dims) {
    if (dim.name == fields.into)
      continue;
    const Dim *other = addition.find(dim.name);
    if (!other)
      return fail(ShapeFault::MissingDim, {1}, dim.name);
    if (differ(dim.size, other->size))
      return fail(ShapeFault::SizesDiffer, {0, 1}, dim.name, dim.size, other->size);
  }
  for (const Dim &dim : addition.dims)
    if (dim.name != fields.from && (dim.name == fields.into || !state.has(dim.name)))
      return fail(ShapeFault::ExtraDim, {1}, dim.name);
  if (auto error = checkRange(*into, context.dims.constant(int64_t(0)), from->size))
    return *error;
  return succeed(state);
}

/// `update`: what the state gets must have its dims, in any order.
/// What a result-less op writes to: a state, a weight, its gradient buffer, a scalar. Nothing if there is no such slot.
std::optional<TensorType> destinationOf(const Op &op, const Body &body) {
  uint32_t slot = op.get<SlotFields>().slot;
  if (op.kind == OpKind::Tally)
    return TensorType{ElementType::F32, {}};
  if (op.kind == OpKind::Update)
    return slot < body.states.size() ? std::optional(body.states[slot].type) : std::nullopt;
  return slot < body.weights.size() ? std::optional(body.weights[slot].type) : std::nullopt;
}

ShapeResult inferNoShape(const Op &op, Operands operands, const Body &body, IRContext &context) {
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  std::optional<TensorType> wanted = destinationOf(op, body);
  if (!wanted)
    return fail(ShapeFault::FieldsMismatch);
  for (const Dim &dim : wanted->dims) {
    const Dim *mine = operands[0]->find(dim.name);
    if (!mine)
      return fail(ShapeFault::MissingDim, {0}, dim.name);
    if (differ(mine->size, dim.size))
      return fail(ShapeFault::SizesDiffer, {0}, dim.name, mine->size, dim.size);
  }
  for (const Dim &dim : operands[0]->dims)
    if (!wanted->has(dim.name))
      return fail(ShapeFault::ExtraDim, {0}, dim.name);
  return {};
}

//===----------------------------------------------------------------------===//
// Gradients, the step, layouts
//===----------------------------------------------------------------------===//

ShapeResult inferPadShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<PadFields>();
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  if (fields.from && !operands[0]->has(fields.from))
    return fail(ShapeFault::MissingDim, {0}, fields.from);
  TensorType type{operands[0]->element, {}};
  for (const Dim &dim : operands[0]->dims)
    type.dims.push_back(dim.name == fields.from ? fields.to : dim);
  if (!fields.from)
    type.dims.push_back(fields.to);
  for (size_t i = 0; i < type.dims.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (type.dims[i].name == type.dims[j].name)
        return fail(ShapeFault::DuplicateDim, {0}, type.dims[i].name);
  return succeed(std::move(type));
}

ShapeResult inferBroadcastShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  if (ShapeResult count = checkCount(operands, 1, context); !count.ok())
    return count;
  TensorType type{operands[0]->element, {}};
  for (const Dim &dim : op.get<BroadcastFields>().dims) {
    if (type.has(dim.name))
      return fail(ShapeFault::DuplicateDim, {}, dim.name);
    type.dims.push_back(dim);
  }
  for (const Dim &dim : operands[0]->dims) {
    const Dim *kept = type.find(dim.name);
    if (!kept)
      return fail(ShapeFault::ExtraDim, {0}, dim.name);
    if (differ(kept->size, dim.size))
      return fail(ShapeFault::SizesDiffer, {0}, dim.name, dim.size, kept->size);
  }
  return succeed(std::move(type));
}

ShapeResult inferGradientShape(const Op &op, Operands, const Body &body, IRContext &) {
  if (op.get<SlotFields>().slot >= body.weights.size())
    return fail(ShapeFault::FieldsMismatch);
  const WeightSlot &slot = body.weights[op.get<SlotFields>().slot];
  TensorType type = slot.type;
  type.element = slot.gradient;
  return succeed(std::move(type));
}

ShapeResult inferScalarShape(const Op &, Operands, const Body &, IRContext &) {
  return succeed({ElementType::F32, {}});
}

ShapeResult inferSameShapes(const Op &, Operands operands, const Body &, IRContext &) {
  ShapeResult result;
  for (const TensorType *operand : operands)
    result.types.push_back(*operand);
  return result;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

ShapeResult inferCallShape(const Op &op, Operands operands, const Body &, IRContext &context) {
  const auto &fields = op.get<CallFields>();
  if (ShapeResult count = checkCount(operands, static_cast<unsigned>(fields.operandFactors.size()), context);
      !count.ok())
    return count;
  if (fields.resultFactors.size() != fields.resultElements.size())
    return fail(ShapeFault::FieldsMismatch);
  for (unsigned i = 0; i < operands.size(); ++i) {
    const TensorType &type = *operands[i];
    llvm::ArrayRef<uint32_t> factors = fields.operandFactors[i];
    for (uint32_t index : factors) {
      if (index >= fields.factors.size())
        return fail(ShapeFault::FieldsMismatch);
      const Dim &wanted = fields.factors[index].dim;
      const Dim *dim = type.find(wanted.name);
      if (!dim)
        return fail(ShapeFault::MissingDim, {i}, wanted.name);
      if (differ(dim->size, wanted.size))
        return fail(ShapeFault::SizesDiffer, {i}, wanted.name, dim->size, wanted.size);
    }
    for (size_t position = 0; position < type.dims.size(); ++position)
      if (position >= factors.size() || fields.factors[factors[position]].dim.name != type.dims[position].name)
        return fail(ShapeFault::ExtraDim, {i}, type.dims[position].name);
  }
  ShapeResult result;
  for (size_t i = 0; i < fields.resultFactors.size(); ++i) {
    TensorType type{fields.resultElements[i], {}};
    for (uint32_t index : fields.resultFactors[i]) {
      if (index >= fields.factors.size())
        return fail(ShapeFault::FieldsMismatch);
      if (type.has(fields.factors[index].dim.name))
        return fail(ShapeFault::DuplicateDim, {}, fields.factors[index].dim.name);
      type.dims.push_back(fields.factors[index].dim);
    }
    result.types.push_back(std::move(type));
  }
  return result;
}

} // namespace

ShapeResult inferTypes(const Op &op, Operands operands, const Body &body, IRContext &context) {
  if (!fieldsMatchKind(op))
    return fail(ShapeFault::FieldsMismatch);
  switch (op.kind) {
#define OP(kind, mnemonic, shapeRule, ...)                                                                             \
  case OpKind::kind:                                                                                                   \
    return infer##shapeRule(op, operands, body, context);
#include "stg/IR/Ops.def"
  }
  return fail(ShapeFault::FieldsMismatch);
}

} // namespace stg
