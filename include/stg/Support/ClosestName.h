//===- ClosestName.h - "did you mean" for misspelt names ------------------===//
#ifndef STG_SUPPORT_CLOSESTNAME_H
#define STG_SUPPORT_CLOSESTNAME_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace stg {

/// The candidate most likely meant by `name`: the first one with the smallest edit distance, at most 2 and at most a
/// third of the length of `name`. A candidate that differs in case only is always near enough, whatever its length.
/// `name` itself is not proposed.
std::optional<llvm::StringRef> closestName(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> candidates);

} // namespace stg

#endif
