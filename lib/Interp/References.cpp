//===- References.cpp - calls seen from inside, and the table -------------===//
#include "stg/Interp/References.h"
#include "ReferenceTable.h"

namespace stg::interp {

int64_t sizeOf(DimExpr size) {
  std::optional<int64_t> value = size ? size.size() : std::nullopt;
  if (!value)
    throw InterpFault("the size `" + (size ? size.str() : std::string("?")) + "` has no value");
  return *value;
}

Visibility visibilityOf(const MaskValue &mask) {
  Visibility visibility{mask.kind, {}};
  for (DimExpr parameter : mask.parameters)
    visibility.parameters.push_back(sizeOf(parameter));
  return visibility;
}

ReferenceCall::ReferenceCall(const CallFields &call, IRContext &context, const FactorNames &factors,
                             std::vector<Tensor> operands)
    : call_(call), context_(context), factors_(factors), operands_(std::move(operands)) {}

int64_t ReferenceCall::size(llvm::StringRef factor) const {
  for (const Factor &own : call_.factors)
    if (context_.text(own.name) == factor)
      return sizeOf(own.dim.size);
  throw InterpFault("the call has no factor `" + factor.str() + "`");
}

const Tensor &ReferenceCall::operand(size_t position) const {
  if (position >= operands_.size())
    throw InterpFault("the call lacks operand " + std::to_string(position));
  return operands_[position];
}

const Tensor *ReferenceCall::findOperand(size_t start, llvm::ArrayRef<llvm::StringRef> with,
                                         llvm::ArrayRef<llvm::StringRef> lacking) const {
  for (size_t i = start; i < operands_.size(); ++i) {
    auto has = [&](llvm::StringRef factor) { return operands_[i].has(dim(factor)); };
    if (llvm::all_of(with, has) && llvm::none_of(lacking, has))
      return &operands_[i];
  }
  return nullptr;
}

Tensor ReferenceCall::emptyResult(size_t position, double value) const {
  TensorDims dims;
  for (uint32_t factor : call_.resultFactors[position])
    dims.push_back(factors_[factor]);
  return Tensor::filled(call_.resultElements[position], dims, value);
}

const StaticArg *ReferenceCall::findStatic(llvm::StringRef name) const {
  for (const auto &[own, value] : call_.statics)
    if (context_.text(own) == name)
      return &value;
  return nullptr;
}

double ReferenceCall::number(llvm::StringRef name, double fallback) const {
  const StaticArg *arg = findStatic(name);
  if (!arg)
    return fallback;
  if (const double *number = std::get_if<double>(arg))
    return *number;
  if (const DimExpr *size = std::get_if<DimExpr>(arg))
    if (std::optional<Rational> value = size->rational())
      return value->toDouble();
  // `softcap = none` and the like.
  if (std::holds_alternative<std::string>(*arg))
    return fallback;
  throw InterpFault("`" + name.str() + "` is no number");
}

bool ReferenceCall::flag(llvm::StringRef name, bool fallback) const {
  const StaticArg *arg = findStatic(name);
  if (!arg)
    return fallback;
  if (const bool *value = std::get_if<bool>(arg))
    return *value;
  throw InterpFault("`" + name.str() + "` is neither true nor false");
}

std::string ReferenceCall::text(llvm::StringRef name, llvm::StringRef fallback) const {
  const StaticArg *arg = findStatic(name);
  if (!arg)
    return fallback.str();
  if (const std::string *value = std::get_if<std::string>(arg))
    return *value;
  throw InterpFault("`" + name.str() + "` is no string");
}

Visibility ReferenceCall::mask(llvm::StringRef name, MaskKind fallback) const {
  const StaticArg *arg = findStatic(name);
  if (!arg)
    return {fallback, {}};
  if (const MaskValue *mask = std::get_if<MaskValue>(arg))
    return visibilityOf(*mask);
  throw InterpFault("`" + name.str() + "` is no mask");
}

FactorNames::FactorNames(const CallFields &call, IRContext &context, std::vector<TensorDim> dims)
    : call_(call), factors_(std::move(dims)) {
  for (size_t i = 0; i < factors_.size(); ++i) {
    NameId name = call.factors[i].name;
    auto taken = [&](NameId other) {
      return llvm::any_of(llvm::ArrayRef(factors_).take_front(i),
                          [&](const TensorDim &earlier) { return earlier.name == other; });
    };
    for (int copy = 2; taken(name); ++copy)
      name = context.name(context.text(call.factors[i].name).str() + "'" + std::to_string(copy));
    factors_[i].name = name;
  }
}

Tensor FactorNames::toFactors(size_t position, const Tensor &operand) const {
  llvm::SmallVector<NameId, 6> order, names;
  Tensor result = operand;
  for (uint32_t index : call_.operandFactors[position]) {
    NameId dim = call_.factors[index].dim.name;
    if (!operand.has(dim) && factors_[index].size == 1)
      result.dims.push_back({dim, 1});
    if (!result.dim(dim).sameExtent(factors_[index]))
      throw InterpFault("operand " + std::to_string(position) + " of the call has " +
                        std::to_string(result.sizeOf(dim)) + " positions where a factor has " +
                        std::to_string(factors_[index].size));
    order.push_back(dim);
    names.push_back(factors_[index].name);
  }
  return renamed(permuted(result, order), names);
}

Tensor FactorNames::fromFactors(size_t position, const Tensor &result) const {
  llvm::SmallVector<NameId, 6> order, names;
  for (uint32_t index : call_.resultFactors[position]) {
    order.push_back(factors_[index].name);
    names.push_back(call_.factors[index].dim.name);
    if (!result.dim(factors_[index].name).sameExtent(factors_[index]))
      throw InterpFault("result " + std::to_string(position) + " of the call has the wrong size");
  }
  Tensor outside = renamed(permuted(result, order), names);
  outside.element = call_.resultElements[position];
  return outside;
}

llvm::ArrayRef<Reference> references() {
  static const std::vector<Reference> kReferences = {
      {"attend", attend, {}},
      {"attend_bwd", attendGradient, {}},
      {"rotary", rotary, {}},
      {"lookup", lookup, {{0, "v"}}},
      {"pick", pick, {{1, "v"}}},
      {"bag", bag, {{0, "m"}}},
      {"conv1d", conv1d, {}},
      {"selective_scan", selectiveScan, {}},
      {"ssd", stateSpaceDual, {}},
      {"topk", topk, {}},
      {"dispatch", dispatch, {{1, "e"}}},
      {"dispatch_scores", dispatchScores, {{1, "e"}}},
      {"collect_scores", collectScores, {{1, "e"}}},
      {"expert_counts", expertCounts, {{0, "e"}}},
      {"arrange", arrange, {}},
      {"arrange_own", arrange, {}},
      {"arrange_back", arrangeBack, {}},
      {"combine", combine, {{1, "e"}}},
      {"combine_dp", combineScores, {{2, "e"}}},
      {"newton_schulz", newtonSchulz, {}},
  };
  return kReferences;
}

const Reference *findReference(llvm::StringRef op) {
  for (const Reference &reference : references())
    if (reference.op == op)
      return &reference;
  return nullptr;
}

} // namespace stg::interp
