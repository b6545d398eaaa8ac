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

enum class TensorClass : uint8_t { Weight, Act, Grad, Master, Moment, Cache, CommGrad, CommParams };
llvm::StringRef spelling(TensorClass cls);
std::optional<TensorClass> tensorClassFrom(llvm::StringRef text);

struct PrecisionRule {
  std::vector<PathPattern> scopes; ///< empty: everywhere
  std::map<TensorClass, ElementType> types;
};

struct Precision {
  std::vector<PrecisionRule> rules;
  /// What the first rule says that names the class and the path: the instance path of the tensor, `blocks.attn`
  /// (without iteration numbers).
  std::optional<ElementType> given(TensorClass cls, llvm::StringRef path) const;
  /// That, or the default of the class. What is communicated has none: it stays as it is.
  ElementType of(TensorClass cls, llvm::StringRef path) const;
};

} // namespace stg

#endif
