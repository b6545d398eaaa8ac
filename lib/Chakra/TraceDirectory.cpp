//===- TraceDirectory.cpp - a directory of Chakra files --------------------===//
#include "stg/Chakra/TraceDirectory.h"
#include "fmt/format.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

llvm::Expected<std::unique_ptr<TraceDirectory>>
TraceDirectory::create(llvm::StringRef path, const DirectoryOptions &options, unsigned threads) {
  llvm::Expected<OutputDirectory> directory =
      options.ranks.isAll()
          ? OutputDirectory::create(
                path, [](llvm::StringRef name) { return name.ends_with(".et") || name.ends_with(".json"); })
          : OutputDirectory::createSlice(path);
  if (!directory)
    return directory.takeError();
  return std::unique_ptr<TraceDirectory>(new TraceDirectory(path, std::move(*directory), options, threads));
}

TraceDirectory::TraceDirectory(llvm::StringRef path, OutputDirectory directory, const DirectoryOptions &options,
                               unsigned threads)
    : directory_(std::move(directory)), options_(options), pool_(llvm::hardware_concurrency(threads)),
      progress_("writing " + path.str()) {}

std::string TraceDirectory::pathOf(llvm::StringRef file) const {
  return trace_->folder.empty() ? file.str() : trace_->folder + "/" + file.str();
}

std::string TraceDirectory::pathOf(uint32_t rank) const {
  std::string name = bundle::Bundle::fileName(*trace_, rank);
  if (options_.fanOut == FanOut::Thousands)
    name = fmt::format("{:03}/{}", rank / 1000, name);
  return pathOf(name);
}

llvm::Error TraceDirectory::begin(const bundle::TraceInfo &trace) {
  trace_ = &trace;
  std::vector<RankRange> ranges = options_.ranks.in(trace.worldSize);
  if (options_.ranks.isAll())
    ranges = {{0, trace.worldSize - 1}};
  classes_.clear();
  classes_.resize(trace.classes.size());
  for (size_t i = 0; i < classes_.size(); ++i)
    classes_[i].ranks = chosenRanks(ranges, trace.classes[i].ranks);
  return llvm::Error::success();
}

llvm::Error TraceDirectory::take(uint32_t rankClass, const ImageSegment &segment) {
  Held &held = classes_[rankClass];
  if (options_.compression == Compression::Gzip) {
    // Of this thread alone until it is complete.
    if (segment.start == 0)
      held.gzip = std::make_unique<PatchedGzip>(trace_->groupDigits);
    held.gzip->add(segment.bytes, segment.patches, segment.fields);
    if (!segment.isLast)
      return llvm::Error::success();
    held.gzip->finish();
  }
  std::lock_guard lock(mutex_);
  held.fields = segment.fields.vec();
  held.isComplete = segment.isLast;
  uint64_t bytes = segment.bytes.size();
  if (held.gzip)
    bytes = held.gzip->fileBytes();
  else
    held.segments.push_back({segment.bytes.vec(), segment.patches.vec()});
  held.bytes += bytes;
  held_ += bytes;
  return held_ >= kMostHeld ? flush() : llvm::Error::success();
}

/// Ranks whose fields agree stand together.
void TraceDirectory::groupSameFiles(Held &held) const {
  bundle::FieldValues values(held.fields, trace_->groups, trace_->groupDigits);
  std::vector<std::pair<std::string, uint32_t>> keys;
  for (uint32_t rank : held.ranks) {
    values.select(rank);
    std::string key;
    for (uint32_t field = 0; field < held.fields.size(); ++field)
      key.append(values[field].begin(), values[field].end());
    keys.emplace_back(std::move(key), rank);
  }
  llvm::sort(keys);
  for (size_t i = 0; i < keys.size(); ++i) {
    held.ranks[i] = keys[i].second;
    held.sameAsBefore.push_back(i != 0 && keys[i].first == keys[i - 1].first);
  }
}

llvm::Error TraceDirectory::checkSpace() {
  std::optional<FreeSpace> free = directory_.freeSpace();
  if (!free)
    return llvm::Error::success();
  uint64_t needed = 0;
  for (const Held &held : classes_) {
    uint64_t blocks = (held.bytes + free->blockBytes - 1) / free->blockBytes;
    needed += blocks * free->blockBytes * (held.ranks.size() - llvm::count(held.sameAsBefore, true));
  }
  if (needed <= free->bytes)
    return llvm::Error::success();
  return directory_.error(fmt::format("No space left on device: the next files take {}, and {} are free",
                                      bytesText(needed), bytesText(free->bytes)));
}

