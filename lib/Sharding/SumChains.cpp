//===- SumChains.cpp - chains of additions, each as one n-ary sum ------------===//
#include "SumChains.h"

namespace stg {

unsigned phaseOf(Part part) {
  switch (part) {
  case Part::Gather:
  case Part::Forward:
    return 0;
  case Part::InputGrad:
  case Part::WeightGrad:
  case Part::Recompute:
    return 1;
  case Part::Sync:
    return 2;
  case Part::Step:
    return 3;
  }
  return 0;
}

namespace {

bool isConstant(const Body &body, ValueId value) { return body.op(body.value(value).def).kind == OpKind::Constant; }

struct Term {
  uint32_t operand;
  bool negative;
};

/// The operands that an op adds; none if it is no addition.
llvm::SmallVector<Term, 4> termsOf(const Op &op, const Body &body) {
  llvm::SmallVector<Term, 4> terms;
  if (op.kind != OpKind::Map)
    return terms;
  switch (op.get<MapFields>().fn) {
  case MapFn::Add:
    for (uint32_t i = 0; i < op.operands.size(); ++i)
      terms.push_back({i, false});
    break;
  case MapFn::Sub:
    terms = {{0, false}, {1, true}};
    break;
  case MapFn::Neg:
    terms = {{0, true}};
    break;
  case MapFn::Mul:
  case MapFn::Div:
    if (isConstantFactor(op, body))
      for (uint32_t i = 0; i < op.operands.size(); ++i)
        if (!isConstant(body, op.operands[i]))
          terms.push_back({i, false});
    break;
  default:
    break;
  }
  return terms;
}

} // namespace

bool isConstantFactor(const Op &op, const Body &body) {
  if (op.kind != OpKind::Map)
    return false;
  MapFn fn = op.get<MapFields>().fn;
  if (fn == MapFn::Div)
    return !isConstant(body, op.operands[0]) && isConstant(body, op.operands[1]);
  return fn == MapFn::Mul &&
         llvm::count_if(op.operands, [&](ValueId operand) { return !isConstant(body, operand); }) == 1;
}

SumChains findSums(const Body &body, llvm::ArrayRef<uint32_t> uses, const std::vector<bool> &whole) {
  SumChains chains;
  chains.root.resize(body.ops.size());
  chains.summands.resize(body.ops.size());
  // From the last op on, so that an inner addition finds its sum.
  for (uint32_t i = static_cast<uint32_t>(body.ops.size()); i-- > 0;) {
    const Op &op = body.ops[i];
    auto terms = termsOf(op, body);
    if (terms.empty())
      continue;
    if (!chains.root[i]) {
      chains.root[i] = OpId(i);
      // Summands in the order of the source: inner sums are opened in place.
      std::vector<Summand> open;
      for (const Term &term : llvm::reverse(terms))
        open.push_back({op.operands[term.operand], OpId(i), term.operand, term.negative,
                        isConstantFactor(op, body) ? llvm::SmallVector<OpId, 1>{OpId(i)} : llvm::SmallVector<OpId, 1>{},
                        FormId()});
      while (!open.empty()) {
        Summand summand = std::move(open.back());
        open.pop_back();
        OpId def = body.value(summand.value).def;
        const Op &inner = body.op(def);
        auto innerTerms = termsOf(inner, body);
        if (innerTerms.empty() || uses[summand.value.index] != 1 || whole[summand.value.index] ||
            phaseOf(inner.part) != phaseOf(op.part)) {
          chains.summands[i].push_back(std::move(summand));
          continue;
        }
        chains.root[def.index] = OpId(i);
        for (const Term &term : llvm::reverse(innerTerms)) {
          Summand next{inner.operands[term.operand],
                       def,
                       term.operand,
                       summand.negative != term.negative,
                       summand.factors,
                       FormId()};
          if (isConstantFactor(inner, body))
            next.factors.insert(next.factors.begin(), def);
          open.push_back(std::move(next));
        }
      }
    }
  }
  return chains;
}

} // namespace stg
