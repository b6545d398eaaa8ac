//===- Plan.cpp - which rule speaks of what ----------------------------------===//
#include "stg/IR/Plan.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

bool matches(const Scopes &scopes, llvm::StringRef path) {
  return scopes.empty() || llvm::any_of(scopes, [&](const PathPattern &scope) { return scope.matches(path); });
}

const OptimizerRule *optimizerOf(const Plan &plan, llvm::StringRef weightPath) {
  for (const OptimizerRule &rule : plan.optimizers)
    if (matches(rule.scopes, weightPath))
      return &rule;
  return nullptr;
}

} // namespace stg
