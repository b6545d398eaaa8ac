//===- RankChoice.cpp - which ranks of a trace are written ------------------===//
#include "stg/Chakra/RankChoice.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace stg {

std::optional<uint32_t> RankChoice::outside(uint32_t worldSize) const {
  for (const RankRange &range : list)
    if (range.last >= worldSize)
      return std::max(range.first, worldSize);
  return std::nullopt;
}

std::vector<RankRange> RankChoice::in(uint32_t worldSize) const {
  if (!list.empty())
    return list;
  uint64_t begin = uint64_t{shard.index} * worldSize / shard.count;
  uint64_t end = (uint64_t{shard.index} + 1) * worldSize / shard.count;
  if (begin == end)
    return {};
  return {{static_cast<uint32_t>(begin), static_cast<uint32_t>(end - 1)}};
}

namespace {

bool readNumber(llvm::StringRef text, uint32_t &number) {
  return !text.empty() && llvm::all_of(text, llvm::isDigit) && !text.getAsInteger(10, number) && number <= INT32_MAX;
}

} // namespace

std::optional<std::vector<RankRange>> readRankList(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',');
  std::vector<RankRange> ranges;
  for (llvm::StringRef part : parts) {
    auto [first, last] = part.trim().split('-');
    RankRange range;
    if (!readNumber(first, range.first) || !readNumber(part.contains('-') ? last : first, range.last) ||
        range.last < range.first)
      return std::nullopt;
    ranges.push_back(range);
  }
  llvm::sort(ranges, [](const RankRange &a, const RankRange &b) { return a.first < b.first; });
  std::vector<RankRange> joined;
  for (const RankRange &range : ranges)
    if (!joined.empty() && range.first <= joined.back().last + 1)
      joined.back().last = std::max(joined.back().last, range.last);
    else
      joined.push_back(range);
  return joined;
}

std::optional<Shard> readShard(llvm::StringRef text) {
  Shard shard;
  auto [index, count] = text.split('/');
  if (!readNumber(index, shard.index) || !readNumber(count, shard.count) || shard.index >= shard.count)
    return std::nullopt;
  return shard;
}

std::vector<uint32_t> chosenRanks(llvm::ArrayRef<RankRange> ranges, const bundle::RankSet &set) {
  std::vector<uint32_t> ranks;
  const RankRange *range = ranges.begin();
  for (uint64_t i = 0, size = set.size(); i < size; ++i) {
    uint32_t rank = set.at(i);
    while (range != ranges.end() && range->last < rank)
      ++range;
    if (range == ranges.end())
      break;
    if (range->first <= rank)
      ranks.push_back(rank);
  }
  return ranks;
}

} // namespace stg
