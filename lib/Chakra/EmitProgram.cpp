//===- EmitProgram.cpp - a program as a directory of Chakra files -----------===//

#include "stg/Chakra/EmitProgram.h"
#include "fmt/format.h"
#include "stg/Chakra/TraceWriter.h"
#include "stg/IR/Printer.h"
#include "stg/Trace/Unroll.h"
#include "llvm/Support/xxhash.h"

namespace stg {
namespace {

llvm::Error writeRanks(const EmitOptions &options, TraceMetadata metadata, llvm::StringRef nodes) {
  llvm::Expected<TraceWriter> writer = TraceWriter::create(options.directory, options.prefix);
  if (!writer)
    return writer.takeError();
  for (metadata.rank = 0; metadata.rank < metadata.worldSize; ++metadata.rank)
    if (llvm::Error error = writer->writeRank(metadata, nodes))
      return error;
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
