//===- PatchedGzip.cpp - gzip files of many ranks, compressed once ----------===//
// A field's bytes become symbols of their own, one for each byte of each field, before
// repetitions are looked for. So a match never reads or covers a field unless the same
// field stands in both places, and then it is right for every rank: only what is not
// covered by a match is left open.
//
// The checksum of a rank: CRC-32 is linear over GF(2), up to a constant that depends on
// the length. If the bytes d replace zeros and n bytes follow, it changes by d x^(8n)
// mod P. All places of a field hold the same d, so the sum of their x^(8n) is one
// factor per field. zlib has the arithmetic: crc32_combine_gen(n) is x^(8n) mod P, and
// crc32_combine_op(a, b, c) is a c + b.
//===----------------------------------------------------------------------===//

#include "stg/Chakra/PatchedGzip.h"
#include "CodeLengths.h"
#include "DeflateBlock.h"
#include <algorithm>
#include <utility>
#include <zlib.h>

namespace stg {

using bundle::FieldPatch;
using bundle::FieldValues;
using bundle::RankField;
using detail::FieldByte;

namespace {

/// Bytes of a segment of a file, or a little more.
constexpr size_t kFileSegmentBytes = 1 << 18;
constexpr size_t kPieceSymbols = 1 << 15;
/// Magic number, deflate, no flags, no time, no level, Unix.
constexpr char kHeader[] = {'\x1f', '\x8b', 8, 0, 0, 0, 0, 0, 0, 3};
constexpr size_t kTrailerBytes = 8;
constexpr Bytef kZeros[bundle::kMostFieldBytes] = {};

uint32_t multiply(uint32_t a, uint32_t b) { return static_cast<uint32_t>(crc32_combine_op(a, 0, b)); }
uint32_t powerOf(uint64_t bytes) { return static_cast<uint32_t>(crc32_combine_gen(static_cast<z_off_t>(bytes))); }
constexpr uint32_t kOne = 0x80000000;

void putLittleEndian(char *at, uint32_t value) {
  for (unsigned i = 0; i < 4; ++i)
    at[i] = static_cast<char>(value >> 8 * i);
}

} // namespace

//===----------------------------------------------------------------------===//
// Compression
//===----------------------------------------------------------------------===//

class PatchedGzip::Compressor {
public:
  explicit Compressor(unsigned groupDigits);
  void add(std::span<const char> bytes, std::span<const FieldPatch> patches, std::span<const RankField> fields);
  void finish(PatchedGzip &file);

private:
  /// Of a field: the sum of x^(8n), n counted to the end of the last place so far.
  struct Places {
    uint32_t sum = 0;
    uint64_t end = 0;
  };
  void addPlain(std::span<const char> bytes);
  void addField(uint32_t index, RankField field);
  void compress();
  void writeBlock(std::span<const detail::Token> tokens, bool isLast);
  void cut();

