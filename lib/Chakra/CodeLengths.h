//===- CodeLengths.h - prefix codes of limited length -----------------------===//
// Private to lib/Chakra.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_CHAKRA_CODELENGTHS_H
#define STG_LIB_CHAKRA_CODELENGTHS_H

#include <cstdint>
#include <span>
#include <vector>

namespace stg::detail {

/// Consecutive symbols, 2^bits, whose codes are to have one length.
struct EqualCodes {
  uint32_t first = 0;
  unsigned bits = 0;
};

/// The lengths, at most `limit` bits, of a complete prefix code at which the sum of weight times length is least.
/// Symbols without weight have none, length 0, except those of `equal` and where a code would have but one symbol.
/// `limit` allows for all symbols: 2^limit is at least their number, those of `equal` each counted as 2^bits.
std::vector<uint8_t> codeLengths(std::span<const uint32_t> weights, unsigned limit,
                                 std::span<const EqualCodes> equal = {});

/// The canonical codes (RFC 1951, 3.2.2) of these lengths, in the order in which their bits are written: the first bit
/// is the lowest.
std::vector<uint16_t> canonicalCodes(std::span<const uint8_t> lengths);

/// The lowest `length` bits of `code`, the last first; at most 16.
uint16_t reverseBits(uint32_t code, unsigned length);

} // namespace stg::detail

#endif
