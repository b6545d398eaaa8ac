//===- CompileBench.cpp - what the parts of a compilation cost -------------------===//
// Parsing, elaboration and passes on shipped models, unrolling and encoding on a deep one, beside a memory copy of the
// same bytes: trust the ratios, machines differ. docs/performance.md says how to run it.
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

/// Everything from text to a typed program.
void compile(benchmark::State &state, const std::string &family, const std::string &model) {
  uint64_t visits = 0;
  for (auto _ : state) {
    Compilation compilation(optionsFor(model, {"model.L=" + std::to_string(state.range(0))}));
    const Module *module = compilation.load(kSource + "/stdlib/models/" + family + ".stg");
    auto compiled = compilation.compile(*module);
    visits = compiled.at(0).opVisits;
  }
  state.counters["op visits"] = static_cast<double>(visits);
}

/// A compiled model to unroll.
struct Deep {
  Compilation compilation;
  std::vector<CompiledWorkload> workloads;
  explicit Deep(int64_t layers) : compilation(optionsFor("llama3_8b", {"model.L=" + std::to_string(layers)})) {
    workloads = compilation.compile(*compilation.load(kSource + "/stdlib/models/llama3.stg"));
  }
};

void unrollOnly(benchmark::State &state) {
  Deep deep(state.range(0));
  uint64_t nodes = 0;
  for (auto _ : state) {
    PassStats stats;
    nodes = 0;
    (void)unroll(
        deep.workloads[0].program, ProcessGroups(deep.workloads[0].program), {}, [&](const TraceNode &) { ++nodes; },
        stats, deep.compilation.diags());
  }
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(nodes), benchmark::Counter::kIsIterationInvariantRate);
}

void unrollAndEncode(benchmark::State &state) {
  Deep deep(state.range(0));
  NodeEncoder encoder({});
  for (auto _ : state) {
    PassStats stats;
    encoder.clear();
    (void)unroll(
        deep.workloads[0].program, ProcessGroups(deep.workloads[0].program), {},
        [&](const TraceNode &node) { encoder.append(node); }, stats, deep.compilation.diags());
  }
  state.counters["nodes/s"] =
      benchmark::Counter(static_cast<double>(encoder.nodes()), benchmark::Counter::kIsIterationInvariantRate);
  state.counters["bytes/node"] = static_cast<double>(encoder.bytes().size()) / static_cast<double>(encoder.nodes());
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(encoder.bytes().size()));
}

/// The machine's own limit for the same bytes.
void copySameBytes(benchmark::State &state) {
  Deep deep(state.range(0));
  NodeEncoder encoder({});
  PassStats stats;
  (void)unroll(
      deep.workloads[0].program, ProcessGroups(deep.workloads[0].program), {},
      [&](const TraceNode &node) { encoder.append(node); }, stats, deep.compilation.diags());
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
  benchmark::RegisterBenchmark("compile llama3_8b, layers", compile, "llama3", "llama3_8b")
      ->Arg(32)
      ->Arg(128)
      ->Arg(1024)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("compile gpt3_175b, layers", compile, "gpt3", "gpt3_175b")
      ->Arg(96)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("unroll llama3_8b, layers", unrollOnly)->Arg(10000)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("unroll and encode llama3_8b, layers", unrollAndEncode)
      ->Arg(10000)
      ->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark("copy the same bytes", copySameBytes)->Arg(10000)->Unit(benchmark::kMillisecond);
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
