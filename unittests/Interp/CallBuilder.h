//===- CallBuilder.h - calls of std ops for tests --------------------------===//
#ifndef STG_UNITTESTS_INTERP_CALLBUILDER_H
#define STG_UNITTESTS_INTERP_CALLBUILDER_H

#include "TinyProgram.h"

namespace stg::interp {

/// A call written by dims, `"b s (c=Dh)"`-style without a parser: per operand and result the factor names, each factor
/// once with the caller's dim.
struct CallShape {
  struct FactorDim {
    const char *factor;
    const char *dim;
    int64_t size;
  };
  const char *callee;
  std::vector<FactorDim> factors;
  std::vector<std::vector<const char *>> operands, results;
  std::vector<ElementType> elements = {}; ///< f32 where not given
};

inline CallFields makeCall(TinyProgram &tiny, const CallShape &shape) {
  CallFields call;
  call.callee = tiny.name(shape.callee);
  for (const CallShape::FactorDim &factor : shape.factors)
    call.factors.push_back({tiny.name(factor.factor), tiny.dim({factor.dim, factor.size}), FactorKind::Map, {}, {}});
  auto indices = [&](const std::vector<const char *> &names) {
    llvm::SmallVector<uint32_t, 6> result;
    for (llvm::StringRef name : names)
      for (uint32_t i = 0; i < shape.factors.size(); ++i)
        if (name == shape.factors[i].factor)
          result.push_back(i);
    return result;
  };
  for (const auto &operand : shape.operands)
    call.operandFactors.push_back(indices(operand));
  for (const auto &result : shape.results)
    call.resultFactors.push_back(indices(result));
  call.resultElements = shape.elements;
  call.resultElements.resize(shape.results.size(), ElementType::F32);
  return call;
}

} // namespace stg::interp

#endif
