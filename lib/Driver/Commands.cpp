//===- Commands.cpp -------------------------------------------------------------------===//
#include "stg/Driver/Commands.h"
#include "TensorSearch.h"
#include "stg/Chakra/EmitProgram.h"
#include "stg/Driver/Launcher.h"
#include "stg/IR/Printer.h"
#include "stg/Import/HuggingFace.h"
#include "stg/Support/AtomicOutput.h"
#include "stg/Syntax/Formatter.h"
#include "stg/Trace/Unroll.h"
#include "llvm/Support/Process.h"
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

/// The workloads asked for, or none after errors.
static std::vector<CompiledWorkload> compileInput(Compilation &compilation, StringRef input) {
  const Module *module = compilation.load(input);
  if (!module || compilation.diags().hasErrors())
    return {};
  std::vector<CompiledWorkload> workloads = compilation.compile(*module);
  return compilation.diags().hasErrors() ? std::vector<CompiledWorkload>() : std::move(workloads);
}

/// `486 nodes, 64 ranks alike`; of a pipeline `4102 to 4480 nodes, 16 ranks in 4 classes`; of a shard `486 nodes, 16 of
/// 64 ranks alike`.
static std::string summaryText(const EmitSummary &summary, int64_t worldSize) {
  if (summary.classes.empty())
    return fmt::format("none of {} ranks", worldSize);
  auto [least, most] =
      std::minmax_element(summary.classes.begin(), summary.classes.end(),
                          [](const EmittedClass &a, const EmittedClass &b) { return a.nodesPerRank < b.nodesPerRank; });
  std::string nodes = least->nodesPerRank == most->nodesPerRank
                          ? fmt::format("{} nodes", least->nodesPerRank)
                          : fmt::format("{} to {} nodes", least->nodesPerRank, most->nodesPerRank);
  if (worldSize == 1)
    return nodes + ", 1 rank";
  std::string ranks = summary.ranks() == static_cast<uint64_t>(worldSize)
                          ? fmt::format("{} ranks", worldSize)
                          : fmt::format("{} of {} ranks", summary.ranks(), worldSize);
  return summary.classes.size() == 1 ? fmt::format("{}, {} alike", nodes, ranks)
                                     : fmt::format("{}, {} in {} classes", nodes, ranks, summary.classes.size());
}

static void reportMissingRanks(const std::vector<CompiledWorkload> &workloads, const RankChoice &ranks,
                               Diagnostics &diags) {
  for (const CompiledWorkload &workload : workloads) {
    auto worldSize = static_cast<uint32_t>(workload.program.mesh.ranks());
    if (std::optional<uint32_t> rank = ranks.outside(worldSize))
      reportMissingRank(*rank, workload.name, worldSize, diags);
  }
}

