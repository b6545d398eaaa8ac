//===- DeflateBlock.cpp - deflate with holes --------------------------------===//

#include "DeflateBlock.h"
#include "CodeLengths.h"
#include <algorithm>
#include <bit>
#include <utility>

namespace stg::detail {
namespace {

constexpr unsigned kLiterals = 286, kDistances = 30, kEndOfBlock = 256;
constexpr unsigned kLongestCode = 15, kLongestMetaCode = 7;

/// By FieldByte::Values: digits, of which there would be 16, and the bytes of a varint.
constexpr EqualCodes kValues[] = {{.first = '0', .bits = 4}, {.first = 0x80, .bits = 7}, {.first = 0, .bits = 4}};

/// A code and the bits behind it that tell the values apart that share it.
struct Coded {
  unsigned code = 0, extraBits = 0, extra = 0;
};

Coded codeOfLength(unsigned length) {
  unsigned value = length - 3;
  if (length == 258)
    return {.code = 285};
  if (value < 8)
    return {.code = 257 + value};
  unsigned bits = static_cast<unsigned>(std::bit_width(value)) - 3;
  return {.code = 257 + 4 * (bits + 1) + (value >> bits & 3), .extraBits = bits, .extra = value & ((1u << bits) - 1)};
}

Coded codeOfDistance(unsigned distance) {
  unsigned value = distance - 1;
  if (value < 4)
    return {.code = value};
  unsigned bits = static_cast<unsigned>(std::bit_width(value)) - 2;
  return {.code = 2 * (bits + 1) + (value >> bits & 1), .extraBits = bits, .extra = value & ((1u << bits) - 1)};
}

struct PrefixCode {
  std::vector<uint8_t> lengths;
  std::vector<uint16_t> codes;

  PrefixCode(std::span<const uint32_t> weights, unsigned limit, std::span<const EqualCodes> equal = {})
      : lengths(codeLengths(weights, limit, equal)), codes(canonicalCodes(lengths)) {}
  void put(BitWriter &out, unsigned symbol) const { out.put(codes[symbol], lengths[symbol]); }
  /// Symbols up to the last that has a code.
  size_t used(size_t least) const {
    size_t size = lengths.size();
    while (size > least && lengths[size - 1] == 0)
      --size;
    return size;
  }
};

/// Code lengths, with runs: 16 repeats the one before 3 to 6 times, 17 and 18 are 3 to 10 and 11 to 138 zeros.
std::vector<Coded> runsOf(std::span<const uint8_t> lengths) {
  std::vector<Coded> runs;
  for (size_t i = 0; i < lengths.size();) {
    size_t end = i + 1;
    while (end < lengths.size() && lengths[end] == lengths[i])
      ++end;
    size_t left = end - i;
    if (lengths[i] != 0) {
      runs.push_back({.code = lengths[i]});
      --left;
    }
    while (left >= 3) {
      bool isZero = lengths[i] == 0, isLong = isZero && left >= 11;
      unsigned least = isLong ? 11 : 3;
      size_t now = std::min<size_t>(left, isLong ? 138 : isZero ? 10 : 6);
      runs.push_back({.code = isLong   ? 18u
                              : isZero ? 17u
                                       : 16u,
                      .extraBits = isLong   ? 7u
                                   : isZero ? 3u
                                            : 2u,
                      .extra = static_cast<unsigned>(now) - least});
      left -= now;
    }
    runs.insert(runs.end(), left, {.code = lengths[i]});
    i = end;
  }
  return runs;
}

void writeCodes(const PrefixCode &literals, const PrefixCode &distances, BitWriter &out) {
  size_t usedLiterals = literals.used(257), usedDistances = distances.used(1);
  std::vector<uint8_t> lengths(literals.lengths.begin(),
                               literals.lengths.begin() + static_cast<ptrdiff_t>(usedLiterals));
  lengths.insert(lengths.end(), distances.lengths.begin(),
                 distances.lengths.begin() + static_cast<ptrdiff_t>(usedDistances));
  std::vector<Coded> runs = runsOf(lengths);
  uint32_t weights[19] = {};
  for (const Coded &run : runs)
    ++weights[run.code];
  PrefixCode meta(weights, kLongestMetaCode);
  constexpr uint8_t kOrder[] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
  size_t usedMeta = std::size(kOrder);
  while (usedMeta > 4 && meta.lengths[kOrder[usedMeta - 1]] == 0)
    --usedMeta;
  out.put(static_cast<uint32_t>(usedLiterals - 257), 5);
  out.put(static_cast<uint32_t>(usedDistances - 1), 5);
  out.put(static_cast<uint32_t>(usedMeta - 4), 4);
  for (size_t i = 0; i < usedMeta; ++i)
    out.put(meta.lengths[kOrder[i]], 3);
  for (const Coded &run : runs) {
    meta.put(out, run.code);
    out.put(run.extra, run.extraBits);
  }
}

} // namespace

std::string BitWriter::take() {
  for (; pendingBits_ >= 8; pendingBits_ -= 8, pending_ >>= 8)
    bytes_.push_back(static_cast<char>(pending_));
  return std::exchange(bytes_, {});
}

void writeBlock(std::span<const Token> tokens, bool isLast, BitWriter &out, std::vector<CodePatch> &patches) {
  uint32_t literalWeights[kLiterals] = {}, distanceWeights[kDistances] = {}, fieldWeights[std::size(kValues)] = {};
  for (const Token &token : tokens) {
    if (token.length > 0) {
      ++literalWeights[codeOfLength(token.length).code];
      ++distanceWeights[codeOfDistance(token.distance).code];
    } else if (token.symbol < 256) {
      ++literalWeights[token.symbol];
    } else {
      ++fieldWeights[static_cast<size_t>(FieldByte::of(token.symbol).values)];
    }
  }
  literalWeights[kEndOfBlock] = 1;
  std::vector<EqualCodes> equal;
  for (size_t i = 0; i < std::size(kValues); ++i)
    if (fieldWeights[i] > 0) {
      equal.push_back(kValues[i]);
      literalWeights[kValues[i].first] += fieldWeights[i];
    }
  PrefixCode literals(literalWeights, kLongestCode, equal), distances(distanceWeights, kLongestCode);

  constexpr unsigned kDynamic = 2;
  out.put(isLast ? 1 : 0, 1);
  out.put(kDynamic, 2);
  writeCodes(literals, distances, out);
  for (const Token &token : tokens) {
    if (token.length > 0) {
      Coded length = codeOfLength(token.length), distance = codeOfDistance(token.distance);
      literals.put(out, length.code);
      out.put(length.extra, length.extraBits);
      distances.put(out, distance.code);
      out.put(distance.extra, distance.extraBits);
    } else if (token.symbol < 256) {
      literals.put(out, token.symbol);
    } else {
      FieldByte byte = FieldByte::of(token.symbol);
      uint32_t first = kValues[static_cast<size_t>(byte.values)].first;
      unsigned length = literals.lengths[first];
      // Codes of one length follow one another in the order of their symbols.
      patches.push_back({.bit = static_cast<uint32_t>(out.bits()),
                         .field = byte.field,
                         .code = static_cast<uint16_t>(reverseBits(literals.codes[first], length) - first),
                         .byte = byte.index,
                         .length = static_cast<uint8_t>(length)});
      out.put(0, length);
    }
  }
  literals.put(out, kEndOfBlock);
}

} // namespace stg::detail
