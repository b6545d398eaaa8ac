//===- EmitProgram.cpp - programs as Chakra traces ---------------------------===//

#include "stg/Chakra/EmitProgram.h"
#include "fmt/format.h"
#include "stg/Chakra/BundleWriter.h"
#include "stg/IR/Printer.h"
#include "stg/Support/CountText.h"
#include "llvm/Support/Threading.h"
#include "llvm/Support/xxhash.h"
#include <algorithm>
#include <mutex>
#include <optional>

namespace stg {
namespace {

bundle::TraceInfo traceOf(const TraceOutput &output, const ProcessGroups &groups, const TraceMetadata &metadata,
                          const RankClasses &classes) {
  bundle::TraceInfo trace;
  trace.folder = output.folder;
  trace.prefix = output.prefix;
  trace.worldSize = metadata.worldSize;
  trace.mesh = metadata.mesh;
  trace.programHash = metadata.programHash;
  trace.producer = "stgc " + metadata.compilerVersion;
  trace.groupDigits = groups.digits();
  trace.groups = groups.formulas();
  trace.classDigits = classes.digits();
  for (uint32_t i = 0; i < classes.count(); ++i)
    trace.classes.push_back({.ranks = classes.ranks(i), .fields = {}, .segments = {}});
  return trace;
}

/// Encodes all classes, as many at once as there are threads.
class ClassEncoder {
public:
  ClassEncoder(const Unroller &unroller, const bundle::TraceInfo &trace, const TraceMetadata &metadata,
               const EncodeOptions &options, ImageSink &sink)
      : unroller_(unroller), trace_(trace), metadata_(metadata), options_(options), sink_(sink),
        classes_(trace.classes.size()) {}

  llvm::Error run(unsigned threads) {
    if (classes_.size() == 1) {
      encode(0);
    } else {
      // Classes begin in order.
      llvm::DefaultThreadPool pool(llvm::hardware_concurrency(threads));
      for (uint32_t i = 0; i < classes_.size(); ++i)
        pool.async([this, i] { encode(i); });
      pool.wait();
    }
    if (fault_)
      std::rethrow_exception(fault_);
    return std::move(failure_);
  }

  /// Those of which ranks are written, after run().
  std::vector<EmittedClass> classes() const {
    std::vector<EmittedClass> written;
    llvm::copy_if(classes_, std::back_inserter(written), [](const EmittedClass &each) { return each.ranks != 0; });
    return written;
  }

private:
  void encode(uint32_t rankClass) {
    EmittedClass &own = classes_[rankClass];
    own.ranks = sink_.ranksOf(rankClass);
    if (own.ranks == 0)
      return;
    TraceMetadata metadata = metadata_;
    metadata.rank = trace_.classes[rankClass].ranks.first;
    try {
      encodeClass(unroller_, rankClass, metadata, options_, [&](const ImageSegment &segment) {
        own.nodesPerRank += segment.nodes;
        own.bytesPerRank += segment.bytes.size();
        if (failed_)
          return;
        if (llvm::Error error = sink_.take(rankClass, segment))
          fail(std::move(error));
      });
    } catch (...) {
      // A fault of ours, which the caller of emitPrograms() reports.
      std::lock_guard lock(mutex_);
      fault_ = std::current_exception();
    }
  }

  /// The first failure is reported, and stops the rest.
  void fail(llvm::Error error) {
    std::lock_guard lock(mutex_);
    if (failed_.exchange(true))
      llvm::consumeError(std::move(error));
    else
      failure_ = std::move(error);
  }

  const Unroller &unroller_;
  const bundle::TraceInfo &trace_;
  const TraceMetadata &metadata_;
  const EncodeOptions &options_;
  ImageSink &sink_;
  std::vector<EmittedClass> classes_;
  std::mutex mutex_;
  std::atomic<bool> failed_ = false;
  llvm::Error failure_ = llvm::Error::success();
  std::exception_ptr fault_;
};

llvm::Expected<std::unique_ptr<ImageSink>> openSink(const EmitOptions &options) {
  if (options.form == EmitForm::Bundle)
    return BundleWriter::create(options.output);
  return TraceDirectory::create(options.output, options.directory, options.threads);
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
  if (program.routing.isUneven()) {
    metadata.routing = toString(program.routing);
    metadata.unevenExchange = spelling(program.routing.exchange);
  }
  metadata.programHash = fmt::format("{:016x}", llvm::xxh3_64bits(toString(program)));
  return metadata;
}

void reportMissingRank(uint32_t rank, llvm::StringRef trace, uint32_t worldSize, Diagnostics &diags) {
  diags.report(diag::NoSuchItem{.kind = "rank", .name = std::to_string(rank)})
      .note(fmt::format("`{}` has {}, which count from 0: --ranks=0-{} are all", std::string_view(trace),
                        counted(std::to_string(worldSize), "rank"), worldSize - 1));
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
  std::unique_ptr<ImageSink> sink;
  for (TraceOutput &output : outputs) {
    ProcessGroups groups(*output.program);
    std::unique_ptr<Unroller> unroller = Unroller::create(*output.program, groups, unrolling, stats, diags);
    if (!unroller)
      return Outcome::Failed;
    if (!sink) {
      llvm::Expected<std::unique_ptr<ImageSink>> opened = openSink(options);
      if (!opened)
        return failed(opened.takeError());
      sink = std::move(*opened);
    }
    TraceMetadata metadata = metadataOf(*output.program, groups, options.compilerVersion);
    bundle::TraceInfo trace = traceOf(output, groups, metadata, unroller->rankClasses());
    EncodeOptions encoding{
        .annotate = options.annotate, .orderDeps = options.orderDeps, .groupDigits = groups.digits()};
    // What would tell files apart that are one.
    if (options.form == EmitForm::Directory && options.directory.sameFiles == SameFiles::Linked)
      encoding.rankInMetadata = RankInMetadata::No;
    if (llvm::Error error = sink->begin(trace))
      return failed(std::move(error));
    ClassEncoder classes(*unroller, trace, metadata, encoding, *sink);
    if (llvm::Error error = classes.run(options.threads))
      return failed(std::move(error));
    output.summary.classes = classes.classes();
    if (llvm::Error error = sink->end())
      return failed(std::move(error));
  }
  if (sink)
    if (llvm::Error error = sink->commit())
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
