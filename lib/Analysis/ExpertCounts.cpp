//===- ExpertCounts.cpp - tokens to experts, in whole numbers -----------------===//
#include "stg/Analysis/ExpertCounts.h"
#include "llvm/ADT/STLExtras.h"
#include <array>
#include <bit>
#include <cmath>
#include <numeric>

namespace stg {
namespace {

using UInt128 = unsigned __int128;

/// Fixed-point numbers: bits behind the point.
constexpr unsigned kLogBits = 40, kPowerBits = 62, kExponentBits = 32, kLoadBits = 40;

/// log2 of a whole number from 1, with kLogBits: bits come by squaring.
uint64_t logOf(uint64_t number) {
  unsigned whole = std::bit_width(number) - 1;
  uint64_t result = whole;
  UInt128 mantissa = UInt128{number} << (kPowerBits - whole);
  for (unsigned i = 0; i < kLogBits; ++i) {
    mantissa = mantissa * mantissa >> kPowerBits;
    bool isSet = mantissa >> (kPowerBits + 1) != 0;
    mantissa >>= isSet;
    result = result << 1 | isSet;
  }
  return result;
}

uint64_t rootOf(UInt128 square) {
  uint64_t root = 0;
  for (uint64_t bit = uint64_t{1} << 63; bit != 0; bit >>= 1)
    if (UInt128 next = root | bit; next * next <= square)
      root |= bit;
  return root;
}

/// 2^(-2^-i) for i from 1 on, with kPowerBits.
std::array<uint64_t, kLogBits> rootsOfHalf() {
  std::array<uint64_t, kLogBits> roots;
  uint64_t last = uint64_t{1} << (kPowerBits - 1);
  for (uint64_t &root : roots)
    root = last = rootOf(UInt128{last} << kPowerBits);
  return roots;
}

class Shuffle {
public:
  explicit Shuffle(uint64_t seed) : state_(seed) {}

  /// Below `limit`.
  size_t below(size_t limit) { return static_cast<size_t>(UInt128{next()} * limit >> 64); }

private:
  /// SplitMix64.
  uint64_t next() {
    uint64_t mixed = state_ += 0x9e3779b97f4a7c15;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
    return mixed ^ mixed >> 31;
  }

  uint64_t state_;
};

} // namespace

std::vector<uint64_t> zipfLoads(size_t experts, double exponent, uint64_t seed) {
  const std::array<uint64_t, kLogBits> roots = rootsOfHalf();
  auto scale = static_cast<uint64_t>(std::llround(std::ldexp(exponent, kExponentBits)));
  std::vector<size_t> expertAt(experts);
  std::iota(expertAt.begin(), expertAt.end(), size_t{0});
  Shuffle shuffle(seed);
  for (size_t i = experts; i > 1; --i)
    std::swap(expertAt[i - 1], expertAt[shuffle.below(i)]);
  std::vector<uint64_t> loads(experts);
  for (size_t i = 0; i < experts; ++i) {
    auto power = static_cast<uint64_t>(UInt128{scale} * logOf(i + 1) >> kExponentBits);
    uint64_t whole = power >> kLogBits;
    UInt128 load = uint64_t{1} << kPowerBits;
    for (unsigned bit = 0; bit < kLogBits; ++bit)
      if (power >> (kLogBits - 1 - bit) & 1)
        load = load * roots[bit] >> kPowerBits;
    load = whole <= kLoadBits ? load >> (kPowerBits - kLoadBits + whole) : UInt128{0};
    loads[expertAt[i]] = std::max<uint64_t>(static_cast<uint64_t>(load), 1);
  }
  return loads;
}

std::vector<uint64_t> loadsOf(const Routing &routing, size_t experts) {
  switch (routing.kind) {
  case RoutingKind::Zipf:
    return zipfLoads(experts, routing.exponent, routing.seed);
  case RoutingKind::Trace:
    return routing.loads;
  case RoutingKind::Uniform:
    break;
  }
  return std::vector<uint64_t>(experts, 1);
}

std::vector<int64_t> apportion(int64_t total, llvm::ArrayRef<uint64_t> loads) {
  UInt128 sum = 0;
  for (uint64_t load : loads)
    sum += load;
  std::vector<int64_t> counts;
  std::vector<UInt128> rests;
  int64_t left = total;
  for (uint64_t load : loads) {
    UInt128 product = UInt128{static_cast<uint64_t>(total)} * load;
    counts.push_back(static_cast<int64_t>(product / sum));
    rests.push_back(product % sum);
    left -= counts.back();
  }
  std::vector<size_t> order(loads.size());
  std::iota(order.begin(), order.end(), size_t{0});
  llvm::stable_sort(order, [&](size_t a, size_t b) { return rests[a] > rests[b]; });
  for (int64_t i = 0; i < left; ++i)
    ++counts[order[static_cast<size_t>(i)]];
  return counts;
}

} // namespace stg
