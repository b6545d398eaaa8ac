//===- Factors.cpp - the iteration dims of an op -----------------------------===//
#include "stg/Analysis/Factors.h"

namespace stg {

namespace {

class FactorList {
public:
  FactorList(const Op &op, const Body &body) : op_(op), body_(body) {}

  const TensorType &operand(size_t i) const { return *body_.value(op_.operands[i]).type; }
  const TensorType &result(size_t i) const { return *body_.value(op_.results[i]).type; }

  OpFactor &add(FactorKind kind, DimExpr size) {
    OpFactor &factor = list_.emplace_back();
    factor.kind = kind;
    factor.size = size;
    factor.operandDims.assign(op_.operands.size(), NameId());
    factor.resultDims.assign(op_.results.size(), NameId());
    return factor;
  }

  /// The dim under one name in everything that has it.
  void addAligned(const Dim &dim, FactorKind kind) {
    OpFactor &factor = add(kind, dim.size);
    for (size_t i = 0; i < op_.operands.size(); ++i)
      if (operand(i).has(dim.name))
        factor.operandDims[i] = dim.name;
    for (size_t i = 0; i < op_.results.size(); ++i)
      if (result(i).has(dim.name))
        factor.resultDims[i] = dim.name;
  }
  void addOperandOnly(size_t operandIndex, const Dim &dim, FactorKind kind) {
    add(kind, dim.size).operandDims[operandIndex] = dim.name;
  }
  void addResultOnly(const Dim &dim, FactorKind kind) { add(kind, dim.size).resultDims[0] = dim.name; }

  /// Dims of operands that no factor has yet.
  void addRest(FactorKind kind) {
    for (size_t i = 0; i < op_.operands.size(); ++i)
      for (const Dim &dim : operand(i).dims)
        if (llvm::none_of(list_, [&](const OpFactor &factor) { return factor.operandDims[i] == dim.name; }))
          addAligned(dim, kind);
  }

