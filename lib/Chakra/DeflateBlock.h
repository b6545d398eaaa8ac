//===- DeflateBlock.h - deflate with holes ----------------------------------===//
// Private to lib/Chakra. A block of deflate (RFC 1951) in which some literals are left
// open: a byte of a field has a code as long as that of every other value that it may
// have, so its place in the compressed bits is fixed and its bits are filled in later.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_CHAKRA_DEFLATEBLOCK_H
#define STG_LIB_CHAKRA_DEFLATEBLOCK_H

#include "MatchFinder.h"
#include "stg/Chakra/PatchedGzip.h"
#include <cstring>

namespace stg::detail {

/// A byte of a field as a symbol: those below 256 are bytes that are known.
struct FieldByte {
  /// The values that it may have.
  enum class Values : uint8_t { Digits, HighBytes, SmallBytes };
  uint32_t field = 0; ///< below 2^26
  uint8_t index = 0;
  Values values = Values::Digits;

  uint32_t symbol() const { return 256 + (field * 16 + index) * 4 + static_cast<uint32_t>(values); }
  static FieldByte of(uint32_t symbol) {
    symbol -= 256;
    return {.field = symbol / 64,
            .index = static_cast<uint8_t>(symbol / 4 % 16),
            .values = static_cast<Values>(symbol % 4)};
  }
};

/// Bits, the lowest of a byte first.
class BitWriter {
public:
  /// The lowest `count` bits, at most 32; others must be 0.
  void put(uint32_t bits, unsigned count) {
    pending_ |= uint64_t{bits} << pendingBits_;
    pendingBits_ += count;
    if (pendingBits_ < 32)
      return;
    char whole[4];
    for (unsigned i = 0; i < 4; ++i)
      whole[i] = static_cast<char>(pending_ >> 8 * i);
    bytes_.append(whole, sizeof(whole));
    pending_ >>= 32;
    pendingBits_ -= 32;
  }
  /// Since the last take().
  uint64_t bits() const { return bytes_.size() * 8 + pendingBits_; }
  /// Moves all whole bytes out.
  std::string take();
  /// Ends the byte with zeros.
  void align() { pendingBits_ = (pendingBits_ + 7) / 8 * 8; }

private:
  std::string bytes_;
  uint64_t pending_ = 0;
  unsigned pendingBits_ = 0;
};

/// Of a block: codes of so few fit traces best.
inline constexpr size_t kBlockTokens = 1 << 13;

/// Writes a block and appends what is left open in it: CodePatch::bit counts from the start of `out`.
void writeBlock(std::span<const Token> tokens, bool isLast, BitWriter &out, std::vector<CodePatch> &patches);

} // namespace stg::detail

#endif
