//===- Commands.cpp -------------------------------------------------------------------===//
#include "stg/Driver/Commands.h"
#include "stg/Chakra/EmitProgram.h"
#include "stg/IR/Printer.h"
#include "stg/Support/AtomicOutput.h"
#include "stg/Syntax/Formatter.h"
#include "stg/Trace/Unroll.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

static ExitStatus finish(Diagnostics &diags, DiagnosticFormat format, llvm::raw_ostream &json = llvm::errs()) {
  llvm::outs().flush();
  if (format == DiagnosticFormat::Json)
    printDiagnosticsJson(diags, json);
  else
    printDiagnostics(diags, llvm::errs());
  return diags.exitStatus();
}

ExitStatus stg::build(const BuildOptions &options, DiagnosticFormat format) {
  Compilation compilation(options.compile);
  Diagnostics &diags = compilation.diags();
  const Module *module = compilation.load(options.input);
  if (!module || diags.hasErrors())
    return finish(diags, format);
  std::vector<CompiledWorkload> workloads = compilation.compile(*module);
  if (diags.hasErrors())
    return finish(diags, format);
  if (options.emit == EmitKind::Ir) {
    for (const CompiledWorkload &workload : workloads)
      print(workload.program, llvm::outs());
    return finish(diags, format);
  }
  // One workload: its traces are the output. Several: a folder each, by `emit … { dir }` or by name.
  for (CompiledWorkload &workload : workloads) {
    EmitOptions emit;
    emit.directory = options.output;
    if (workloads.size() > 1)
      emit.directory += "/" + (workload.outputFolder.empty() ? workload.name : workload.outputFolder);
    emit.prefix = workload.name;
    emit.annotate = options.annotate;
    emit.orderDeps = options.orderDeps;
    emit.target = options.target;
    emit.threads = options.threads;
    emit.compilerVersion = STG_VERSION;
    EmitSummary summary;
    PassStats stats;
    if (options.emit == EmitKind::None) {
      UnrollOptions unroll;
      unroll.target = options.target;
      (void)unrollForward(workload.program, unroll, [](const TraceNode &) {}, stats, diags);
      continue;
    }
    if (emitProgram(workload.program, emit, summary, stats, diags) != Outcome::Done)
      break;
    llvm::outs() << fmt::format("{}: {} nodes, {}, in {}\n", workload.name, summary.nodesPerRank,
                                summary.ranks == 1 ? "1 rank" : fmt::format("{} ranks alike", summary.ranks), emit.directory);
  }
  return finish(diags, format);
}

ExitStatus stg::check(const CheckCommandOptions &options, DiagnosticFormat format) {
  Compilation compilation(options.compile);
  for (const std::string &input : options.inputs)
    if (const Module *module = compilation.load(input))
      compilation.check(*module);
  return finish(compilation.diags(), format, llvm::outs());
}

ExitStatus stg::report(const ReportOptions &options, DiagnosticFormat format) {
  Compilation compilation(options.compile);
  Diagnostics &diags = compilation.diags();
  const Module *module = compilation.load(options.input);
  if (!module || diags.hasErrors())
    return finish(diags, format);
  std::vector<CompiledWorkload> workloads = compilation.compile(*module);
  if (diags.hasErrors())
    return finish(diags, format);
  if (options.json)
    printReportJson(workloads, options.style, llvm::outs());
  else
    for (size_t i = 0; i < workloads.size(); ++i) {
      if (i)
        llvm::outs() << "\n";
      printReport(workloads[i], options.style, llvm::outs());
    }
  return finish(diags, format);
}

ExitStatus stg::formatFiles(const FormatOptions &options, DiagnosticFormat format) {
  SourceManager sources;
  Diagnostics diags(sources);
  bool differs = false;
  for (const std::string &input : options.inputs) {
    LoadResult loaded = sources.addFile(input);
    if (loaded.status != LoadStatus::Loaded) {
      reportLoadFailure(loaded, input, {}, diags);
      continue;
    }
    auto text = formatFile(loaded.file, sources, diags);
    if (!text || *text == sources.text(loaded.file))
      continue;
    if (options.check) {
      llvm::outs() << input << ": would be reformatted\n";
      differs = true;
    } else if (llvm::Error error = writeOutputFile(input, StringRef(*text))) {
      llvm::handleAllErrors(std::move(error), [&](const OutputError &output) {
        diags.report(diag::OutputUnwritable{.path = output.path(), .reason = output.what()});
      });
    }
  }
  ExitStatus status = finish(diags, format);
  return status == ExitStatus::Done && differs ? ExitStatus::InputWrong : status;
}
