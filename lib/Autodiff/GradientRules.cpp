//===- GradientRules.cpp ----------------------------------------------------===//
// Each rule may be asked with a cotangent that lacks dims (BackwardBuilder.h) and asks for those that it must see.
//===----------------------------------------------------------------------===//
#include "GradientRules.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg::autodiff {

namespace {

/// No gradient passes.
void ofNone(OpGradient &) {}
/// A weight: its cotangent is accumulated when all its uses have given theirs.
void ofSink(OpGradient &) {}

void ofContract(OpGradient &r) {
  DimList resultDims = r.resultType().dims;
  for (size_t i = 0; i < r.op.operands.size(); ++i) {
    if (!r.wanted[i])
      continue;
    if (r.op.operands.size() == 1) { // a sum
      r.contribute(i, r.cotangent());
      continue;
    }
    llvm::SmallVector<ValueId, 4> factors(r.op.operands.begin(), r.op.operands.end());
    factors[i] = r.build.withDims(r.cotangent(), resultDims);
    llvm::SmallVector<NameId, 4> reduced;
    for (ValueId factor : factors)
      for (const Dim &dim : r.build.type(factor).dims)
        if (!r.operandType(i).has(dim.name) && !llvm::is_contained(reduced, dim.name))
          reduced.push_back(dim.name);
    r.contribute(i, r.build.contract(factors, reduced, r.elements[i]));
  }
}

void ofMap(OpGradient &r) { mapGradient(r); }

void ofReduce(OpGradient &r) {
  ValueId x = r.op.operands[0], y = r.result(), g = r.cotangent();
  switch (r.op.get<ReduceFields>().fn) {
  case ReduceFn::Sum:
    r.contribute(0, g);
    return;
  case ReduceFn::Max: // every tied position gets all of it
  case ReduceFn::Min:
    r.contribute(0, r.build.map(MapFn::WhereEqual, {g, x, y}, r.elements[0]));
    return;
  case ReduceFn::Prod: { // undefined where the operand is 0
    ValueId scaled = r.build.map(MapFn::Mul, {g, y}, r.resultType().element);
    r.contribute(0, r.build.map(MapFn::Div, {scaled, x}, r.elements[0]));
    return;
  }
  }
}

void ofDropout(OpGradient &r) {
  if (r.mask) {
    ValueId scale = r.build.constant(1 / (1 - r.op.get<DropoutFields>().probability));
    r.contribute(0, r.build.map(MapFn::Mul, {r.cotangent(), r.mask, scale}, r.elements[0]));
    return;
  }
  // Which elements are kept goes by their index, so the cotangent has all dims in the operand's order.
  DimList dims = r.resultType().dims;
  ValueId g = r.build.full(r.cotangent(), dims);
  TensorType type = r.build.type(g);
  r.contribute(0, r.build.emit(OpKind::Dropout, g, r.op.fields, std::move(type)));
}

void ofMasked(OpGradient &r) {
  MaskedFields fields = r.op.get<MaskedFields>();
  fields.zero = true;
  DimList needed;
  for (NameId name : {fields.query, fields.key})
    needed.push_back(*r.resultType().find(name));
  ValueId g = r.build.withDims(r.cotangent(), needed);
  TensorType type = r.build.type(g);
  r.contribute(0, r.build.emit(OpKind::Masked, g, std::move(fields), std::move(type)));
}

/// The view backwards: what was split is merged, what was merged is split, in the operand's order of dims.
void ofView(OpGradient &r) {
  const auto &forward = r.op.get<ViewFields>();
  ValueId g = r.cotangent();
  ViewFields fields;
  for (const ViewItem &item : forward.items) {
    DimList dims(item.to.begin(), item.to.end());
    if (llvm::none_of(dims, [&](const Dim &dim) { return r.build.type(g).has(dim.name); }))
      continue; // the cotangent is the same along the operand's dims, too
    g = r.build.withDims(g, dims);
    ViewItem back;
    back.factored = item.factored;
    for (const Dim &dim : item.to)
      back.from.push_back(dim.name);
    for (NameId name : item.from)
      back.to.push_back(*r.operandType(0).find(name));
    fields.items.push_back(std::move(back));
  }
  if (fields.items.empty()) {
    r.contribute(0, g);
    return;
  }
  TensorType made{r.build.type(g).element, {}}, ordered{made.element, {}};
  for (const Dim &dim : r.build.type(g).dims) {
    const ViewItem *item =
        llvm::find_if(fields.items, [&](const ViewItem &each) { return llvm::is_contained(each.from, dim.name); });
    if (item == fields.items.end())
      made.dims.push_back(dim);
    else if (item->from.front() == dim.name)
      made.dims.append(item->to.begin(), item->to.end());
  }
  for (const Dim &dim : r.operandType(0).dims)
    if (made.has(dim.name))
      ordered.dims.push_back(dim);
  for (size_t i = 0; i < made.dims.size(); ++i)
    if (made.dims[i].name != ordered.dims[i].name) {
      for (const Dim &dim : ordered.dims)
        fields.order.push_back(dim.name);
      break;
    }
  r.contribute(0, r.build.emit(OpKind::View, g, std::move(fields), std::move(ordered)));
}

void ofConcat(OpGradient &r) {
  Dim along = r.op.get<ConcatFields>().dim;
  DimExpr start = r.build.context().dims.constant(int64_t(0));
  for (size_t i = 0; i < r.op.operands.size(); ++i) {
    Dim own = *r.operandType(i).find(along.name);
    if (r.wanted[i]) {
      ValueId g = r.cotangent();
      if (r.build.type(g).has(along.name))
        g = r.build.slice(g, along.name, own, start);
      r.giveSummed(i, g);
    }
    start = start + own.size;
  }
}

void ofAt(OpGradient &r) {
  const auto &fields = r.op.get<AtFields>();
  Dim dim = *r.operandType(0).find(fields.dim);
  r.contribute(0, r.build.pad(r.cotangent(), NameId(), dim, fields.index));
}

void ofSlice(OpGradient &r) {
  const auto &fields = r.op.get<SliceFields>();
  Dim dim = *r.operandType(0).find(fields.from);
  ValueId g = r.build.withDims(r.cotangent(), fields.to);
  r.contribute(0, r.build.pad(g, fields.to.name, dim, fields.start));
}

void ofPad(OpGradient &r) {
  const auto &fields = r.op.get<PadFields>();
  ValueId g = r.cotangent();
  if (!r.build.type(g).has(fields.to.name)) {
    r.contribute(0, g);
    return;
  }
  if (fields.from) {
    Dim dim = *r.operandType(0).find(fields.from);
    r.contribute(0, r.build.slice(g, fields.to.name, dim, fields.start));
    return;
  }
  TensorType type = r.build.type(g);
  llvm::erase_if(type.dims, [&](const Dim &dim) { return dim.name == fields.to.name; });
  r.contribute(0, r.build.emit(OpKind::At, g, AtFields{fields.to.name, fields.start}, std::move(type)));
}

void ofBroadcast(OpGradient &r) { r.giveSummed(0, r.cotangent()); }

void ofGather(OpGradient &r) {
  Dim dim = *r.operandType(0).find(r.op.get<GatherFields>().dim);
  ValueId index = r.op.operands[1], g = r.cotangent();
  ScatterFields fields{dim, {}, r.elements[0]};
  for (const Dim &fresh : r.operandType(1).dims)
    if (!r.operandType(0).has(fresh.name))
      fields.replaced.push_back(fresh.name);
  TensorType type{r.elements[0], {}};
  DimList all = r.build.type(g).dims;
  for (const Dim &own : r.build.type(index).dims)
    if (llvm::none_of(all, [&](const Dim &each) { return each.name == own.name; }))
      all.push_back(own);
  for (const Dim &each : all) {
    if (!fields.replaced.empty() && each.name == fields.replaced.front())
      type.dims.push_back(dim);
    else if (!llvm::is_contained(fields.replaced, each.name))
      type.dims.push_back(each);
  }
  if (fields.replaced.empty())
    type.dims.push_back(dim);
  r.contribute(0, r.build.emit(OpKind::Scatter, {g, index}, std::move(fields), std::move(type)));
}

/// A name that neither of the two types has.
NameId freshDim(OpGradient &r, NameId name, const TensorType &a, const TensorType &b) {
  std::string text = r.program.text(name).str();
  do
    name = r.build.context().name(text += "'");
  while (a.has(name) || b.has(name));
  return name;
}

void ofScatter(OpGradient &r) {
  const auto &forward = r.op.get<ScatterFields>();
  ValueId index = r.op.operands[1], g = r.cotangent();
  Dim made = forward.dim;
  DimList domain = r.operandType(0).dims; // what the forward adds up: data and index
  for (const Dim &dim : r.operandType(1).dims)
    if (!r.operandType(0).has(dim.name))
      domain.push_back(dim);
  if (r.build.type(g).has(made.name)) {
    if (r.operandType(1).has(made.name)) { // positions come from one dim of this name and go to another
      Dim apart{freshDim(r, made.name, r.build.type(g), r.operandType(1)), made.size};
      g = r.build.renamed(g, made.name, apart);
      made = apart;
    }
    TensorType type{r.build.type(g).element, {}};
    for (const Dim &dim : r.build.type(g).dims) {
      if (dim.name != made.name) {
        type.dims.push_back(dim);
        continue;
      }
      for (const Dim &own : r.operandType(1).dims)
        if (!r.build.type(g).has(own.name))
          type.dims.push_back(own);
    }
    g = r.build.emit(OpKind::Gather, {g, index}, GatherFields{made.name}, std::move(type));
  }
  DimList kept = r.operandType(0).dims;
  r.contribute(0, r.build.summedTo(g, kept, domain, r.elements[0]));
}

void ofCall(OpGradient &r) { callGradient(r); }

} // namespace

void applyGradientRule(OpGradient &gradient) {
  switch (gradient.op.kind) {
#define OP(kind, mnemonic, shape, factors, cost, gradientRule, meaning)                                                \
  case OpKind::kind:                                                                                                   \
    return of##gradientRule(gradient);
#include "stg/IR/Ops.def"
  }
}

} // namespace stg::autodiff
