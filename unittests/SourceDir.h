//===- SourceDir.h - where the files are that unit tests read -----------------===//
// Known to one object file only, so that the others are the same for every checkout.
//===----------------------------------------------------------------------===//
#pragma once

namespace stg {

/// The root of the source tree, without a `/` at its end.
extern const char *const kSourceDir;

} // namespace stg
