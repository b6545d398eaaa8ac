//===- Selector.cpp -----------------------------------------------------------===//
#include "stg/Sema/Selector.h"
#include "stg/Sema/Precision.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace stg;
using llvm::StringRef;

bool PatternPart::matches(StringRef component, std::optional<int64_t> index) const {
  if (name != "*" && component != name)
    return false;
  if (!range)
    return true;
  return index && *index >= range->first && *index < range->last && (*index - range->first) % range->step == 0;
}

bool PathPattern::hasIndex() const {
  return llvm::any_of(parts, [](const PatternPart &part) { return part.range.has_value(); });
}

static bool matchAt(const PathPattern &pattern, llvm::ArrayRef<StringRef> components) {
  for (size_t i = 0; i < pattern.parts.size(); ++i) {
    StringRef component = components[i];
    std::optional<int64_t> index;
    if (component.ends_with("]")) {
      auto [name, rest] = component.split('[');
      int64_t number;
      if (!rest.drop_back().getAsInteger(10, number))
        index = number;
      component = name;
    }
    if (!pattern.parts[i].matches(component, index))
      return false;
  }
  return true;
}

bool PathPattern::matches(StringRef path) const {
  llvm::SmallVector<StringRef, 8> components;
  path.split(components, '.');
  for (size_t start = 0; start + parts.size() <= components.size(); ++start)
    if (matchAt(*this, llvm::ArrayRef(components).slice(start, parts.size())))
      return true;
  return false;
}

bool PathPattern::names(StringRef path) const {
  llvm::SmallVector<StringRef, 8> components;
  path.split(components, '.');
  return parts.size() <= components.size() && matchAt(*this, llvm::ArrayRef(components).take_back(parts.size()));
}

static constexpr StringRef kClassNames[] = {"weight", "act", "grad", "master", "moment", "cache"};

StringRef stg::spelling(TensorClass cls) { return kClassNames[static_cast<size_t>(cls)]; }

std::optional<TensorClass> stg::tensorClassFrom(StringRef text) {
  for (size_t i = 0; i < std::size(kClassNames); ++i)
    if (kClassNames[i] == text)
      return static_cast<TensorClass>(i);
  return std::nullopt;
}

ElementType Precision::of(TensorClass cls, StringRef path) const {
  for (const PrecisionRule &rule : rules) {
    auto type = rule.types.find(cls);
    if (type != rule.types.end() && (rule.scopes.empty() || llvm::any_of(rule.scopes, [&](const PathPattern &scope) {
                                       return scope.matches(path);
                                     })))
      return type->second;
  }
  switch (cls) {
  case TensorClass::Weight:
  case TensorClass::Act:
  case TensorClass::Cache:
    return ElementType::BF16;
  default:
    return ElementType::F32;
  }
}
