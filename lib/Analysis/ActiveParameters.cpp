//===- ActiveParameters.cpp -------------------------------------------------===//
#include "stg/Analysis/ActiveParameters.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

/// Where a value's tokens were sent: k experts of a dim.
struct Route {
  NameId experts;
  DimExpr share;
};

/// One walk in the order of the body: routes and weights flow from operands to results.
class ActiveShares {
public:
  ActiveShares(const Body &body, IRContext &context)
      : body_(body), routes_(body.values.size()), slots_(body.values.size()),
        shares_(body.weights.size(), context.dims.constant(int64_t(1))) {}

  std::vector<DimExpr> run() {
    for (const Op &op : body_.ops)
      visit(op);
    return std::move(shares_);
  }

private:
  void visit(const Op &op) {
    if (op.kind == OpKind::Weight) {
      slots_[op.results[0].index] = op.get<SlotFields>().slot;
      return;
    }
    if (op.kind == OpKind::Call && sendsTokens(op))
      return;
    const std::optional<Route> *routed = nullptr;
    for (ValueId operand : op.operands)
      if (routes_[operand.index])
        routed = &routes_[operand.index];
    if (routed) {
      for (ValueId operand : op.operands)
        if (auto slot = slots_[operand.index]; slot && body_.value(operand).type->has((*routed)->experts))
          shares_[*slot] = (*routed)->share;
      for (ValueId result : op.results)
        routes_[result.index] = *routed;
    } else if (op.operands.size() == op.results.size()) {
      // Casts, views and collectives of weights give weights.
      for (size_t i = 0; i < op.results.size(); ++i)
        slots_[op.results[i].index] = slots_[op.operands[i].index];
    } else if (op.results.size() == 1 && !op.operands.empty() &&
               llvm::all_of(llvm::drop_begin(op.operands),
                            [&](ValueId operand) { return body_.value(operand).type->dims.empty(); })) {
      slots_[op.results[0].index] = slots_[op.operands[0].index]; // scaled by a number, to eight bits
    }
  }

  /// Whether tokens are sent or brought back; gives the results that hold sent ones their route.
  bool sendsTokens(const Op &op) {
    const auto &call = op.get<CallFields>();
    auto isCarried = [&](uint32_t factor) { return call.factors[factor].kind == FactorKind::Carry; };
    auto carry = llvm::find_if(call.factors, [](const Factor &factor) { return factor.kind == FactorKind::Carry; });
    if (carry == call.factors.end() || !carry->along)
      return false;
    std::optional<DimExpr> chosen; // what sorts tokens that were sent has none
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (body_.value(op.operands[i]).type->element == ElementType::I32)
        for (uint32_t factor : call.operandFactors[i])
          if (!isCarried(factor))
            chosen = call.factors[factor].dim.size;
    if (!chosen)
      return false;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const auto &factors = call.resultFactors[i];
      if (!llvm::is_contained(factors, *carry->along))
        continue;
      // The dim that no operand has, but for the slots.
      for (uint32_t factor : factors)
        if (factor != *carry->along && llvm::none_of(call.operandFactors, [&](const auto &operand) {
              return llvm::is_contained(operand, factor);
            }))
          routes_[op.results[i].index] = Route{call.factors[factor].dim.name, *chosen / call.factors[factor].dim.size};
    }
    return true;
  }

  const Body &body_;
  std::vector<std::optional<Route>> routes_;   ///< per value: tokens that were sent to experts
  std::vector<std::optional<uint32_t>> slots_; ///< per value: the weight that it is
  std::vector<DimExpr> shares_;                ///< per weight slot
};

} // namespace

std::vector<DimExpr> activeShares(const Body &body, IRContext &context) { return ActiveShares(body, context).run(); }

} // namespace stg
