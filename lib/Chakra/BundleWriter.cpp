//===- BundleWriter.cpp - the traces of all ranks into one file -------------===//
#include "stg/Chakra/BundleWriter.h"
#include "stg/Bundle/BundleFormat.h"

namespace stg {

/// A class waits with no more than so many segments; with the next one it waits for its turn.
constexpr size_t kMostWaiting = 16;

llvm::Expected<std::unique_ptr<BundleWriter>> BundleWriter::create(llvm::StringRef path) {
  llvm::Expected<OutputFile> file = OutputFile::create(path);
  if (!file)
    return file.takeError();
  std::unique_ptr<BundleWriter> writer(new BundleWriter(std::move(*file)));
  if (llvm::Error error = writer->writeAligned({bundle::kFirstLine, bundle::kFirstLineBytes}))
    return error;
  return writer;
}

llvm::Error BundleWriter::writeAligned(llvm::StringRef bytes) {
  constexpr char kZeros[bundle::kAlignment] = {};
  size_t rest = (file_.size() + bytes.size()) % bundle::kAlignment;
  return file_.write({bytes, {kZeros, rest == 0 ? 0 : bundle::kAlignment - rest}});
}

llvm::Error BundleWriter::begin(const bundle::TraceInfo &trace) {
  traces_.push_back(trace);
  waiting_.assign(trace.classes.size(), {});
  turn_ = 0;
  return llvm::Error::success();
}

llvm::Error BundleWriter::take(uint32_t rankClass, const ImageSegment &segment) {
  std::unique_lock lock(mutex_);
  std::vector<Waiting> &waiting = waiting_[rankClass];
  if (turn_ != rankClass && !segment.isLast && waiting.size() < kMostWaiting) {
    waiting.push_back({segment.bytes.vec(), segment.patches.vec(), segment.nodes});
    return llvm::Error::success();
  }
  turnChanged_.wait(lock, [&] { return turn_ == rankClass || failed_; });
  if (failed_)
    return llvm::Error::success(); // whoever failed says why
  auto writeAll = [&]() -> llvm::Error {
    for (const Waiting &each : waiting)
      if (llvm::Error error = write(rankClass, each.bytes, each.patches, each.nodes))
        return error;
    waiting.clear();
    return write(rankClass, segment.bytes, segment.patches, segment.nodes);
  };
  llvm::Error error = writeAll();
  failed_ = bool(error);
  if (segment.isLast) {
    traces_.back().classes[rankClass].fields = segment.fields.vec();
    ++turn_;
  }
  turnChanged_.notify_all();
  return error;
}

llvm::Error BundleWriter::write(uint32_t rankClass, llvm::ArrayRef<char> bytes,
                                llvm::ArrayRef<bundle::FieldPatch> patches, uint64_t nodes) {
  bundle::RankClass &own = traces_.back().classes[rankClass];
  bundle::Segment &segment = own.segments.emplace_back();
  segment.start = own.fileBytes;
  segment.bytes = bytes.size();
  segment.patches = static_cast<uint32_t>(patches.size());
  segment.nodes = static_cast<uint32_t>(nodes);
  segment.checksum = bundle::checksumOf(bytes, patches);
  own.fileBytes += bytes.size();
  own.nodes += nodes;
  segment.place = file_.size();
  if (llvm::Error error = writeAligned({bytes.data(), bytes.size()}))
    return error;
  segment.patchPlace = file_.size();
  return writeAligned({reinterpret_cast<const char *>(patches.data()), patches.size() * sizeof(bundle::FieldPatch)});
}

llvm::Error BundleWriter::end() { return llvm::Error::success(); }

llvm::Error BundleWriter::commit() {
  std::string index = bundle::encodeIndex(traces_);
  bundle::Trailer trailer;
  trailer.indexPlace = file_.size();
  trailer.indexBytes = index.size();
  trailer.indexChecksum = bundle::checksumOf(index, {});
  if (llvm::Error error = file_.write({index, {reinterpret_cast<const char *>(&trailer), sizeof(trailer)}}))
    return error;
  return file_.commit();
}

} // namespace stg
