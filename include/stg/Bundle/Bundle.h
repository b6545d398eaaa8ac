//===- Bundle.h - the traces of all ranks in one file -----------------------===//
// A bundle holds, for each class of ranks, the image that its ranks share, in
// segments, and where in it the rank's own fields stand. Any byte of any rank's file
// can be had at once, without the others. docs/bundle.md describes the file.
//
// The file is mapped, not read: memory in use is what the system keeps of it. All
// const member functions may be called from several threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/RankFields.h"
#include <memory>

namespace stg::bundle {

/// Name of the group file beside the ranks' files.
inline constexpr const char *kGroupFile = "comm_groups.json";

/// Why a bundle cannot be used: `path: what`, with the byte offset where that helps.
struct BundleError {
  enum class Kind {
    /// The file cannot be read (no such file, no permission).
    Unreadable,
    /// It is no bundle, of another version, cut short or damaged.
    Damaged,
  };
  Kind kind = Kind::Damaged;
  std::string what;
};

/// A part of an image. Segments of a class follow one another in the rank's file.
struct Segment {
  uint64_t start = 0; ///< in the rank's file
  uint64_t bytes = 0;
  uint64_t place = 0; ///< of its bytes in the bundle
  uint64_t patchPlace = 0;
  uint32_t patches = 0;
  uint32_t nodes = 0;    ///< that begin in it
  uint32_t checksum = 0; ///< CRC-32 of bytes, then patches
  uint32_t number = 0;   ///< among all segments of the bundle
};

struct RankClass {
  RankSet ranks;
  std::vector<RankField> fields;
  std::vector<Segment> segments;
  uint64_t fileBytes = 0;
  uint64_t nodes = 0;
};

/// The traces of one workload.
struct TraceInfo {
  /// Below the directory; empty: the directory itself.
  std::string folder;
  /// Files are `<prefix>.<rank>.et`.
  std::string prefix;
  uint32_t worldSize = 1;
  std::string mesh, programHash, producer;
  unsigned groupDigits = 1;
  std::vector<GroupFormula> groups;
  std::vector<RankClass> classes;
  /// numberOf(classDigits, rank) is the rank's class.
  std::vector<Digit> classDigits;
};

/// A segment as the first rank of its class has it.
struct SegmentImage {
  std::span<const char> bytes;
  std::span<const FieldPatch> patches;
};

class Bundle {
public:
  /// Maps a bundle and checks all but its segments. Nothing on failure; `error` says why.
  static std::unique_ptr<Bundle> open(const std::string &path, BundleError &error);
  ~Bundle();
  Bundle(const Bundle &) = delete;
  Bundle &operator=(const Bundle &) = delete;

  const std::vector<TraceInfo> &traces() const;

  /// `train.0007.et`-like name of a rank's file, without folder.
  static std::string fileName(const TraceInfo &trace, uint32_t rank);
  static const RankClass &classOf(const TraceInfo &trace, uint32_t rank);
  static uint64_t fileSize(const TraceInfo &trace, uint32_t rank) { return classOf(trace, rank).fileBytes; }

  /// Copies bytes of a rank's file from `offset` on into `into`; returns how many: fewer only at the end of the file,
  /// 0 behind it. Nothing if a segment that is needed is damaged: checksums are compared when a segment is first used.
  std::optional<size_t> read(const TraceInfo &trace, uint32_t rank, uint64_t offset, std::span<char> into,
                             BundleError &error) const;

  /// A segment of a class of the trace; nothing if it is damaged. What it refers to lives as long as the bundle.
  std::optional<SegmentImage> image(const TraceInfo &trace, const RankClass &rankClass, const Segment &segment,
                                    BundleError &error) const;

  /// The group file; empty where no rank communicates in a group. Made anew at each call.
  static std::string groupFile(const TraceInfo &trace);

  /// Compares all checksums; false with the first error.
  bool verify(BundleError &error) const;

private:
  struct Mapped;
  explicit Bundle(std::unique_ptr<Mapped> mapped);
  std::unique_ptr<Mapped> mapped_;
};

} // namespace stg::bundle
