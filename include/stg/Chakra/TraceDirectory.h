//===- TraceDirectory.h - a directory of Chakra files ----------------------===//
// Writes `<prefix>.<rank>.et` for every rank, or for those that are chosen, and, where
// groups are used, the group file. A rank's file is the image of its class with the
// rank's own fields.
//
// The directory of all ranks appears whole or not at all; of some ranks, each file
// does, and what else is there stays (Support/AtomicOutput.h): slices may be written
// by several processes at once.
//
// Images are held until all have come or kMostHeld bytes are there; then it is known
// how many bytes files will have, the free space is compared with that, and the ranks
// are written in parallel.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/ClassImage.h"
#include "stg/Chakra/PatchedGzip.h"
#include "stg/Chakra/RankChoice.h"
#include "stg/Support/AtomicOutput.h"
#include "stg/Support/Progress.h"
#include "llvm/Support/ThreadPool.h"
#include <mutex>

namespace stg {

/// All files in one folder, or in folders of a thousand ranks each: 000, 001, …
enum class FanOut : uint8_t { None, Thousands };
/// Files of the same bytes: each by itself, or one file with many names.
enum class SameFiles : uint8_t { Separate, Linked };
/// Whether the directory waits for the disk before it appears.
enum class DiskSync : uint8_t { None, BeforeCommit };

struct DirectoryOptions {
  RankChoice ranks = {};
  Compression compression = Compression::None;
  FanOut fanOut = FanOut::None;
  SameFiles sameFiles = SameFiles::Separate;
  DiskSync diskSync = DiskSync::BeforeCommit;
};

class TraceDirectory : public ImageSink {
public:
  /// Bytes of images that are held, about.
  static constexpr uint64_t kMostHeld = 64 << 20;

  /// Starts a directory at `path`. Ranks are written by `threads` threads; 0: as many as the machine has.
  static llvm::Expected<std::unique_ptr<TraceDirectory>> create(llvm::StringRef path, const DirectoryOptions &options,
                                                                unsigned threads);

  llvm::Error begin(const bundle::TraceInfo &trace) override;
  uint64_t ranksOf(uint32_t rankClass) const override { return classes_[rankClass].ranks.size(); }
  llvm::Error take(uint32_t rankClass, const ImageSegment &segment) override;
  llvm::Error end() override;
  llvm::Error commit() override;

private:
  struct Segment {
    std::vector<char> bytes;
    std::vector<bundle::FieldPatch> patches;
  };
  /// What is held of a class.
  struct Held {
    std::vector<uint32_t> ranks; ///< to be written, ascending until they are grouped
    std::vector<bundle::RankField> fields;
    std::vector<Segment> segments;
    std::unique_ptr<PatchedGzip> gzip; ///< held once it is finished
    uint64_t bytes = 0;                ///< of a file, so far held
    bool isBegun = false;              ///< files have been written in part
    bool isComplete = false;           ///< the last segment is there
    /// With links, by place in `ranks`: the file is the same as that of the rank before.
    std::vector<bool> sameAsBefore;
  };
  TraceDirectory(llvm::StringRef path, OutputDirectory directory, const DirectoryOptions &options, unsigned threads);
  llvm::Error flush();
  llvm::Error checkSpace();
  void groupSameFiles(Held &held) const;
  llvm::Error writeBatch(const Held &held, size_t first, size_t last);
  llvm::Error writeFiles(const Held &held, llvm::ArrayRef<uint32_t> ranks);
  llvm::Error writeCompressed(const Held &held, llvm::ArrayRef<uint32_t> ranks);
  llvm::Error writePiece(uint32_t rank, bool isFirst, llvm::StringRef bytes);
  std::string pathOf(llvm::StringRef file) const;
  std::string pathOf(uint32_t rank) const;

  OutputDirectory directory_;
  DirectoryOptions options_;
  llvm::DefaultThreadPool pool_;
  Progress progress_;
  const bundle::TraceInfo *trace_ = nullptr;
  std::vector<Held> classes_;

  std::mutex mutex_; ///< of what is held, while classes come from several threads
  uint64_t held_ = 0;
  uint64_t scheduled_ = 0; ///< bytes of files written or about to be
};

} // namespace stg
