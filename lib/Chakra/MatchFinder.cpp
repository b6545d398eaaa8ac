//===- MatchFinder.cpp - repetitions in a stream of symbols -----------------===//
// Hash chains with lazy matching, with about the effort of zlib's level 7: a match
// waits for one symbol, and gives way to a longer one that begins there.
//===----------------------------------------------------------------------===//

#include "MatchFinder.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace stg::detail {
namespace {

constexpr unsigned kWindow = 1 << 15;
constexpr unsigned kHashBits = 15;
/// Shorter matches are not looked for.
constexpr unsigned kShortest = 4, kLongest = 258;
/// Behind a match of kGood symbols, a longer one is looked for with less effort, behind one of kLazy not at all.
constexpr unsigned kGood = 8, kLazy = 32, kChain = 128;

uint32_t hashOf(const uint32_t *symbols) {
  uint64_t one, two;
  std::memcpy(&one, symbols, sizeof(one));
  std::memcpy(&two, symbols + 2, sizeof(two));
  return static_cast<uint32_t>((one * 0x9e3779b97f4a7c15 + two * 0xc2b2ae3d27d4eb4f) * 0xff51afd7ed558ccd >>
                               (64 - kHashBits));
}

unsigned commonLength(const uint32_t *a, const uint32_t *b, unsigned most) {
  unsigned length = 0;
  for (; length + 2 <= most; length += 2) {
    uint64_t x, y;
    std::memcpy(&x, a + length, sizeof(x));
    std::memcpy(&y, b + length, sizeof(y));
    if (x != y)
      return a[length] == b[length] ? length + 1 : length;
  }
  return length < most && a[length] == b[length] ? length + 1 : length;
}

} // namespace

// Positions begin where an empty entry of the tables is too far away.
MatchFinder::MatchFinder()
    : first_(2 * kWindow), end_(first_), position_(first_), entered_(first_), heads_(1 << kHashBits), before_(kWindow) {
}

void MatchFinder::append(std::span<const uint32_t> symbols, std::vector<Token> &tokens) {
  if (position_ - first_ > 4 * kWindow) {
    // The symbol that is held is before position_.
    uint64_t first = position_ - kWindow - 1;
    symbols_.erase(symbols_.begin(), symbols_.begin() + static_cast<ptrdiff_t>(first - first_));
    first_ = first;
  }
  symbols_.insert(symbols_.end(), symbols.begin(), symbols.end());
  end_ += symbols.size();
  constexpr unsigned kAhead = kLongest + kShortest;
  if (end_ - first_ > kAhead)
    run(end_ - kAhead, tokens);
}

void MatchFinder::finish(std::vector<Token> &tokens) {
  run(end_, tokens);
  if (holds_)
    tokens.push_back({.symbol = *at(position_ - 1)});
  holds_ = false;
}

void MatchFinder::run(uint64_t until, std::vector<Token> &tokens) {
  while (position_ < until)
    step(tokens);
}

void MatchFinder::step(std::vector<Token> &tokens) {
  Match here;
  if (held_.length < kLazy)
    here = longest(held_.length);
  if (held_.length > 0 && here.length == 0) {
    tokens.push_back(
        {.length = static_cast<uint16_t>(held_.length), .distance = static_cast<uint16_t>(held_.distance)});
    position_ += held_.length - 1;
    held_ = {};
    holds_ = false;
    return;
  }
  if (holds_)
    tokens.push_back({.symbol = *at(position_ - 1)});
  held_ = here;
  holds_ = true;
  ++position_;
}

/// Makes the positions before `until` known.
void MatchFinder::enter(uint64_t until) {
  until = std::min(until, end_ < first_ + kShortest ? first_ : end_ - kShortest + 1);
  for (; entered_ < until; ++entered_) {
    uint32_t &head = heads_[hashOf(at(entered_))];
    before_[entered_ % kWindow] = head;
    head = static_cast<uint32_t>(entered_);
  }
}

/// The longest match of the symbols at position_ that is longer than `longerThan`; length 0 if there is none.
MatchFinder::Match MatchFinder::longest(unsigned longerThan) {
  enter(position_);
  Match best;
  const unsigned most = static_cast<unsigned>(std::min<uint64_t>(kLongest, end_ - position_));
  unsigned length = std::max(longerThan, kShortest - 1);
  if (length >= most)
    return best;
  const uint32_t *here = at(position_);
  uint32_t candidate = heads_[hashOf(here)];
  unsigned nearer = 0;
  for (unsigned left = longerThan >= kGood ? kChain / 4 : kChain; left > 0; --left) {
    uint32_t distance = static_cast<uint32_t>(position_) - candidate;
    // Entries that were overwritten, or are from 2^32 symbols ago, break the order.
    if (distance > kWindow || distance <= nearer)
      break;
    nearer = distance;
    const uint32_t *there = here - distance;
    if (there[length] == here[length] && there[length - 1] == here[length - 1]) {
      unsigned common = commonLength(here, there, most);
      if (common > length) {
        length = common;
        best = {.length = common, .distance = distance};
        if (common == most)
          break;
      }
    }
    candidate = before_[candidate % kWindow];
  }
  return best;
}

} // namespace stg::detail