/// Writes what is held of all classes.
llvm::Error TraceDirectory::flush() {
  bool isAll = true;
  for (Held &held : classes_) {
    // Of a file that comes in parts, later fields may tell ranks apart.
    if (options_.sameFiles == SameFiles::Linked && held.isComplete && !held.isBegun && held.bytes != 0)
      groupSameFiles(held);
    isAll &= held.isComplete || held.ranks.empty();
    scheduled_ += held.bytes * (held.ranks.size() - llvm::count(held.sameAsBefore, true));
  }
  if (llvm::Error error = checkSpace())
    return error;
  progress_.setTotal(isAll ? scheduled_ : 0);

  // Ranks in batches, in parallel; the first failure stops the rest.
  constexpr size_t kBatch = 64;
  std::mutex mutex;
  llvm::Error failure = llvm::Error::success();
  std::atomic<bool> failed = false;
  llvm::ThreadPoolTaskGroup batches(pool_);
  for (Held &held : classes_) {
    if (held.bytes == 0)
      continue;
    for (size_t first = 0, last = 0; first < held.ranks.size(); first = last) {
      last = std::min(first + kBatch, held.ranks.size());
      while (last < held.sameAsBefore.size() && held.sameAsBefore[last])
        ++last;
      batches.async([&, first, last] {
        if (failed)
          return;
        llvm::Error error = writeBatch(held, first, last);
        if (!error)
          return;
        failed = true;
        std::lock_guard lock(mutex);
        failure = llvm::joinErrors(std::move(failure), std::move(error));
      });
    }
  }
  batches.wait();

  for (Held &held : classes_) {
    if (held.bytes == 0)
      continue;
    held.segments.clear();
    held.gzip.reset();
    held.sameAsBefore.clear();
    held.bytes = 0;
    held.isBegun = true;
  }
  held_ = 0;
  return failure;
}

llvm::Error TraceDirectory::writeBatch(const Held &held, size_t first, size_t last) {
  auto write = [&](llvm::ArrayRef<uint32_t> ranks) {
    return held.gzip ? writeCompressed(held, ranks) : writeFiles(held, ranks);
  };
  llvm::ArrayRef<uint32_t> all(held.ranks);
  if (held.sameAsBefore.empty())
    return write(all.slice(first, last - first));
  llvm::SmallVector<uint32_t> own;
  for (size_t i = first; i < last; ++i)
    if (!held.sameAsBefore[i])
      own.push_back(all[i]);
  if (llvm::Error error = write(own))
    return error;
  uint32_t linked = all[first];
  for (size_t i = first; i < last; ++i) {
    if (!held.sameAsBefore[i]) {
      linked = all[i];
      continue;
    }
    if (directory_.linkFile(pathOf(linked), pathOf(all[i])))
      continue;
    // A file system without links, or one that has no more for this file (ext4: 65,000): the next begin anew.
    if (llvm::Error error = write(all[i]))
      return error;
    linked = all[i];
  }
  return llvm::Error::success();
}

llvm::Error TraceDirectory::writeFiles(const Held &held, llvm::ArrayRef<uint32_t> ranks) {
  bundle::FieldValues values(held.fields, trace_->groups, trace_->groupDigits);
  std::vector<char> bytes;
  bool isFirst = !held.isBegun;
  for (const Segment &segment : held.segments) {
    bytes = segment.bytes;
    for (uint32_t rank : ranks) {
      values.select(rank);
      values.apply(segment.patches, bytes);
      if (llvm::Error error = writePiece(rank, isFirst, {bytes.data(), bytes.size()}))
        return error;
    }
    isFirst = false;
  }
  return llvm::Error::success();
}

llvm::Error TraceDirectory::writeCompressed(const Held &held, llvm::ArrayRef<uint32_t> ranks) {
  bundle::FieldValues values(held.fields, trace_->groups, trace_->groupDigits);
  std::string piece;
  for (uint32_t rank : ranks) {
    values.select(rank);
    bool isFirst = true;
    for (size_t segment = 0; segment < held.gzip->segments(); ++segment) {
      held.gzip->append(segment, values, piece);
      if (piece.size() < kSegmentBytes && segment + 1 < held.gzip->segments())
        continue;
      if (llvm::Error error = writePiece(rank, isFirst, piece))
        return error;
      isFirst = false;
      piece.clear();
    }
  }
  return llvm::Error::success();
}

llvm::Error TraceDirectory::writePiece(uint32_t rank, bool isFirst, llvm::StringRef bytes) {
  std::string path = pathOf(rank);
  progress_.add(bytes.size());
  return isFirst ? directory_.writeFile(path, {bytes}) : directory_.appendFile(path, {bytes});
}

llvm::Error TraceDirectory::end() {
  if (llvm::Error error = flush())
    return error;
  bundle::GroupFileText text(trace_->groups, trace_->groupDigits);
  std::string piece, path = pathOf(bundle::kGroupFile);
  for (bool isFirst = true; text.next(piece); isFirst = false)
    if (llvm::Error error = isFirst ? directory_.writeFile(path, {piece}) : directory_.appendFile(path, {piece}))
      return error;
  return llvm::Error::success();
}

llvm::Error TraceDirectory::commit() {
  progress_.wipe();
  if (options_.diskSync == DiskSync::BeforeCommit)
    if (llvm::Error error = directory_.sync())
      return error;
  return directory_.commit();
}

} // namespace stg
