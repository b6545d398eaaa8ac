//===- PathText.h - how reports call bodies, meshes and places --------------===//
#ifndef STG_LIB_DRIVER_PATHTEXT_H
#define STG_LIB_DRIVER_PATHTEXT_H

#include "stg/IR/Program.h"

namespace stg {

/// The units of one body in a word.
struct BodyPath {
  std::string name;   ///< `blocks`, or `blocks[1..32 by 2]` where other bodies have the same path
  std::string family; ///< in front of a weight: `blocks[*]`, `blocks[1..32 by 2]`
};

/// By BodyId; empty for bodies that no unit names.
std::vector<BodyPath> bodyPaths(const Program &program);

/// `64 ranks: dp 8 x tp 8`.
std::string meshText(const Mesh &mesh);

/// `plan.stg:8`; `rule 2`-like texts are the caller's for ranges that are not valid.
std::string placeText(SourceRange where, const SourceManager &sources);

} // namespace stg

#endif
