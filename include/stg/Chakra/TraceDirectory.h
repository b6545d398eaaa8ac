//===- TraceDirectory.h - a directory of Chakra files ----------------------===//
// Writes `<prefix>.<rank>.et` for every rank and, where groups are used, the group
// file. The directory appears whole or not at all (Support/AtomicOutput.h). A rank's
// file is the image of its class with the rank's own fields: as the segments of the
// image come or, compressed, when the last has come.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/ClassImage.h"
#include "stg/Chakra/PatchedGzip.h"
#include "stg/Support/AtomicOutput.h"
#include "llvm/Support/ThreadPool.h"

namespace stg {

class TraceDirectory : public ImageSink {
public:
  /// Starts a directory at `path`. Ranks are written by `threads` threads; 0: as many as the machine has.
  static llvm::Expected<std::unique_ptr<TraceDirectory>> create(llvm::StringRef path, Compression compression,
                                                                unsigned threads);

  llvm::Error begin(const bundle::TraceInfo &trace) override;
  llvm::Error take(uint32_t rankClass, const ImageSegment &segment) override;
  llvm::Error end() override;
  llvm::Error commit() override { return directory_.commit(); }

private:
  TraceDirectory(OutputDirectory directory, Compression compression, unsigned threads);
  llvm::Error inBatches(uint64_t ranks, llvm::function_ref<llvm::Error(uint64_t first, uint64_t last)> write);
  llvm::Error writeSegment(uint32_t rankClass, const ImageSegment &segment, uint64_t first, uint64_t last) const;
  llvm::Error writeCompressed(uint32_t rankClass, llvm::ArrayRef<bundle::RankField> fields, uint64_t first,
                              uint64_t last) const;
  std::string pathOf(llvm::StringRef file) const;

  OutputDirectory directory_;
  llvm::DefaultThreadPool pool_;
  Compression compression_;
  const bundle::TraceInfo *trace_ = nullptr;
  /// By class, those of which not all segments have come.
  std::vector<std::unique_ptr<PatchedGzip>> compressed_;
};

} // namespace stg
