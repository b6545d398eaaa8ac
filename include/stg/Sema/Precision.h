//===- Precision.h - element types by class ---------------------------------===//
// `precision { weight = bf16, act = bf16, … }` gives each class of tensors an element type, in a scope or everywhere;
// the first rule whose scope matches wins. Without a rule: weights, activations and caches are bf16, gradients, master
// copies and moments f32.
//===----------------------------------------------------------------------===//
#ifndef STG_SEMA_PRECISION_H
#define STG_SEMA_PRECISION_H

#include "stg/IR/Selector.h"
#include "stg/IR/Types.h"
#include <map>

namespace stg {

enum class TensorClass : uint8_t { Weight, Act, Grad, Master, Moment, Cache };
llvm::StringRef spelling(TensorClass cls);
std::optional<TensorClass> tensorClassFrom(llvm::StringRef text);

struct PrecisionRule {
  std::vector<PathPattern> scopes; ///< empty: everywhere
  std::map<TensorClass, ElementType> types;
};

struct Precision {
  std::vector<PrecisionRule> rules;
  /// `path` is the instance path of the tensor, `blocks.attn` (without iteration numbers).
  ElementType of(TensorClass cls, llvm::StringRef path) const;
};

} // namespace stg

#endif
