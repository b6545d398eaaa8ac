//===- TraceDirectory.cpp - a directory of Chakra files --------------------===//
#include "stg/Chakra/TraceDirectory.h"
#include <mutex>

namespace stg {

llvm::Expected<std::unique_ptr<TraceDirectory>> TraceDirectory::create(llvm::StringRef path, Compression compression,
                                                                       unsigned threads) {
  llvm::Expected<OutputDirectory> directory = OutputDirectory::create(
      path, [](llvm::StringRef name) { return name.ends_with(".et") || name.ends_with(".json"); });
  if (!directory)
    return directory.takeError();
  return std::unique_ptr<TraceDirectory>(new TraceDirectory(std::move(*directory), compression, threads));
}

TraceDirectory::TraceDirectory(OutputDirectory directory, Compression compression, unsigned threads)
    : directory_(std::move(directory)), pool_(llvm::hardware_concurrency(threads)), compression_(compression) {}

std::string TraceDirectory::pathOf(llvm::StringRef file) const {
  return trace_->folder.empty() ? file.str() : trace_->folder + "/" + file.str();
}

llvm::Error TraceDirectory::begin(const bundle::TraceInfo &trace) {
  trace_ = &trace;
  compressed_.clear();
  compressed_.resize(trace.classes.size());
  return llvm::Error::success();
}

llvm::Error TraceDirectory::take(uint32_t rankClass, const ImageSegment &segment) {
  uint64_t ranks = trace_->classes[rankClass].ranks.size();
  if (compression_ == Compression::None)
    return inBatches(ranks,
                     [&](uint64_t first, uint64_t last) { return writeSegment(rankClass, segment, first, last); });
  std::unique_ptr<PatchedGzip> &file = compressed_[rankClass];
  if (!file)
    file = std::make_unique<PatchedGzip>(trace_->groupDigits);
  file->add(segment.bytes, segment.patches, segment.fields);
  if (!segment.isLast)
    return llvm::Error::success();
  file->finish();
  llvm::Error error = inBatches(
      ranks, [&](uint64_t first, uint64_t last) { return writeCompressed(rankClass, segment.fields, first, last); });
  file.reset();
  return error;
}

/// Ranks in batches, in parallel; the first failure stops the rest.
llvm::Error TraceDirectory::inBatches(uint64_t ranks,
                                      llvm::function_ref<llvm::Error(uint64_t first, uint64_t last)> write) {
  constexpr uint64_t kBatch = 64;
  if (ranks <= kBatch)
    return write(0, ranks);
  std::mutex mutex;
  llvm::Error failure = llvm::Error::success();
  std::atomic<bool> failed = false;
  llvm::ThreadPoolTaskGroup batches(pool_);
  for (uint64_t first = 0; first < ranks; first += kBatch)
    batches.async([&, first] {
      if (failed)
        return;
      llvm::Error error = write(first, std::min(first + kBatch, ranks));
      if (!error)
        return;
      failed = true;
      std::lock_guard lock(mutex);
      failure = llvm::joinErrors(std::move(failure), std::move(error));
    });
  batches.wait();
  return failure;
}

llvm::Error TraceDirectory::writeSegment(uint32_t rankClass, const ImageSegment &segment, uint64_t first,
                                         uint64_t last) const {
  bundle::FieldValues values(segment.fields, trace_->groups, trace_->groupDigits);
  std::vector<char> bytes(segment.bytes.begin(), segment.bytes.end());
  for (uint64_t i = first; i < last; ++i) {
    uint32_t rank = trace_->classes[rankClass].ranks.at(i);
    values.select(rank);
    values.apply(segment.patches, bytes);
    std::string path = pathOf(bundle::Bundle::fileName(*trace_, rank));
    llvm::StringRef piece(bytes.data(), bytes.size());
    if (llvm::Error error = segment.start == 0 ? directory_.writeFile(path, piece) : directory_.appendFile(path, piece))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error TraceDirectory::writeCompressed(uint32_t rankClass, llvm::ArrayRef<bundle::RankField> fields,
                                            uint64_t first, uint64_t last) const {
  const PatchedGzip &file = *compressed_[rankClass];
  bundle::FieldValues values(fields, trace_->groups, trace_->groupDigits);
  std::string piece;
  for (uint64_t i = first; i < last; ++i) {
    uint32_t rank = trace_->classes[rankClass].ranks.at(i);
    values.select(rank);
    std::string path = pathOf(bundle::Bundle::fileName(*trace_, rank));
    bool isBegun = false;
    for (size_t segment = 0; segment < file.segments(); ++segment) {
      file.append(segment, values, piece);
      if (piece.size() < kSegmentBytes && segment + 1 < file.segments())
        continue;
      if (llvm::Error error = isBegun ? directory_.appendFile(path, {piece}) : directory_.writeFile(path, {piece}))
        return error;
      isBegun = true;
      piece.clear();
    }
  }
  return llvm::Error::success();
}

llvm::Error TraceDirectory::end() {
  bundle::GroupFileText text(trace_->groups, trace_->groupDigits);
  std::string piece, path = pathOf(bundle::kGroupFile);
  for (bool isFirst = true; text.next(piece); isFirst = false)
    if (llvm::Error error = isFirst ? directory_.writeFile(path, {piece}) : directory_.appendFile(path, {piece}))
      return error;
  return llvm::Error::success();
}

} // namespace stg
