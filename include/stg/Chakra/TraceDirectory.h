//===- TraceDirectory.h - a directory of Chakra files ----------------------===//
// Writes `<prefix>.<rank>.et` for every rank and, where groups are used, the group
// file. The directory appears whole or not at all (Support/AtomicOutput.h). A rank's
// file is the image of its class with the rank's own fields.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/ClassImage.h"
#include "stg/Support/AtomicOutput.h"
#include "llvm/Support/ThreadPool.h"

namespace stg {

class TraceDirectory : public ImageSink {
public:
  /// Starts a directory at `path`. Ranks are written by `threads` threads; 0: as many as the machine has.
  static llvm::Expected<std::unique_ptr<TraceDirectory>> create(llvm::StringRef path, unsigned threads);

  llvm::Error begin(const bundle::TraceInfo &trace) override;
  llvm::Error take(uint32_t rankClass, const ImageSegment &segment) override;
  llvm::Error end() override;
  llvm::Error commit() override { return directory_.commit(); }

private:
  TraceDirectory(OutputDirectory directory, unsigned threads);
  llvm::Error writeRanks(uint32_t rankClass, const ImageSegment &segment, uint64_t first, uint64_t last) const;
  std::string pathOf(llvm::StringRef file) const;

  OutputDirectory directory_;
  llvm::DefaultThreadPool pool_;
  const bundle::TraceInfo *trace_ = nullptr;
};

} // namespace stg
