//===- CodeLengths.cpp - prefix codes of limited length ---------------------===//
// Package-merge (Larmore and Hirschberg, 1990): a symbol with a code of length l takes
// a coin of width 2^-i, at the price of its weight, on each level i from 1 to l. Coins
// of n - 1 together at least cost are the best code. 2^k symbols with equally long codes
// are one symbol, k levels above theirs.
//===----------------------------------------------------------------------===//

#include "CodeLengths.h"
#include <algorithm>

namespace stg::detail {
namespace {

/// 2^bits symbols from `first` on.
struct Leaf {
  uint64_t weight = 0;
  uint32_t first = 0;
  unsigned bits = 0;
  unsigned depth = 0;
};

/// Sets the depths of leaves, the lightest first.
void setDepths(std::span<Leaf> leaves, unsigned limit) {
  // By level, of leaves that may be so deep and packages of two items of the level below, by price: which are leaves.
  std::vector<std::vector<Leaf *>> levels(limit + 1);
  std::vector<uint64_t> packages, prices;
  for (unsigned level = limit; level > 0; --level) {
    prices.clear();
    auto package = packages.begin();
    for (Leaf &leaf : leaves) {
      if (level + leaf.bits > limit)
        continue;
      for (; package != packages.end() && *package < leaf.weight; ++package) {
        prices.push_back(*package);
        levels[level].push_back(nullptr);
      }
      prices.push_back(leaf.weight);
      levels[level].push_back(&leaf);
    }
    for (; package != packages.end(); ++package) {
      prices.push_back(*package);
      levels[level].push_back(nullptr);
    }
    packages.clear();
    for (size_t i = 0; i + 1 < prices.size(); i += 2)
      packages.push_back(prices[i] + prices[i + 1]);
  }
  size_t taken = leaves.size() - 1;
  for (unsigned level = 1; level <= limit; ++level) {
    size_t items = 2 * taken;
    taken = 0;
    for (size_t i = 0; i < items; ++i) {
      if (Leaf *leaf = levels[level][i])
        ++leaf->depth;
      else
        ++taken;
    }
  }
}

} // namespace

std::vector<uint8_t> codeLengths(std::span<const uint32_t> weights, unsigned limit, std::span<const EqualCodes> equal) {
  std::vector<Leaf> leaves;
  std::vector<bool> isEqual(weights.size());
  for (const EqualCodes &codes : equal) {
    Leaf &leaf = leaves.emplace_back(Leaf{.first = codes.first, .bits = codes.bits});
    for (uint32_t i = codes.first; i < codes.first + (1u << codes.bits); ++i) {
      leaf.weight += weights[i];
      isEqual[i] = true;
    }
  }
  for (uint32_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0 && !isEqual[i])
      leaves.push_back({.weight = weights[i], .first = i});
  // Decoders refuse a code that leaves bits without a meaning.
  for (uint32_t i = 0; leaves.size() < 2; ++i)
    if (weights[i] == 0 && !isEqual[i])
      leaves.push_back({.weight = 0, .first = i});

  std::stable_sort(leaves.begin(), leaves.end(), [](const Leaf &a, const Leaf &b) { return a.weight < b.weight; });
  setDepths(leaves, limit);
  std::vector<uint8_t> lengths(weights.size());
  for (const Leaf &leaf : leaves)
    std::fill_n(lengths.begin() + leaf.first, 1u << leaf.bits, static_cast<uint8_t>(leaf.depth + leaf.bits));
  return lengths;
}

uint16_t reverseBits(uint32_t code, unsigned length) {
  uint32_t reversed = 0;
  for (unsigned i = 0; i < length; ++i)
    reversed |= (code >> i & 1) << (length - 1 - i);
  return static_cast<uint16_t>(reversed);
}

std::vector<uint16_t> canonicalCodes(std::span<const uint8_t> lengths) {
  constexpr unsigned kMost = 15;
  uint32_t count[kMost + 1] = {}, next[kMost + 2] = {};
  for (uint8_t length : lengths)
    ++count[length];
  count[0] = 0;
  for (unsigned length = 1; length <= kMost; ++length)
    next[length + 1] = (next[length] + count[length]) << 1;
  std::vector<uint16_t> codes(lengths.size());
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] > 0)
      codes[i] = reverseBits(next[lengths[i]]++, lengths[i]);
  return codes;
}

} // namespace stg::detail
