//===- Plan.cpp - which rule speaks of what ----------------------------------===//
#include "stg/IR/Plan.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {
constexpr llvm::StringLiteral kAlgorithms[] = {"gather", "ring", "halo", "two_level"};
} // namespace

llvm::StringRef spelling(RunAlgorithm algorithm) { return kAlgorithms[static_cast<size_t>(algorithm)]; }

std::optional<RunAlgorithm> runAlgorithmFrom(llvm::StringRef text) {
  const auto *found = llvm::find(kAlgorithms, text);
  if (found == std::end(kAlgorithms))
    return std::nullopt;
  return static_cast<RunAlgorithm>(found - std::begin(kAlgorithms));
}

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
