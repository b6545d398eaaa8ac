//===- CompileBench.cpp - what the parts of a compilation cost -------------------===//
// Parsing, elaboration and passes on shipped models and a training step, unrolling and encoding deep ones, beside a
// memory copy of the same bytes: trust the ratios, machines differ. docs/performance.md says how to run it.
//===----------------------------------------------------------------------===//
#include "stg/Chakra/ClassImage.h"
#include "stg/Chakra/EmitProgram.h"
#include "stg/Driver/Compile.h"
#include "stg/Passes/PassManager.h"
#include "stg/Syntax/Parser.h"
#include "stg/Trace/Unroll.h"
#include "llvm/Support/MemoryBuffer.h"
#include <benchmark/benchmark.h>
#include <cstring>

using namespace stg;

namespace {

const std::string kSource = STG_SOURCE_DIR;

CompileOptions optionsFor(std::string model, std::vector<std::string> settings = {}) {
  CompileOptions options;
  options.includePath = {kSource + "/stdlib"};
  options.workload = std::move(model);
  options.settings = std::move(settings);
  return options;
}

/// Reads a file once, parses it again and again.
void parse(benchmark::State &state, const std::string &path) {
  SourceManager sources;
  FileId file = sources.addFile(kSource + path).file;
  for (auto _ : state) {
    ast::ASTContext context;
    Diagnostics diags(sources);
    benchmark::DoNotOptimize(parseFile(file, sources, context, diags));
  }
  state.counters["lines/s"] =
      benchmark::Counter(static_cast<double>(sources.numLines(file)), benchmark::Counter::kIsIterationInvariantRate);
}

/// A workload of the shipped files, with the layers that the benchmark's argument says, or another parameter.
struct Subject {
  const char *path; ///< from the source tree's root
  const char *workload;
  const char *parameter = "model.L";

  std::vector<std::string> settings(int64_t argument) const {
    return {std::string(parameter) + "=" + std::to_string(argument)};
  }
};
constexpr Subject kLlama3 = {"/stdlib/models/llama3.stg", "llama3_8b"};
constexpr Subject kGpt3 = {"/stdlib/models/gpt3.stg", "gpt3_175b"};
constexpr Subject kTraining = {"/examples/train_llama3_8b.stg", "train"};
/// Sixteen stages; a batch of one sequence for each micro-batch.
constexpr Subject kPipeline = {"/examples/train_llama3_405b.stg", "train", "model.B"};

/// Everything from text to a program that can be unrolled.
void compile(benchmark::State &state, const Subject &subject) {
  uint64_t visits = 0;
  for (auto _ : state) {
    Compilation compilation(optionsFor(subject.workload, subject.settings(state.range(0))));
    const Module *module = compilation.load(kSource + subject.path);
    auto compiled = compilation.compile(*module);
    visits = compiled.at(0).opVisits;
  }
  state.counters["op visits"] = static_cast<double>(visits);
}

/// A compiled model of which one rank of each class is unrolled.
struct Deep {
  Compilation compilation;
  std::vector<CompiledWorkload> workloads;
  Deep(const Subject &subject, int64_t argument)
      : compilation(optionsFor(subject.workload, subject.settings(argument))) {
    workloads = compilation.compile(*compilation.load(kSource + subject.path));
  }

  /// Calls `take` with the unroller, the groups and the number of each class.
  void forEachClass(llvm::function_ref<void(const Unroller &, const ProcessGroups &, uint32_t rankClass)> take) {
    PassStats stats;
    ProcessGroups groups(program());
    auto unroller = Unroller::create(program(), groups, {}, stats, compilation.diags());
    for (uint32_t i = 0; i < unroller->classes(); ++i)
      take(*unroller, groups, i);
  }

