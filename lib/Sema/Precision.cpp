//===- Precision.cpp - element types of tensor classes ----------------------===//
#include "stg/Sema/Precision.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;
using llvm::StringRef;

static constexpr StringRef kClassNames[] = {"weight", "act",   "grad",      "master",
                                            "moment", "cache", "comm_grad", "comm_params"};

StringRef stg::spelling(TensorClass cls) { return kClassNames[static_cast<size_t>(cls)]; }

std::optional<TensorClass> stg::tensorClassFrom(StringRef text) {
  for (size_t i = 0; i < std::size(kClassNames); ++i)
    if (kClassNames[i] == text)
      return static_cast<TensorClass>(i);
  return std::nullopt;
}

std::optional<ElementType> Precision::given(TensorClass cls, StringRef path) const {
  for (const PrecisionRule &rule : rules) {
    auto type = rule.types.find(cls);
    if (type != rule.types.end() && (rule.scopes.empty() || llvm::any_of(rule.scopes, [&](const PathPattern &scope) {
                                       return scope.matches(path);
                                     })))
      return type->second;
  }
  return std::nullopt;
}

ElementType Precision::of(TensorClass cls, StringRef path) const {
  if (std::optional<ElementType> element = given(cls, path))
    return *element;
  switch (cls) {
  case TensorClass::Weight:
  case TensorClass::Act:
  case TensorClass::Cache:
    return ElementType::BF16;
  default:
    return ElementType::F32;
  }
}
