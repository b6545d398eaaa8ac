//===- Conversion.h - from one layout to another, as collectives ------------===//
// Each atom moves on its own; atoms that make the same move on the same dims go together. Order: slice, reduce-scatter,
// all-reduce, all-to-all, all-gather (language.md 5.6): shrink first, grow last.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_CONVERSION_H
#define STG_SHARDING_CONVERSION_H

#include "stg/IR/Program.h"

namespace stg {

struct ConversionStep {
  OpKind kind = OpKind::Shard;
  AtomList atoms;
  NameId from, to; ///< as in CollectiveFields
  ReduceFn fn = ReduceFn::Sum;
  Layout after;
};

/// The steps from `from` to `to`; none if they are equal. Both have a place for each atom of the mesh.
std::vector<ConversionStep> planConversion(const Layout &from, const Layout &to);

/// The layout after one collective; nothing if the collective cannot be applied to `from`.
std::optional<Layout> layoutAfter(OpKind kind, const CollectiveFields &fields, const Layout &from);

} // namespace stg

#endif
