//===- MatchFinder.h - repetitions in a stream of symbols -------------------===//
// Private to lib/Chakra. LZ77 as deflate has it (matches of up to 258 symbols, at most
// 32,768 back) over symbols that are more than bytes: two stretches match only if they
// hold the same fields at the same places, so what a match copies is right for every
// rank.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_CHAKRA_MATCHFINDER_H
#define STG_LIB_CHAKRA_MATCHFINDER_H

#include <cstdint>
#include <span>
#include <vector>

namespace stg::detail {

/// A symbol as it is, or a copy of `length` symbols from `distance` before.
struct Token {
  uint32_t symbol = 0; ///< length 0
  uint16_t length = 0;
  uint16_t distance = 0; ///< 32,768 at most
};

/// What it finds depends on the symbols alone, not on how they are cut into pieces.
class MatchFinder {
public:
  MatchFinder();

  /// Appends to `tokens` what can be said so far.
  void append(std::span<const uint32_t> symbols, std::vector<Token> &tokens);
  /// Appends the rest.
  void finish(std::vector<Token> &tokens);

private:
  struct Match {
    unsigned length = 0, distance = 0;
  };
  void run(uint64_t until, std::vector<Token> &tokens);
  void step(std::vector<Token> &tokens);
  void enter(uint64_t until);
  Match longest(unsigned longerThan);
  const uint32_t *at(uint64_t position) const { return symbols_.data() + (position - first_); }

  std::vector<uint32_t> symbols_; ///< from first_ on, up to end_
  uint64_t first_, end_;
  uint64_t position_; ///< to be looked at next
  uint64_t entered_;  ///< what is before it can be found
  /// Of the symbol before position_, which has no token yet.
  Match held_;
  bool holds_ = false;
  /// Where the last symbols with a hash began, and by position where those before did: the low 32 bits.
  std::vector<uint32_t> heads_, before_;
};

} // namespace stg::detail

#endif