ExitStatus stg::build(const BuildOptions &options, DiagnosticFormat format) {
  Compilation compilation(options.compile);
  Diagnostics &diags = compilation.diags();
  std::vector<CompiledWorkload> workloads = compileInput(compilation, options.input);
  if (options.emit == EmitKind::Ir) {
    for (const CompiledWorkload &workload : workloads)
      print(workload.program, llvm::outs());
    return finish(diags, format);
  }
  PassStats stats;
  if (options.emit == EmitKind::None) {
    UnrollOptions unrolling;
    unrolling.target = options.target;
    for (const CompiledWorkload &workload : workloads)
      if (unroll(
              workload.program, ProcessGroups(workload.program), unrolling, [](const TraceNode &) {}, stats, diags) ==
          Outcome::Failed)
        break;
    return finish(diags, format);
  }
  RankChoice ranks = options.ranks.value_or(RankChoice());
  reportMissingRanks(workloads, ranks, diags);
  if (diags.hasErrors())
    return finish(diags, format);
  std::string place;
  if (auto launched = launchedProcess([](const char *name) -> const char * { return std::getenv(name); });
      launched && !options.ranks) {
    if (options.emit == EmitKind::Et)
      ranks.shard = launched->shard;
    place = fmt::format(" ({}/{} by {})", launched->shard.index, launched->shard.count, launched->variable);
    if (options.emit == EmitKind::Bundle && launched->shard.index != 0) {
      llvm::outs() << options.output << " is written by process 0" << place << "\n";
      return finish(diags, format);
    }
  }
  if (options.directory.compression == Compression::Gzip && options.target == TraceTarget::AstraSim)
    diags.report(diag::CompressedForAstraSim{})
        .help("expand the files first, or write them for others: --target=chakra");
  // One workload: its traces are the output. Several: a folder each, by `emit … { dir }` or by name.
  std::vector<TraceOutput> outputs;
  for (const CompiledWorkload &workload : workloads) {
    TraceOutput output{.program = &workload.program, .folder = {}, .prefix = workload.name};
    if (workloads.size() > 1)
      output.folder = workload.outputFolder.empty() ? workload.name : workload.outputFolder;
    outputs.push_back(std::move(output));
  }
  EmitOptions emit;
  emit.form = options.emit == EmitKind::Bundle ? EmitForm::Bundle : EmitForm::Directory;
  emit.output = options.output;
  emit.annotate = options.annotate;
  emit.orderDeps = options.orderDeps;
  emit.directory = options.directory;
  emit.directory.ranks = ranks;
  emit.target = options.target;
  emit.threads = options.threads;
  emit.compilerVersion = STG_VERSION;
  if (emitPrograms(outputs, emit, stats, diags) == Outcome::Done)
    for (const TraceOutput &output : outputs)
      llvm::outs() << fmt::format("{}: {}, in {}{}\n", output.prefix,
                                  summaryText(output.summary, output.program->mesh.ranks()),
                                  output.folder.empty() ? emit.output : emit.output + "/" + output.folder, place);
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
  std::vector<CompiledWorkload> workloads = compileInput(compilation, options.input);
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

/// A path on the command line has numbers for iterations, no names.
static std::optional<PathPattern> patternOf(const ast::Selector &selector) {
  PathPattern pattern;
  auto number = [](const ast::Expr *expr) {
    const auto *literal = llvm::dyn_cast_or_null<ast::IntLit>(expr);
    return literal ? literal->value : std::nullopt;
  };
  for (const ast::SelPart &part : selector.parts) {
    PatternPart &one = pattern.parts.emplace_back();
    one.name = part.name.text.str();
    if (part.indexKind != ast::SelIndex::One && part.indexKind != ast::SelIndex::Range)
      continue;
    std::optional<int64_t> first = number(part.first);
    std::optional<int64_t> last = part.last ? number(part.last) : first ? std::optional(*first + 1) : std::nullopt;
    std::optional<int64_t> step = part.step ? number(part.step) : std::optional<int64_t>(1);
    if (!first || !last || !step || *step < 1)
      return std::nullopt;
    one.range = PatternPart::Range{*first, *last, *step};
  }
  return pattern;
}

static void explainPath(const std::vector<CompiledWorkload> &workloads, const ExplainOptions &options,
                        Compilation &compilation) {
  std::optional<ast::Selector> selector = compilation.parsePath(options.tensor, "--tensor");
  if (!selector)
    return;
  std::optional<PathPattern> pattern = patternOf(*selector);
  if (!pattern) {
    compilation.diags()
        .report(selector->range, diag::SelectorMatchesNothing{.selector = options.tensor})
        .note("iterations are numbers here: blocks[7], blocks[0..4], blocks[*]");
    return;
  }
  bool found = false;
  std::vector<const Program *> programs;
  for (const CompiledWorkload &workload : workloads) {
    if (found)
      llvm::outs() << "\n";
    found |= explainTensors(workload, *pattern, options.style, compilation.sources(), llvm::outs());
    programs.push_back(&workload.program);
  }
  if (!found)
    reportNoTensor(programs, *pattern, *selector, options.tensor, compilation.diags());
}

/// A file that cannot be written is reported.
static void writeFile(StringRef path, StringRef text, Diagnostics &diags) {
  llvm::handleAllErrors(writeOutputFile(path, text), [&](const OutputError &output) {
    diags.report(diag::OutputUnwritable{.path = output.path(), .reason = output.what()});
  });
}

static void explainSchedules(const std::vector<CompiledWorkload> &workloads, const ExplainOptions &options,
                             Diagnostics &diags) {
  unsigned columns = llvm::sys::Process::StandardOutColumns();
  llvm::raw_ostream &os = options.svg == "-" ? llvm::nulls() : llvm::outs();
  bool found = false;
  for (const CompiledWorkload &workload : workloads) {
    if (!workload.program.pipeline)
      continue;
    if (found || options.communication || !options.tensor.empty())
      os << "\n";
    explainSchedule(workload, options.costs, columns ? columns : 120, os);
    found = true;
  }
  if (!found)
    diags.report(diag::NothingScheduled{.path = options.input})
        .help("a plan has one by `pipeline over pp { … }`, on an axis of 2 ranks or more");
  else if (!options.svg.empty())
    writeFile(options.svg, scheduleSvg(workloads, options.costs), diags);
}

static void explainMemories(const std::vector<CompiledWorkload> &workloads, const ExplainOptions &options,
                            Compilation &compilation) {
  llvm::raw_ostream &os = options.svg == "-" ? llvm::nulls() : llvm::outs();
  bool isFirst = !options.communication && options.tensor.empty();
  for (const CompiledWorkload &workload : workloads) {
    if (!std::exchange(isFirst, false))
      os << "\n";
    explainMemory(workload, os);
  }
  if (!options.svg.empty())
    writeFile(options.svg, memorySvg(workloads, compilation.memoryLimit(), options.compile.hbm), compilation.diags());
}

ExitStatus stg::explain(const ExplainOptions &options, DiagnosticFormat format) {
  Compilation compilation(options.compile);
  Diagnostics &diags = compilation.diags();
  std::vector<CompiledWorkload> workloads = compileInput(compilation, options.input);
  if (diags.hasErrors())
    return finish(diags, format);
  if (!options.tensor.empty())
    explainPath(workloads, options, compilation);
  for (size_t i = 0; i < workloads.size() && options.communication; ++i) {
    if (i || !options.tensor.empty())
      llvm::outs() << "\n";
    explainCommunication(workloads[i], options.style, compilation.sources(), llvm::outs());
  }
  if (options.schedule)
    explainSchedules(workloads, options, diags);
  if (options.memory)
    explainMemories(workloads, options, compilation);
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
    } else {
      writeFile(input, *text, diags);
    }
  }
  ExitStatus status = finish(diags, format);
  return status == ExitStatus::Done && differs ? ExitStatus::InputWrong : status;
}

ExitStatus stg::importHf(const ImportOptions &options, DiagnosticFormat format) {
  SourceManager sources;
  Diagnostics diags(sources);
  LoadResult loaded = sources.addFile(options.input);
  if (loaded.status != LoadStatus::Loaded) {
    reportLoadFailure(loaded, options.input, {}, diags);
    return finish(diags, format);
  }
  if (std::optional<std::string> text = importHuggingFace(loaded.file, sources, diags)) {
    FileId written = sources.addBuffer(options.output.empty() ? "imported.stg" : options.output, std::move(*text));
    text = formatFile(written, sources, diags);
    if (text && options.output.empty())
      llvm::outs() << *text;
    else if (text)
      writeFile(options.output, *text, diags);
  }
  return finish(diags, format);
}
