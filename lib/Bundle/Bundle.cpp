//===- Bundle.cpp - the traces of all ranks in one file ---------------------===//
#include "stg/Bundle/Bundle.h"
#include "stg/Bundle/BundleFormat.h"
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stg::bundle {

struct Bundle::Mapped {
  std::string path;
  const char *bytes = nullptr;
  size_t size = 0;
  std::vector<TraceInfo> traces;
  enum State : uint8_t { Unseen, Good, Bad };
  /// By number of the segment.
  mutable std::vector<std::atomic<uint8_t>> states;

  ~Mapped() {
    if (bytes)
      munmap(const_cast<char *>(bytes), size);
  }

  std::span<const char> bytesOf(const Segment &segment) const { return {bytes + segment.place, segment.bytes}; }
  std::span<const FieldPatch> patchesOf(const Segment &segment) const {
    return {reinterpret_cast<const FieldPatch *>(bytes + segment.patchPlace), segment.patches};
  }

  BundleError damaged(const std::string &what) const { return {BundleError::Kind::Damaged, path + ": " + what}; }

  bool map(BundleError &error) {
    int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    auto unreadable = [&] {
      error = {BundleError::Kind::Unreadable, path + ": " + std::strerror(errno)};
      if (descriptor >= 0)
        close(descriptor);
      return false;
    };
    struct stat status;
    if (descriptor < 0 || fstat(descriptor, &status) != 0)
      return unreadable();
    if (S_ISDIR(status.st_mode)) {
      errno = EISDIR;
      return unreadable();
    }
    size = static_cast<size_t>(status.st_size);
    if (size != 0) {
      void *address = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
      if (address == MAP_FAILED)
        return unreadable();
      bytes = static_cast<const char *>(address);
    }
    close(descriptor);
    return true;
  }

  bool readIndex(BundleError &error) {
    auto fails = [&](const std::string &what) {
      error = damaged(what);
      return false;
    };
    constexpr size_t kNameBytes = 12; // `stgc bundle `
    if (size < kFirstLineBytes || std::memcmp(bytes, kFirstLine, kNameBytes) != 0)
      return fails("this is no bundle");
    if (std::memcmp(bytes, kFirstLine, kFirstLineBytes) != 0)
      return fails("this bundle is of a version that this program does not know; it reads version 1");
    Trailer trailer, expected;
    if (size < kFirstLineBytes + sizeof(Trailer))
      return fails("the bundle is cut short");
    std::memcpy(&trailer, bytes + size - sizeof(Trailer), sizeof(Trailer));
    if (std::memcmp(trailer.magic, expected.magic, sizeof(expected.magic)) != 0)
      return fails("the bundle is cut short: its last bytes are not the end of one");
    if (trailer.version != kVersion)
      return fails("this bundle is of version " + std::to_string(trailer.version) + "; this program reads version 1");
    uint64_t end = size - sizeof(Trailer);
    if (trailer.indexBytes > end || trailer.indexPlace != end - trailer.indexBytes)
      return fails("the bundle is damaged: its index is not where it should be");
    std::span<const char> index(bytes + trailer.indexPlace, trailer.indexBytes);
    if (checksumOf(index, {}) != trailer.indexChecksum)
      return fails("the bundle is damaged: the checksum of its index is wrong");
    std::string why;
    if (!decodeIndex(index, trailer.indexPlace, traces, why))
      return fails("the bundle is damaged: " + why);
    size_t segments = 0;
    for (const TraceInfo &trace : traces)
      for (const RankClass &each : trace.classes)
        segments += each.segments.size();
    states = std::vector<std::atomic<uint8_t>>(segments);
    return true;
  }

  /// Looked at once; who comes at the same time looks too.
  bool isGood(const RankClass &rankClass, const Segment &segment, unsigned groupDigits) const {
    std::atomic<uint8_t> &state = states[segment.number];
    uint8_t known = state.load(std::memory_order_acquire);
    if (known == Unseen) {
      known = isIntact(rankClass, segment, groupDigits) ? Good : Bad;
      state.store(known, std::memory_order_release);
    }
    return known == Good;
  }

  bool isIntact(const RankClass &rankClass, const Segment &segment, unsigned groupDigits) const {
    if (checksumOf(bytesOf(segment), patchesOf(segment)) != segment.checksum)
      return false;
    uint64_t end = 0;
    for (const FieldPatch &patch : patchesOf(segment)) {
      if (patch.field >= rankClass.fields.size() || patch.offset < end)
        return false;
      bool isRank = rankClass.fields[patch.field].isRank();
      end = uint64_t{patch.offset} + (isRank ? kRankFieldBytes : groupDigits);
      if (end > segment.bytes)
        return false;
    }
    return true;
  }

  BundleError badSegment(const Segment &segment) const {
    return damaged("the segment at byte " + std::to_string(segment.place) + " is damaged");
  }
};

Bundle::Bundle(std::unique_ptr<Mapped> mapped) : mapped_(std::move(mapped)) {}
Bundle::~Bundle() = default;

std::unique_ptr<Bundle> Bundle::open(const std::string &path, BundleError &error) {
  auto mapped = std::make_unique<Mapped>();
  mapped->path = path;
  if (!mapped->map(error) || !mapped->readIndex(error))
    return nullptr;
  return std::unique_ptr<Bundle>(new Bundle(std::move(mapped)));
}

const std::vector<TraceInfo> &Bundle::traces() const { return mapped_->traces; }

std::string Bundle::fileName(const TraceInfo &trace, uint32_t rank) {
  return trace.prefix + "." + std::to_string(rank) + ".et";
}

const RankClass &Bundle::classOf(const TraceInfo &trace, uint32_t rank) {
  return trace.classes[numberOf(trace.classDigits, rank)];
}

std::optional<size_t> Bundle::read(const TraceInfo &trace, uint32_t rank, uint64_t offset, std::span<char> into,
                                   BundleError &error) const {
  const RankClass &rankClass = classOf(trace, rank);
  if (offset >= rankClass.fileBytes || into.empty())
    return 0;
  FieldValues values(rankClass.fields, trace.groups, trace.groupDigits);
  values.select(rank);
  // The last segment that does not begin behind the offset.
  auto segment = std::partition_point(rankClass.segments.begin(), rankClass.segments.end(),
                                      [&](const Segment &each) { return each.start + each.bytes <= offset; });
  size_t done = 0;
  for (; segment != rankClass.segments.end() && done < into.size(); ++segment) {
    if (!mapped_->isGood(rankClass, *segment, trace.groupDigits)) {
      error = mapped_->badSegment(*segment);
      return std::nullopt;
    }
    uint64_t from = offset + done - segment->start;
    std::span<char> piece = into.subspan(done, std::min<uint64_t>(segment->bytes - from, into.size() - done));
    std::memcpy(piece.data(), mapped_->bytes + segment->place + from, piece.size());
    values.apply(mapped_->patchesOf(*segment), piece, from);
    done += piece.size();
  }
  return done;
}

std::optional<SegmentImage> Bundle::image(const TraceInfo &trace, const RankClass &rankClass, const Segment &segment,
                                          BundleError &error) const {
  if (!mapped_->isGood(rankClass, segment, trace.groupDigits)) {
    error = mapped_->badSegment(segment);
    return std::nullopt;
  }
  return SegmentImage{mapped_->bytesOf(segment), mapped_->patchesOf(segment)};
}

std::string Bundle::groupFile(const TraceInfo &trace) {
  std::string whole, piece;
  GroupFileText text(trace.groups, trace.groupDigits);
  while (text.next(piece))
    whole += piece;
  return whole;
}

bool Bundle::verify(BundleError &error) const {
  for (const TraceInfo &trace : mapped_->traces)
    for (const RankClass &rankClass : trace.classes)
      for (const Segment &segment : rankClass.segments)
        if (!mapped_->isGood(rankClass, segment, trace.groupDigits)) {
          error = mapped_->badSegment(segment);
          return false;
        }
  return true;
}

} // namespace stg::bundle
