//===- BundleWriter.h - the traces of all ranks into one file ---------------===//
// Segments go into the file as they come, the index behind them (Bundle/BundleFormat.h).
// Classes follow one another: a class whose turn it is not yet waits with what it has,
// so that no byte depends on the number of threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/ClassImage.h"
#include "stg/Support/AtomicOutput.h"
#include <condition_variable>
#include <mutex>

namespace stg {

class BundleWriter : public ImageSink {
public:
  static llvm::Expected<std::unique_ptr<BundleWriter>> create(llvm::StringRef path);

  llvm::Error begin(const bundle::TraceInfo &trace) override;
  uint64_t ranksOf(uint32_t rankClass) const override { return traces_.back().classes[rankClass].ranks.size(); }
  llvm::Error take(uint32_t rankClass, const ImageSegment &segment) override;
  llvm::Error end() override;
  llvm::Error commit() override;

private:
  explicit BundleWriter(OutputFile file) : file_(std::move(file)) {}

  /// A segment of a class that waits for its turn.
  struct Waiting {
    std::vector<char> bytes;
    std::vector<bundle::FieldPatch> patches;
    uint64_t nodes;
  };
  llvm::Error write(uint32_t rankClass, llvm::ArrayRef<char> bytes, llvm::ArrayRef<bundle::FieldPatch> patches,
                    uint64_t nodes);
  llvm::Error writeAligned(llvm::StringRef bytes);

  OutputFile file_;
  std::vector<bundle::TraceInfo> traces_;

  std::mutex mutex_;
  std::condition_variable turnChanged_;
  uint32_t turn_ = 0;
  bool failed_ = false;
  std::vector<std::vector<Waiting>> waiting_; ///< by class
};

} // namespace stg
