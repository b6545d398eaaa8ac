//===- EmitProgram.cpp - a program as a directory of Chakra files -----------===//

#include "stg/Chakra/EmitProgram.h"
#include "fmt/format.h"
#include "stg/Chakra/TraceWriter.h"
#include "stg/IR/Printer.h"
#include "stg/Trace/Unroll.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <mutex>
#include <optional>

namespace stg {
namespace {

/// The image of a class with the groups and peers of one rank after the other.
class RankImage {
public:
  RankImage(const NodeEncoder &encoder, const ProcessGroups &groups, uint32_t firstRank)
      : encoder_(encoder), groups_(groups), firstRank_(firstRank), bytes_(encoder.bytes()),
        names_(groups.kinds().size()) {}

  llvm::StringRef of(uint32_t rank) {
    // A class need not have groups of every kind.
    for (std::string &name : names_)
      name.clear();
    for (const GroupPatch &patch : encoder_.patches()) {
      std::string &name = names_[patch.kind];
      if (name.empty())
        name = groupName(groups_.idOf(patch.kind, rank), groups_.digits());
      bytes_.replace(patch.offset, name.size(), name);
    }
    for (const PeerPatch &patch : encoder_.peers())
      putPeer(bytes_.data() + patch.offset, patch.rank + (rank - firstRank_));
    return bytes_;
  }

private:
  const NodeEncoder &encoder_;
  const ProcessGroups &groups_;
  uint32_t firstRank_;
  std::string bytes_;
  std::vector<std::string> names_;
};

/// `ranks`: those of one class.
llvm::Error writeRanks(const TraceWriter &writer, llvm::ArrayRef<uint32_t> ranks, const TraceMetadata &metadata,
                       const NodeEncoder &encoder, const ProcessGroups &groups, unsigned threads) {
  // Ranks in batches, in parallel; the first failure stops the rest.
  constexpr size_t kBatch = 64;
  std::mutex mutex;
  std::optional<llvm::Error> failure;
  auto writeBatch = [&](size_t first) {
    TraceMetadata own = metadata;
    // Ranks without groups share the image itself.
    std::optional<RankImage> image;
    if (!encoder.patches().empty() || !encoder.peers().empty())
      image.emplace(encoder, groups, ranks.front());
    for (uint32_t rank : ranks.slice(first, std::min(ranks.size() - first, kBatch))) {
      own.rank = rank;
      {
        std::lock_guard lock(mutex);
        if (failure)
          return;
      }
      llvm::Error error = writer.writeRank(own, image ? image->of(own.rank) : encoder.bytes());
      if (!error)
        continue;
      std::lock_guard lock(mutex);
      if (failure)
        llvm::consumeError(std::move(error));
      else
        failure.emplace(std::move(error));
      return;
    }
  };
  if (ranks.size() <= kBatch) {
    writeBatch(0);
  } else {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
    for (size_t first = 0; first < ranks.size(); first += kBatch)
      pool.async([&writeBatch, first] { writeBatch(first); });
    pool.wait();
  }
  if (failure)
    return std::move(*failure);
  return llvm::Error::success();
}

llvm::Error writeGroups(const TraceWriter &writer, const ProcessGroups &groups) {
  if (groups.empty())
    return llvm::Error::success();
  return writer.writeGroups(groups.list(), groups.digits());
}

} // namespace

uint64_t EmitSummary::ranks() const {
  uint64_t sum = 0;
  for (const EmittedClass &each : classes)
    sum += each.ranks;
  return sum;
}

TraceMetadata metadataOf(const Program &program, const ProcessGroups &groups, llvm::StringRef compilerVersion) {
  TraceMetadata metadata{.compilerVersion = compilerVersion.str(),
                         .worldSize = static_cast<uint32_t>(program.mesh.ranks())};
  for (const MeshAxis &axis : program.mesh.axes)
    metadata.mesh += fmt::format("{}{} {}", metadata.mesh.empty() ? "" : " x ", axis.name, axis.size);
  if (metadata.mesh.empty())
    metadata.mesh = "one rank";
  for (const GroupKind &kind : groups.kinds())
    metadata.groupKinds += (metadata.groupKinds.empty() ? "" : " ") + kind.axes;
  metadata.groupStride = groups.stride();
  metadata.programHash = fmt::format("{:016x}", llvm::xxh3_64bits(toString(program)));
  return metadata;
}

Outcome emitPrograms(llvm::MutableArrayRef<TraceOutput> outputs, const EmitOptions &options, PassStats &stats,
                     Diagnostics &diags) {
  auto failed = [&](llvm::Error error) {
    llvm::handleAllErrors(std::move(error), [&](const OutputError &output) {
      diags.report(diag::OutputUnwritable{.path = output.path(), .reason = output.what()});
    });
    return Outcome::Failed;
  };
  UnrollOptions unrolling{.detail =
                              options.annotate == Annotate::Full ? UnrollDetail::Annotations : UnrollDetail::Costs,
                          .target = options.target};
  // Opened when the first program is encoded: a program that cannot be traced touches no disk.
  std::optional<TraceWriter> writer;
  for (TraceOutput &output : outputs) {
    ProcessGroups groups(*output.program);
    std::unique_ptr<Unroller> unroller = Unroller::create(*output.program, groups, unrolling, stats, diags);
    if (!unroller)
      return Outcome::Failed;
    TraceMetadata metadata = metadataOf(*output.program, groups, options.compilerVersion);
    if (!writer) {
      llvm::Expected<TraceWriter> opened = TraceWriter::create(options.directory, output.prefix);
      if (!opened)
        return failed(opened.takeError());
      writer.emplace(std::move(*opened));
    }
    writer->select(output.folder, output.prefix);
    NodeEncoder encoder({.annotate = options.annotate, .orderDeps = options.orderDeps, .groupDigits = groups.digits()});
    output.summary = {};
    for (uint32_t rankClass = 0; rankClass < unroller->classes(); ++rankClass) {
      encoder.clear();
      unroller->run(rankClass, [&](const TraceNode &node) { encoder.append(node); });
      std::vector<uint32_t> ranks = ranksOf(*output.program, rankClass);
      output.summary.classes.push_back({.ranks = ranks.size(),
                                        .nodesPerRank = encoder.nodes(),
                                        .bytesPerRank = encodeMetadata(metadata).size() + encoder.bytes().size()});
      if (llvm::Error error = writeRanks(*writer, ranks, metadata, encoder, groups, options.threads))
        return failed(std::move(error));
    }
    if (llvm::Error error = writeGroups(*writer, groups))
      return failed(std::move(error));
  }
  if (writer)
    if (llvm::Error error = writer->commit())
      return failed(std::move(error));
  return Outcome::Done;
}

Outcome emitProgram(const Program &program, const EmitOptions &options, EmitSummary &summary, PassStats &stats,
                    Diagnostics &diags) {
  TraceOutput output{.program = &program, .folder = {}, .prefix = options.prefix};
  Outcome outcome = emitPrograms(output, options, stats, diags);
  summary = output.summary;
  return outcome;
}

} // namespace stg
