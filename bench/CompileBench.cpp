//===- CompileBench.cpp - what the parts of a compilation cost -------------------===//
// Parsing, elaboration and passes on shipped models and a training step, unrolling and encoding deep ones, beside a
// memory copy of the same bytes: trust the ratios, machines differ. docs/performance.md says how to run it.
//===----------------------------------------------------------------------===//
#include "stg/Chakra/Encoder.h"
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

  void unrollInto(llvm::function_ref<void(const TraceNode &)> take) {
    PassStats stats;
    const Program &program = workloads[0].program;
    ProcessGroups groups(program);
    UnrollOptions options;
    auto unroller = Unroller::create(program, groups, options, stats, compilation.diags());
    for (uint32_t i = 0; i < unroller->classes(); ++i)
      unroller->run(i, take);
  }
};

void unrollOnly(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  uint64_t nodes = 0;
  for (auto _ : state) {
    nodes = 0;
    deep.unrollInto([&](const TraceNode &) { ++nodes; });
  }
  state.counters["nodes"] = static_cast<double>(nodes);
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
}

void unrollAndEncode(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  NodeEncoder encoder({});
  for (auto _ : state) {
    encoder.clear();
    deep.unrollInto([&](const TraceNode &node) { encoder.append(node); });
  }
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(encoder.nodes()), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/node"] = static_cast<double>(encoder.bytes().size()) / static_cast<double>(encoder.nodes());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(encoder.bytes().size()));
}

/// The machine's own limit for the same bytes.
void copySameBytes(benchmark::State &state, const Subject &subject) {
  Deep deep(subject, state.range(0));
  NodeEncoder encoder({});
  deep.unrollInto([&](const TraceNode &node) { encoder.append(node); });
  std::string target(encoder.bytes().size(), 0);
  for (auto _ : state) {
    std::memcpy(target.data(), encoder.bytes().data(), target.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(target.size()));
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
  timed("copy the same bytes", copySameBytes, kLlama3, {10'000});
  timed("unroll train_llama3_8b, layers", unrollOnly, kTraining, {1'000});
  timed("unroll and encode train_llama3_8b, layers", unrollAndEncode, kTraining, {1'000});
  timed("copy the same bytes of training", copySameBytes, kTraining, {1'000});
  timed("compile train_llama3_405b, micro-batches", compile, kPipeline, {16, 64, 256, 1'024});
  timed("unroll and encode train_llama3_405b, micro-batches", unrollAndEncode, kPipeline, {16, 64, 256});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
