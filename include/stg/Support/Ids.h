//===- Ids.h - distinct 32-bit ids that index vectors ---------------------===//
#ifndef STG_SUPPORT_IDS_H
#define STG_SUPPORT_IDS_H

#include "llvm/ADT/DenseMapInfo.h"

#include <compare>
#include <cstdint>
#include <limits>

namespace stg {

/// An index into a vector of the things that `Tag` names. Ids of different tags do not convert into each other, so an
/// op's id cannot be used where a value's is meant. A default-constructed id is invalid. Usage:
/// `using ValueId = Id<struct ValueTag>;`
template <class Tag> struct Id {
  static constexpr uint32_t kInvalid = std::numeric_limits<uint32_t>::max();

  uint32_t index = kInvalid;

  constexpr Id() = default;
  constexpr explicit Id(uint32_t index) : index(index) {}

  constexpr bool valid() const { return index != kInvalid; }
  constexpr explicit operator bool() const { return valid(); }

  friend constexpr bool operator==(Id, Id) = default;
  friend constexpr auto operator<=>(Id, Id) = default;
};

} // namespace stg

namespace llvm {

template <class Tag> struct DenseMapInfo<stg::Id<Tag>> {
  // The two largest indices are never reached by a vector, so DenseMap may have the one below `kInvalid`.
  static stg::Id<Tag> getEmptyKey() { return stg::Id<Tag>(stg::Id<Tag>::kInvalid - 1); }
  static stg::Id<Tag> getTombstoneKey() { return stg::Id<Tag>(stg::Id<Tag>::kInvalid - 2); }
  static unsigned getHashValue(stg::Id<Tag> id) { return DenseMapInfo<uint32_t>::getHashValue(id.index); }
  static bool isEqual(stg::Id<Tag> a, stg::Id<Tag> b) { return a == b; }
};

} // namespace llvm

#endif
