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

llvm::Error writeRanks(const EmitOptions &options, TraceMetadata metadata, llvm::StringRef nodes) {
  llvm::Expected<TraceWriter> writer = TraceWriter::create(options.directory, options.prefix);
  if (!writer)
    return writer.takeError();
  // Ranks in batches, in parallel; the first failure stops the rest.
  constexpr uint32_t kBatch = 64;
  std::mutex mutex;
  std::optional<llvm::Error> failure;
  auto writeBatch = [&](uint32_t first) {
    TraceMetadata own = metadata;
    for (own.rank = first; own.rank < std::min(metadata.worldSize, first + kBatch); ++own.rank) {
      {
        std::lock_guard lock(mutex);
        if (failure)
          return;
      }
      llvm::Error error = writer->writeRank(own, nodes);
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
  if (metadata.worldSize <= kBatch) {
    writeBatch(0);
  } else {
    llvm::DefaultThreadPool pool(llvm::hardware_concurrency(options.threads));
    for (uint32_t first = 0; first < metadata.worldSize; first += kBatch)
      pool.async([&writeBatch, first] { writeBatch(first); });
    pool.wait();
  }
  if (failure)
    return std::move(*failure);
  return writer->commit();
}

} // namespace

TraceMetadata metadataOf(const Program &program, llvm::StringRef compilerVersion) {
  TraceMetadata metadata{.compilerVersion = compilerVersion.str(),
                         .worldSize = static_cast<uint32_t>(program.mesh.ranks())};
  for (const MeshAxis &axis : program.mesh.axes)
    metadata.mesh += fmt::format("{}{} {}", metadata.mesh.empty() ? "" : " x ", axis.name, axis.size);
  if (metadata.mesh.empty())
    metadata.mesh = "one rank";
  metadata.programHash = fmt::format("{:016x}", llvm::xxh3_64bits(toString(program)));
  return metadata;
}

Outcome emitProgram(const Program &program, const EmitOptions &options, EmitSummary &summary, PassStats &stats,
                    Diagnostics &diags) {
  UnrollOptions unroll{.detail = options.annotate == Annotate::Full ? UnrollDetail::Annotations : UnrollDetail::Costs,
                       .target = options.target};
  NodeEncoder encoder({.annotate = options.annotate, .orderDeps = options.orderDeps});
  if (unrollForward(
          program, unroll, [&](const TraceNode &node) { encoder.append(node); }, stats, diags) == Outcome::Failed)
    return Outcome::Failed;

  TraceMetadata metadata = metadataOf(program, options.compilerVersion);
  summary = {.ranks = metadata.worldSize,
             .nodesPerRank = encoder.nodes(),
             .bytesPerRank = encodeMetadata(metadata).size() + encoder.bytes().size()};
  if (llvm::Error error = writeRanks(options, std::move(metadata), encoder.bytes())) {
    llvm::handleAllErrors(std::move(error), [&](const OutputError &output) {
      diags.report(diag::OutputUnwritable{.path = output.path(), .reason = output.what()});
    });
    return Outcome::Failed;
  }
  return Outcome::Done;
}

} // namespace stg
