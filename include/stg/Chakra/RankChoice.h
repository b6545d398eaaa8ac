//===- RankChoice.h - which ranks of a trace are written --------------------===//
// A list (`0-4095,7`), or one of n shards of neighbouring ranks: shard i of n, i from
// 0, has the ranks from floor(i W / n) to before floor((i + 1) W / n) of W. Shards
// differ by one rank at most, and together have each rank once.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/RankFields.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace stg {

/// Both ends are in it.
struct RankRange {
  uint32_t first = 0, last = 0;
  bool operator==(const RankRange &) const = default;
};

struct Shard {
  uint32_t index = 0, count = 1;
  bool operator==(const Shard &) const = default;
};

struct RankChoice {
  /// Ascending, with gaps between them; empty: those of the shard.
  std::vector<RankRange> list;
  Shard shard;

  bool isAll() const { return list.empty() && shard.count == 1; }
  /// A rank of the list that a world of so many ranks has not.
  std::optional<uint32_t> outside(uint32_t worldSize) const;
  /// Of a world of so many ranks, ascending; may be none.
  std::vector<RankRange> in(uint32_t worldSize) const;
};

/// `0-4095,7`; nothing if the text is no such list.
std::optional<std::vector<RankRange>> readRankList(llvm::StringRef text);
/// `3/16`; nothing if the text is no shard: 0 <= 3 < 16.
std::optional<Shard> readShard(llvm::StringRef text);

/// The ranks of the set that are in one of the ranges, ascending.
std::vector<uint32_t> chosenRanks(llvm::ArrayRef<RankRange> ranges, const bundle::RankSet &set);

} // namespace stg