  void encodeInto(llvm::function_ref<void(const ProcessGroups &, const ImageSegment &)> take) {
    TraceMetadata metadata = metadataOf(program(), ProcessGroups(program()), "bench");
    forEachClass([&](const Unroller &unroller, const ProcessGroups &groups, uint32_t rankClass) {
      metadata.rank = firstRankOf(program(), rankClass);
      encodeClass(unroller, rankClass, metadata, {.groupDigits = groups.digits()},
                  [&](const ImageSegment &segment) { take(groups, segment); });
    });
  }

private:
  const Program &program() const { return workloads[0].program; }
};

void unrollOnly(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  uint64_t nodes = 0;
  for (auto _ : state) {
    nodes = 0;
    deep.forEachClass([&](const Unroller &unroller, const ProcessGroups &, uint32_t rankClass) {
      unroller.run(rankClass, [&](const TraceNode &) { ++nodes; });
    });
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
}

/// In segments, as a directory or a bundle takes them.
void unrollAndEncode(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  uint64_t nodes = 0, bytes = 0;
  for (auto _ : state) {
    nodes = bytes = 0;
    deep.encodeInto([&](const ProcessGroups &, const ImageSegment &segment) {
      nodes += segment.nodes;
      bytes += segment.bytes.size();
    });
  }
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/node"] = static_cast<double>(bytes) / static_cast<double>(nodes);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * bytes));
}

/// The first segment of the first class, and its fields for one rank after the other into one buffer.
struct Image {
  std::string bytes;
  std::vector<bundle::FieldPatch> patches;
  std::vector<bundle::RankField> fields;
  std::vector<bundle::GroupFormula> groups;
  unsigned groupDigits = 1;

  explicit Image(Deep &deep) {
    deep.encodeInto([&](const ProcessGroups &of, const ImageSegment &segment) {
      if (!bytes.empty())
        return;
      bytes.assign(segment.bytes.data(), segment.bytes.size());
      patches = segment.patches.vec();
      fields = segment.fields.vec();
      groups = of.formulas();
      groupDigits = of.digits();
    });
  }
};

void patchRanks(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  Image image(deep);
  bundle::FieldValues values(image.fields, image.groups, image.groupDigits);
  std::string target(image.bytes.size(), 0);
  uint32_t rank = 0;
  for (auto _ : state) {
    std::memcpy(target.data(), image.bytes.data(), target.size());
    values.select(rank++ % 8);
    values.apply(image.patches, target);
    benchmark::ClobberMemory();
  }
  state.counters["fields"] = static_cast<double>(image.patches.size());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * target.size()));
}

/// The machine's own limit for the same bytes.
void copySameBytes(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  Image image(deep);
  std::string target(image.bytes.size(), 0);
  for (auto _ : state) {
    std::memcpy(target.data(), image.bytes.data(), target.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * target.size()));
}

} // namespace

int main(int argc, char **argv) {
  benchmark::RegisterBenchmark("parse std/attention.stg", parse, "/stdlib/std/attention.stg");
  benchmark::RegisterBenchmark("parse models/gpt3.stg", parse, "/stdlib/models/gpt3.stg");
  auto timed = [](const char *name, auto run, const Subject &subject, std::initializer_list<int64_t> layers) {
    auto *bench = benchmark::RegisterBenchmark(name, run, subject)->Unit(benchmark::kMillisecond);
    for (int64_t count : layers)
      bench->Arg(count);
  };
  timed("compile llama3_8b, layers", compile, kLlama3, {32, 128, 1024});
  timed("compile gpt3_175b, layers", compile, kGpt3, {96});
  timed("compile train_llama3_8b, layers", compile, kTraining, {32, 128, 1024});
  timed("unroll llama3_8b, layers", unrollOnly, kLlama3, {10'000});
  timed("unroll and encode llama3_8b, layers", unrollAndEncode, kLlama3, {10'000});
  timed("unroll train_llama3_8b, layers", unrollOnly, kTraining, {1'000});
  timed("unroll and encode train_llama3_8b, layers", unrollAndEncode, kTraining, {1'000});
  timed("patch a segment of train_llama3_8b for a rank, layers", patchRanks, kTraining, {1'000});
  timed("copy the same segment", copySameBytes, kTraining, {1'000});
  timed("compile train_llama3_405b, micro-batches", compile, kPipeline, {16, 64, 256, 1'024});
  timed("unroll and encode train_llama3_405b, micro-batches", unrollAndEncode, kPipeline, {16, 64, 256});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
