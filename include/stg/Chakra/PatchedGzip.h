//===- PatchedGzip.h - gzip files of many ranks, compressed once ------------===//
// Ranks of a class have files that differ in a few fields (Bundle/RankFields.h). Their
// gzip files do too: the image is compressed once, with the fields left open, and a
// rank's file is the compressed image with some bits filled in and its own checksum.
// Nothing is compressed again for a rank.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/RankFields.h"
#include <memory>
#include <string>
#include <vector>

namespace stg {

/// Of the files of a trace set.
enum class Compression : uint8_t { None, Gzip };

/// A byte of a field in compressed bits: byte value v has the code `code + v` (16 bits) of `length` bits, the highest
/// bit first. Bits of a byte count from its lowest.
struct CodePatch {
  uint32_t bit = 0; ///< in its segment
  uint32_t field = 0;
  uint16_t code = 0;
  uint8_t byte = 0; ///< of the field
  uint8_t length = 0;
};

/// A class image as a gzip member. Memory: the compressed image, and about 2 MB while it is made.
class PatchedGzip {
public:
  /// `groupDigits`: of the ids of groups.
  explicit PatchedGzip(unsigned groupDigits);
  ~PatchedGzip();
  PatchedGzip(PatchedGzip &&) noexcept;

  /// Appends a segment of the image. `patches` are those of the segment, ascending, each field whole; what stands in
  /// the fields does not matter. `fields` are all of the class, or at least those seen so far.
  void add(std::span<const char> bytes, std::span<const bundle::FieldPatch> patches,
           std::span<const bundle::RankField> fields);
  /// Called once, behind the last segment.
  void finish();

  /// After finish(). Bytes of each rank's file.
  uint64_t fileBytes() const { return fileBytes_; }
  /// Parts of the file, to be written one after the other.
  size_t segments() const { return segments_.size(); }
  /// Appends a segment of the file of the rank that is selected in `values`.
  void append(size_t segment, const bundle::FieldValues &values, std::string &bytes) const;

private:
  struct Segment {
    std::string bytes;
    std::vector<CodePatch> patches;
  };
  class Compressor;
  uint32_t checksum(const bundle::FieldValues &values) const;

  std::unique_ptr<Compressor> compressor_; ///< until finish()
  std::vector<Segment> segments_;
  uint64_t fileBytes_ = 0;
  /// Of the image with zeros in its fields.
  uint32_t checksum_ = 0;
  /// By field, what a change of its bytes is multiplied by to change the checksum.
  std::vector<uint32_t> factors_;
};

} // namespace stg
