//===- ClosestName.cpp - "did you mean" for misspelt names ----------------===//
#include "stg/Support/ClosestName.h"

#include <algorithm>

namespace stg {

std::optional<llvm::StringRef> closestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates) {
  const unsigned farthest = std::min<size_t>(2, name.size() / 3);
  std::optional<llvm::StringRef> best;
  unsigned bestDistance = 0;
  for (llvm::StringRef candidate : candidates) {
    if (candidate == name)
      continue;
    unsigned distance = name.edit_distance(candidate, /*AllowReplacements=*/true, farthest + 1);
    bool near = distance <= farthest;
    if (candidate.equals_insensitive(name)) {
      distance = std::min(distance, 1u);
      near = true;
    }
    if (near && (!best || distance < bestDistance)) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

} // namespace stg