  std::vector<OpFactor> take() { return std::move(list_); }

private:
  const Op &op_;
  const Body &body_;
  std::vector<OpFactor> list_;
};

void collectNoFactors(const Op &, FactorList &) {}

void collectMapFactors(const Op &op, FactorList &list) {
  if (!op.results.empty())
    for (const Dim &dim : list.result(0).dims)
      list.addAligned(dim, FactorKind::Map);
  list.addRest(FactorKind::Map);
}

void collectContractFactors(const Op &, FactorList &list) {
  for (const Dim &dim : list.result(0).dims)
    list.addAligned(dim, FactorKind::Map);
  list.addRest(FactorKind::Sum);
}

void collectReduceFactors(const Op &op, FactorList &list) {
  for (const Dim &dim : list.result(0).dims)
    list.addAligned(dim, FactorKind::Map);
  ReduceFn fn = op.get<ReduceFields>().fn;
  list.addRest(fn == ReduceFn::Sum ? FactorKind::Sum : fn == ReduceFn::Max ? FactorKind::Max : FactorKind::Whole);
}

void collectViewFactors(const Op &op, FactorList &list) {
  const auto &fields = op.get<ViewFields>();
  for (const Dim &dim : list.result(0).dims) {
    const ViewItem *item = llvm::find_if(fields.items, [&](const ViewItem &item) {
      return llvm::any_of(item.to, [&](const Dim &to) { return to.name == dim.name; });
    });
    if (item == fields.items.end()) {
      list.addAligned(dim, FactorKind::Map);
      continue;
    }
    bool isRename = item->from.size() == 1 && item->to.size() == 1;
    if (!isRename && !item->factored) {
      list.addResultOnly(dim, FactorKind::Whole);
    } else if (item->from.size() == 1) { // a rename, or the parts of a split
      OpFactor &factor = list.add(FactorKind::Map, dim.size);
      factor.operandDims[0] = item->from[0];
      factor.resultDims[0] = dim.name;
    } else { // the parts of a merge
      for (NameId part : item->from) {
        OpFactor &factor = list.add(FactorKind::Map, list.operand(0).find(part)->size);
        factor.operandDims[0] = part;
        factor.resultDims[0] = dim.name;
      }
    }
  }
  for (const ViewItem &item : fields.items)
    if (!item.factored && !(item.from.size() == 1 && item.to.size() == 1))
      for (NameId name : item.from)
        list.addOperandOnly(0, *list.operand(0).find(name), FactorKind::Whole);
}

void collectConcatFactors(const Op &op, FactorList &list) {
  const auto &fields = op.get<ConcatFields>();
  for (const Dim &dim : list.result(0).dims)
    if (dim.name == fields.dim.name)
      list.addResultOnly(dim, FactorKind::Whole);
    else
      list.addAligned(dim, FactorKind::Map);
  for (size_t i = 0; i < op.operands.size(); ++i)
    list.addOperandOnly(i, *list.operand(i).find(fields.dim.name), FactorKind::Whole);
}

/// At, slice, append: a position along one dim of operand 0.
void collectSliceFactors(const Op &op, FactorList &list) {
  NameId cut, made;
  if (op.kind == OpKind::At) {
    cut = op.get<AtFields>().dim;
  } else if (op.kind == OpKind::Slice) {
    cut = op.get<SliceFields>().from;
    made = op.get<SliceFields>().to.name;
  } else {
    cut = made = op.get<AppendFields>().into;
  }
  for (const Dim &dim : list.result(0).dims)
    if (dim.name == made)
      list.addResultOnly(dim, FactorKind::Whole);
    else
      list.addAligned(dim, FactorKind::Map);
  list.addOperandOnly(0, *list.operand(0).find(cut), FactorKind::Whole);
  if (op.kind == OpKind::Append)
    list.addOperandOnly(1, *list.operand(1).find(op.get<AppendFields>().from), FactorKind::Whole);
}

/// The reverse of slice and at.
void collectPadFactors(const Op &op, FactorList &list) {
  const auto &fields = op.get<PadFields>();
  for (const Dim &dim : list.result(0).dims)
    if (dim.name == fields.to.name)
      list.addResultOnly(dim, FactorKind::Whole);
    else
      list.addAligned(dim, FactorKind::Map);
  if (fields.from)
    list.addOperandOnly(0, *list.operand(0).find(fields.from), FactorKind::Whole);
}

void collectGatherFactors(const Op &op, FactorList &list) {
  for (const Dim &dim : list.result(0).dims)
    list.addAligned(dim, FactorKind::Map);
  list.addOperandOnly(0, *list.operand(0).find(op.get<GatherFields>().dim), FactorKind::Sum);
}

void collectScatterFactors(const Op &op, FactorList &list) {
  const auto &fields = op.get<ScatterFields>();
  for (const Dim &dim : list.result(0).dims)
    if (dim.name == fields.dim.name) // a replaced dim of the same name is another factor
      list.addResultOnly(dim, FactorKind::Map);
    else
      list.addAligned(dim, FactorKind::Map);
  for (NameId name : fields.replaced) {
    OpFactor *factor = nullptr;
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (const Dim *dim = list.operand(i).find(name)) {
        if (!factor)
          factor = &list.add(FactorKind::Sum, dim->size);
        factor->operandDims[i] = name;
      }
  }
}

void collectCallFactors(const Op &op, FactorList &list) {
  const auto &fields = op.get<CallFields>();
  std::vector<bool> done(fields.factors.size(), false);
  auto add = [&](uint32_t index) {
    if (done[index])
      return;
    done[index] = true;
    const Factor &source = fields.factors[index];
    OpFactor &factor = list.add(source.kind, source.dim.size);
    factor.callFactor = index;
    auto dimIn = [&](llvm::ArrayRef<uint32_t> has) {
      if (llvm::is_contained(has, index))
        return source.dim.name;
      bool carries = source.kind == FactorKind::Carry && source.along && llvm::is_contained(has, *source.along);
      return carries ? fields.factors[*source.along].dim.name : NameId();
    };
    for (size_t i = 0; i < fields.operandFactors.size(); ++i)
      factor.operandDims[i] = dimIn(fields.operandFactors[i]);
    for (size_t i = 0; i < fields.resultFactors.size(); ++i)
      factor.resultDims[i] = dimIn(fields.resultFactors[i]);
    if (source.kind == FactorKind::Carry)
      factor.ownDim = source.dim.name;
    // Slots are split as what they are filled from.
    if (fields.isFilledByCarry(index))
      factor.kind = FactorKind::Whole;
  };
  for (const auto &result : fields.resultFactors)
    for (uint32_t index : result)
      add(index);
  for (uint32_t index = 0; index < fields.factors.size(); ++index)
    add(index);
}

} // namespace

std::vector<OpFactor> factorsOf(const Op &op, const Body &body) {
  FactorList list(op, body);
  switch (op.kind) {
#define OP(kind, mnemonic, shapeRule, factorRule, ...)                                                                 \
  case OpKind::kind:                                                                                                   \
    collect##factorRule(op, list);                                                                                     \
    break;
#include "stg/IR/Ops.def"
  }
  return list.take();
}

} // namespace stg