  unsigned groupDigits_;
  uint64_t read_ = 0;
  uLong checksum_ = 0;
  std::vector<Places> places_;
  std::vector<uint32_t> symbols_;
  detail::MatchFinder finder_;
  std::vector<detail::Token> tokens_;
  detail::BitWriter out_;
  std::vector<CodePatch> patches_; ///< of what is in out_
  std::vector<Segment> segments_;
};

PatchedGzip::Compressor::Compressor(unsigned groupDigits) : groupDigits_(groupDigits), checksum_(crc32(0, nullptr, 0)) {
  symbols_.reserve(kPieceSymbols);
  for (char byte : kHeader)
    out_.put(static_cast<uint8_t>(byte), 8);
}

void PatchedGzip::Compressor::add(std::span<const char> bytes, std::span<const FieldPatch> patches,
                                  std::span<const RankField> fields) {
  places_.resize(std::max(places_.size(), fields.size()));
  size_t at = 0;
  for (const FieldPatch &patch : patches) {
    addPlain(bytes.subspan(at, patch.offset - at));
    addField(patch.field, fields[patch.field]);
    at = patch.offset + (fields[patch.field].isRank() ? bundle::kRankFieldBytes : groupDigits_);
  }
  addPlain(bytes.subspan(at));
}

void PatchedGzip::Compressor::addPlain(std::span<const char> bytes) {
  checksum_ = crc32(checksum_, reinterpret_cast<const Bytef *>(bytes.data()), static_cast<uInt>(bytes.size()));
  read_ += bytes.size();
  while (!bytes.empty()) {
    std::span<const char> piece = bytes.first(std::min(bytes.size(), kPieceSymbols - symbols_.size()));
    for (char byte : piece)
      symbols_.push_back(static_cast<uint8_t>(byte));
    bytes = bytes.subspan(piece.size());
    if (symbols_.size() == kPieceSymbols)
      compress();
  }
}

void PatchedGzip::Compressor::addField(uint32_t index, RankField field) {
  bool isRank = field.isRank();
  unsigned bytes = isRank ? bundle::kRankFieldBytes : groupDigits_;
  checksum_ = crc32(checksum_, kZeros, bytes);
  read_ += bytes;
  Places &places = places_[index];
  places.sum = multiply(places.sum, powerOf(read_ - places.end)) ^ kOne;
  places.end = read_;
  using Values = FieldByte::Values;
  for (unsigned i = 0; i < bytes; ++i) {
    Values values = !isRank ? Values::Digits : i + 1 < bytes ? Values::HighBytes : Values::SmallBytes;
    symbols_.push_back(FieldByte{.field = index, .index = static_cast<uint8_t>(i), .values = values}.symbol());
    if (symbols_.size() == kPieceSymbols)
      compress();
  }
}

void PatchedGzip::Compressor::compress() {
  finder_.append(symbols_, tokens_);
  symbols_.clear();
  size_t written = 0;
  for (; tokens_.size() - written > detail::kBlockTokens; written += detail::kBlockTokens)
    writeBlock(std::span(tokens_).subspan(written, detail::kBlockTokens), /*isLast=*/false);
  tokens_.erase(tokens_.begin(), tokens_.begin() + static_cast<ptrdiff_t>(written));
}

void PatchedGzip::Compressor::writeBlock(std::span<const detail::Token> tokens, bool isLast) {
  detail::writeBlock(tokens, isLast, out_, patches_);
  if (isLast || out_.bits() < 8 * kFileSegmentBytes)
    return;
  // An empty stored block ends the byte, so that no field stands in two segments.
  out_.put(0, 3);
  out_.align();
  out_.put(0xffff0000, 32);
  cut();
}

void PatchedGzip::Compressor::cut() {
  Segment segment{.bytes = out_.take(), .patches = std::exchange(patches_, {})};
  segment.bytes.shrink_to_fit();
  segment.patches.shrink_to_fit();
  segments_.push_back(std::move(segment));
}

void PatchedGzip::Compressor::finish(PatchedGzip &file) {
  compress();
  finder_.finish(tokens_);
  std::span<const detail::Token> left = tokens_;
  for (; left.size() > detail::kBlockTokens; left = left.subspan(detail::kBlockTokens))
    writeBlock(left.first(detail::kBlockTokens), /*isLast=*/false);
  writeBlock(left, /*isLast=*/true);
  out_.align();
  out_.put(0, 32); // the checksum, which is the rank's own
  out_.put(static_cast<uint32_t>(read_), 32);
  cut();
  file.segments_ = std::move(segments_);
  for (const Segment &segment : file.segments_)
    file.fileBytes_ += segment.bytes.size();
  file.checksum_ = static_cast<uint32_t>(checksum_);
  for (const Places &places : places_)
    file.factors_.push_back(multiply(places.sum, powerOf(read_ - places.end)));
}

//===----------------------------------------------------------------------===//
// Files of ranks
//===----------------------------------------------------------------------===//

PatchedGzip::PatchedGzip(unsigned groupDigits) : compressor_(std::make_unique<Compressor>(groupDigits)) {}
PatchedGzip::~PatchedGzip() = default;
PatchedGzip::PatchedGzip(PatchedGzip &&) noexcept = default;

void PatchedGzip::add(std::span<const char> bytes, std::span<const FieldPatch> patches,
                      std::span<const RankField> fields) {
  compressor_->add(bytes, patches, fields);
}

void PatchedGzip::finish() {
  compressor_->finish(*this);
  compressor_.reset();
}

uint32_t PatchedGzip::checksum(const FieldValues &values) const {
  uint32_t checksum = checksum_;
  for (uint32_t field = 0; field < factors_.size(); ++field) {
    if (factors_[field] == 0)
      continue;
    std::span<const char> value = values[field];
    auto bytes = static_cast<uInt>(value.size());
    uLong change = crc32(0, reinterpret_cast<const Bytef *>(value.data()), bytes) ^ crc32(0, kZeros, bytes);
    checksum ^= multiply(static_cast<uint32_t>(change), factors_[field]);
  }
  return checksum;
}

void PatchedGzip::append(size_t segment, const FieldValues &values, std::string &bytes) const {
  const Segment &from = segments_[segment];
  size_t start = bytes.size();
  bytes += from.bytes;
  for (const CodePatch &patch : from.patches) {
    auto value = static_cast<uint8_t>(values[patch.field][patch.byte]);
    uint32_t bits = uint32_t{detail::reverseBits((patch.code + value) & 0xffff, patch.length)} << patch.bit % 8;
    char *at = bytes.data() + start + patch.bit / 8;
    // Every segment ends with 4 bytes or more that are no part of a field.
    for (unsigned i = 0; i < 3; ++i)
      at[i] = static_cast<char>(at[i] | bits >> 8 * i);
  }
  if (segment + 1 == segments_.size())
    putLittleEndian(bytes.data() + bytes.size() - kTrailerBytes, checksum(values));
}

} // namespace stg
