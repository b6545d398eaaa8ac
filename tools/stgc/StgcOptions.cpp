//===- StgcOptions.cpp - the command line of stgc ---------------------------------===//
#include "StgcOptions.h"
#include "stg/Analysis/MachineOption.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"

namespace stg {
namespace {

namespace cl = llvm::cl;

constexpr const char *kOverview =
    "stgc: compile models of distributed deep learning into Chakra execution traces\n\n"
    "  stgc run.stg -o out/                     every workload of the file (`build` is the default command)\n"
    "  stgc build run.stg -w forward -o out/    one of them; a model's name is its plain forward pass\n"
    "  stgc build run.stg --set model.L=16 --set blocks[0].attn.KV=4 -o out/\n"
    "                                           with other sizes\n"
    "  stgc check my.stg                        every message that `build` has; writes nothing\n"
    "  stgc build run.stg --emit=bundle -o traces.stgb\n"
    "                                           all ranks in one file, for simulators that open bundles\n"
    "  stgc import-hf config.json -o model.stg  a Hugging Face config as the shipped model with its sizes\n"
    "  stgc report run.stg                      parameters, FLOPs, bytes, traffic; --json, --formula\n"
    "  stgc explain run.stg --comm              every collective and the plan lines that cause it; --formula\n"
    "  stgc explain run.stg --tensor blocks[7].attn.q\n"
    "                                           the rule that gives each axis to a dim of it, who lost; who reads it\n"
    "  stgc explain run.stg --schedule --svg chart.svg\n"
    "                                           what each rank of a pipeline does in turn, its makespan and bubble\n"
    "  stgc explain run.stg --memory --hbm 80GB  peak memory of the ranks, what is alive then, and what would change "
    "it\n"
    "  stgc fmt my.stg                          the one format, in place; --check changes nothing\n\n"
    "`use std.ffn` is looked for in -I folders, STG_PATH, and the library that comes with stgc.\n"
    "Exit status: 0 done; 1 the input is wrong (messages say why); 2 wrong command line; 3 the system failed\n"
    "(unreadable file, full disk); 70 a fault of stgc. `stgc <command> --help` lists the options of a command.\n";

cl::OptionCategory category("Options of stgc");

cl::SubCommand buildCommand("build", "compile workloads into traces (default)");
cl::SubCommand checkCommand("check", "check files, print messages only");
cl::SubCommand reportCommand("report", "print parameters, FLOPs, bytes and traffic");
cl::SubCommand explainCommand("explain", "why layouts, traffic and schedules are what they are");
cl::SubCommand fmtCommand("fmt", "format files in place");
cl::SubCommand importCommand("import-hf", "write a Hugging Face config.json as a .stg file (docs/import.md)");

cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("<file.stg>"), cl::sub(buildCommand),
                           cl::sub(reportCommand), cl::sub(explainCommand), cl::cat(category));
cl::opt<std::string> config(cl::Positional, cl::Required, cl::desc("<config.json>"), cl::sub(importCommand),
                            cl::cat(category));
cl::opt<std::string> imported("o", cl::value_desc("model.stg"), cl::desc("the file; without it standard output"),
                              cl::sub(importCommand), cl::cat(category));
cl::list<std::string> inputs(cl::Positional, cl::OneOrMore, cl::desc("<files>"), cl::sub(checkCommand),
                             cl::sub(fmtCommand), cl::cat(category));
cl::opt<std::string> output("o", cl::value_desc("dir"), cl::desc("folder of the traces; appears whole or not at all"),
                            cl::sub(buildCommand), cl::cat(category));
cl::opt<std::string> workload("w", cl::value_desc("name"), cl::desc("one workload (or model) instead of all"),
                              cl::sub(buildCommand), cl::sub(reportCommand), cl::sub(explainCommand),
                              cl::cat(category));
cl::list<std::string> settings("set", cl::value_desc("name.parameter=value"),
                               cl::desc("override a parameter: model.L=16, plan.tp=4, blocks[0].attn.KV=4"),
                               cl::sub(buildCommand), cl::sub(reportCommand), cl::sub(explainCommand),
                               cl::cat(category));
cl::list<std::string> includes("I", cl::Prefix, cl::value_desc("folder"),
                               cl::desc("where `use a.b` finds a/b.stg; before STG_PATH"), cl::sub(buildCommand),
                               cl::sub(checkCommand), cl::sub(reportCommand), cl::sub(explainCommand),
                               cl::cat(category));
cl::opt<EmitKind>
    emit("emit", cl::desc("what to write:"),
         cl::values(clEnumValN(EmitKind::Et, "et", "Chakra traces, a file per rank (default)"),
                    clEnumValN(EmitKind::Bundle, "bundle", "the traces of all ranks in one file (docs/bundle.md)"),
                    clEnumValN(EmitKind::Ir, "ir", "the program as .stgir (see --level), on standard output"),
                    clEnumValN(EmitKind::None, "none", "nothing: compile only")),
         cl::init(EmitKind::Et), cl::sub(buildCommand), cl::cat(category));
cl::opt<Level> level("level", cl::desc("with --emit=ir: after which level of the passes (docs/ir.md):"),
                     cl::values(clEnumValN(Level::Elaborated, "elaborated", "names resolved, layers inlined"),
                                clEnumValN(Level::Typed, "typed", "every value has a type (default)"),
                                clEnumValN(Level::Differentiated, "differentiated", "with the backward of training"),
                                clEnumValN(Level::Laid, "laid", "every value has a layout"),
                                clEnumValN(Level::Explicit, "explicit", "with collectives"),
                                clEnumValN(Level::Stored, "stored", "with gradient sync and the optimizer's step"),
                                clEnumValN(Level::Scheduled, "scheduled", "with the actions of each pipeline rank")),
                     cl::init(Level::Typed), cl::sub(buildCommand), cl::cat(category));
cl::opt<Annotate>
    annotate("annotate", cl::desc("what nodes say beyond what simulators need:"),
             cl::values(clEnumValN(Annotate::None, "none", "nothing"),
                        clEnumValN(Annotate::Basic, "basic", "the kind of op (default)"),
                        clEnumValN(Annotate::Full, "full", "also extents, element type, part, source, tensors")),
             cl::init(Annotate::Basic), cl::sub(buildCommand), cl::cat(category));
cl::opt<OrderDeps>
    orderDeps("order-deps", cl::desc("where order-only dependencies go:"),
              cl::values(clEnumValN(OrderDeps::Ctrl, "ctrl", "ctrl_deps (default)"),
                         clEnumValN(OrderDeps::Data, "data", "data_deps too, for feeders that ignore ctrl_deps")),
              cl::init(OrderDeps::Ctrl), cl::sub(buildCommand), cl::cat(category));
cl::opt<Compression> compression("compress", cl::desc("how the files of ranks are compressed:"),
                                 cl::values(clEnumValN(Compression::None, "none", "not (default)"),
                                            clEnumValN(Compression::Gzip, "gzip",
                                                       "gzip, for readers other than ASTRA-sim (docs/traces.md)")),
                                 cl::init(Compression::None), cl::sub(buildCommand), cl::cat(category));
cl::opt<TraceTarget> target("target", cl::desc("whose rules the traces follow:"),
                            cl::values(clEnumValN(TraceTarget::AstraSim, "astra-sim", "ASTRA-sim (default)"),
                                       clEnumValN(TraceTarget::Chakra, "chakra", "any reader of Chakra traces")),
                            cl::init(TraceTarget::AstraSim), cl::sub(buildCommand), cl::cat(category));
cl::opt<UnevenExchange>
    exchange("a2av", cl::desc("how all-to-alls of uneven parts (`routing zipf`) are written:"),
             cl::values(clEnumValN(UnevenExchange::Pad, "pad", "all parts as large as the largest (default)"),
                        clEnumValN(UnevenExchange::Peers, "p2p", "a send and a receive for each peer, true sizes")),
             cl::init(UnevenExchange::Pad), cl::sub(buildCommand), cl::sub(reportCommand), cl::sub(explainCommand),
             cl::cat(category));
cl::opt<unsigned> threads("j", cl::Prefix, cl::value_desc("n"),
                          cl::desc("threads that write files; 0: as many as the machine has"), cl::init(0),
                          cl::sub(buildCommand), cl::cat(category));
cl::opt<std::string> ranks("ranks", cl::value_desc("0-4095,7"),
                           cl::desc("write only these ranks, from 0; other files of the folder stay"),
                           cl::sub(buildCommand), cl::cat(category));
cl::opt<std::string>
    shard("shard", cl::value_desc("i/n"),
          cl::desc("write part i of n of the ranks, i from 0 to n - 1; other files of the folder stay. "
                   "mpirun and srun set it by themselves; 0/1: all ranks (docs/scale.md)"),
          cl::sub(buildCommand), cl::cat(category));
cl::opt<bool> linkFiles("link",
                        cl::desc("ranks with the same trace share one file by hard links; files do not say their rank"),
                        cl::sub(buildCommand), cl::cat(category));
cl::opt<bool> fanOut("fan-out", cl::desc("a folder for each thousand ranks: 000, 001, ... (not for ASTRA-sim)"),
                     cl::sub(buildCommand), cl::cat(category));
cl::opt<bool> noSync("no-sync", cl::desc("the folder may appear before all of it is on the disk"),
                     cl::sub(buildCommand), cl::cat(category));
cl::opt<bool> json("json", cl::desc("print JSON (docs/report.md lists the keys)"), cl::sub(reportCommand),
                   cl::cat(category));
cl::opt<bool> formula("formula", cl::desc("formulas in the model's size parameters instead of numbers"),
                      cl::sub(reportCommand), cl::sub(explainCommand), cl::cat(category));
cl::opt<bool> comm("comm", cl::desc("every collective, with the plan lines that cause it"), cl::sub(explainCommand),
                   cl::cat(category));
cl::opt<std::string>
    tensor("tensor", cl::value_desc("path"),
           cl::desc("where a tensor is and why: blocks[7].attn.q, wte, attn.q in any unit, blocks[0..4].ffn.*"),
           cl::sub(explainCommand), cl::cat(category));
cl::opt<bool> schedule("schedule", cl::desc("stages and lists of a pipeline, its makespan and bubble"),
                       cl::sub(explainCommand), cl::cat(category));
cl::opt<bool> memory("memory", cl::desc("peak memory of the ranks, when it is and what is alive then"),
                     cl::sub(explainCommand), cl::cat(category));
cl::opt<std::string> hbm("hbm", cl::value_desc("80GB"),
                         cl::desc("memory of a rank, in GB or GiB: warn of what does not fit"), cl::sub(buildCommand),
                         cl::sub(checkCommand), cl::sub(reportCommand), cl::sub(explainCommand), cl::cat(category));
cl::opt<std::string> cost("cost", cl::value_desc("F=1,I=1,W=1,comm=0"),
                          cl::desc("with --schedule: costs of actions and messages, for all stages"),
                          cl::sub(explainCommand), cl::cat(category));
cl::opt<std::string> svg("svg", cl::value_desc("file"),
                         cl::desc("with --schedule or --memory: draw the chart; `-`: print it only"),
                         cl::sub(explainCommand), cl::cat(category));
cl::opt<double> peakTflops("peak-tflops", cl::value_desc("T"),
                           cl::desc("with --schedule: peak of the machine in 10^12 FLOP/s"), cl::sub(explainCommand),
                           cl::cat(category));
cl::opt<double> hbmGbps("hbm-gbps", cl::value_desc("G"),
                        cl::desc("with --schedule: its memory bandwidth in 10^9 bytes/s"), cl::sub(explainCommand),
                        cl::cat(category));
cl::opt<double> linkGbps("link-gbps", cl::value_desc("G"),
                         cl::desc("with --schedule: bandwidth of messages between stages in 10^9 bytes/s; without it "
                                  "they take no time"),
                         cl::sub(explainCommand), cl::cat(category));
cl::opt<bool> checkOnly("check", cl::desc("change nothing; exit 1 and name the files that would change"),
                        cl::sub(fmtCommand), cl::cat(category));
cl::opt<DiagnosticFormat>
    format("format", cl::desc("how messages are printed:"),
           cl::values(clEnumValN(DiagnosticFormat::Text, "text", "for people (default)"),
                      clEnumValN(DiagnosticFormat::Json, "json", "for programs (docs/diagnostics.md)")),
           cl::init(DiagnosticFormat::Text), cl::sub(buildCommand), cl::sub(checkCommand), cl::sub(reportCommand),
           cl::sub(explainCommand), cl::sub(fmtCommand), cl::sub(importCommand), cl::cat(category));

bool usageError(const llvm::Twine &text) {
  llvm::errs() << "error: " << text << "\n";
  return false;
}

std::optional<double> given(const cl::opt<double> &option) {
  return option.getNumOccurrences() ? std::optional<double>(option) : std::nullopt;
}

/// False: the usage was wrong, and said so.
bool parseDirectory(DirectoryOptions &directory, std::optional<RankChoice> &choice) {
  const cl::Option *about[] = {&compression, &ranks, &shard, &linkFiles, &fanOut, &noSync};
  for (const cl::Option *option : about) {
    if (!option->getNumOccurrences() || emit == EmitKind::Et)
      continue;
    bool isChoice = option == &ranks || option == &shard;
    return usageError("--" + option->ArgStr + " is about a directory of traces" +
                      (emit == EmitKind::Bundle && isChoice
                           ? "; a bundle holds all ranks, and `stg-et extract --ranks` takes some out of it"
                           : ": --emit=et"));
  }
  directory.compression = compression;
  directory.fanOut = fanOut ? FanOut::Thousands : FanOut::None;
  directory.sameFiles = linkFiles ? SameFiles::Linked : SameFiles::Separate;
  directory.diskSync = noSync ? DiskSync::None : DiskSync::BeforeCommit;
  if (ranks.getNumOccurrences() && shard.getNumOccurrences())
    return usageError("--ranks and --shard both say which ranks: give one of them");
  if (ranks.getNumOccurrences()) {
    std::optional<std::vector<RankRange>> list = readRankList(ranks);
    if (!list)
      return usageError("--ranks=" + ranks + " is no list of ranks: write --ranks=0-4095,7");
    choice = RankChoice{.list = *list, .shard = {}};
  }
  if (shard.getNumOccurrences()) {
    std::optional<Shard> part = readShard(shard);
    if (!part)
      return usageError("--shard=" + shard + " is no shard: the first of 16 is --shard=0/16, the last --shard=15/16");
    choice = RankChoice{.list = {}, .shard = *part};
  }
  return true;
}

/// False: the usage was wrong, and said so.
bool parseCosts(ScheduleCostOptions &costs) {
  if (svg.getNumOccurrences() && !schedule && !memory)
    return usageError("--svg is about a schedule or memory: stgc explain " + input + " --schedule");
  if (svg.getNumOccurrences() && schedule && memory)
    return usageError("--svg draws one chart: give --schedule or --memory");
  const cl::Option *about[] = {&cost, &peakTflops, &hbmGbps, &linkGbps};
  for (const cl::Option *option : about)
    if (option->getNumOccurrences() && !schedule)
      return usageError("--" + option->ArgStr + " is about a schedule: stgc explain " + input + " --schedule");
  auto machine = machineOf(given(peakTflops), given(hbmGbps));
  if (auto *fault = std::get_if<std::string>(&machine))
    return usageError(*fault);
  costs.machine = std::get<std::optional<Machine>>(machine);
  if (linkGbps.getNumOccurrences()) {
    if (!(linkGbps > 0))
      return usageError("--link-gbps must be greater than 0");
    costs.linkGbps = linkGbps;
  }
  if (!cost.getNumOccurrences())
    return true;
  if (costs.machine || costs.linkGbps > 0)
    return usageError("--cost says what actions cost, and so does a machine: give one of them");
  auto read = readStageCosts(cost);
  if (auto *fault = std::get_if<std::string>(&read))
    return usageError("--cost: " + *fault);
  costs.given = std::get<StageCosts>(read);
  return true;
}

} // namespace

std::optional<StgcOptions> parseStgcOptions(int argc, char **argv) {
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "stgc " STG_VERSION "\n"; });
  cl::HideUnrelatedOptions(category, buildCommand);
  cl::HideUnrelatedOptions(category, checkCommand);
  cl::HideUnrelatedOptions(category, reportCommand);
  cl::HideUnrelatedOptions(category, explainCommand);
  cl::HideUnrelatedOptions(category, fmtCommand);
  cl::HideUnrelatedOptions(category, importCommand);
  // `build` is the default: put it there when the first word is no command and no question about stgc itself.
  std::vector<const char *> words(argv, argv + argc);
  static constexpr llvm::StringRef kCommands[] = {"build", "check", "report", "explain", "fmt", "import-hf"};
  static constexpr llvm::StringRef kQuestions[] = {"--help",   "-help",         "-h",         "--version",
                                                   "-version", "--help-hidden", "--help-list"};
  bool question = argc > 1 && llvm::is_contained(kQuestions, llvm::StringRef(words[1]));
  if (argc > 1 && !question && !llvm::is_contained(kCommands, llvm::StringRef(words[1]))) {
    // A word that is no option, no file and no command was meant to be a command.
    llvm::StringRef word = words[1];
    if (!word.starts_with("-") && !word.contains('.') && !word.contains('/') && !llvm::sys::fs::exists(word)) {
      llvm::errs() << "error: there is no command `" << word << "`";
      if (auto close = closestName(word, kCommands))
        llvm::errs() << "; did you mean `" << *close << "`?";
      llvm::errs() << "   commands: build check report explain fmt import-hf\n";
      return std::nullopt;
    }
    words.insert(words.begin() + 1, "build");
  }
  if (!cl::ParseCommandLineOptions(static_cast<int>(words.size()), words.data(), kOverview, &llvm::errs()))
    return std::nullopt;
  CompileOptions compile;
  compile.includePath.assign(includes.begin(), includes.end());
  compile.settings.assign(settings.begin(), settings.end());
  compile.workload = workload;
  compile.hbm = hbm;
  compile.exchange = exchange;
  compile.argv0 = argv[0];
  StgcOptions options;
  options.format = format;
  if (buildCommand) {
    if (output.empty() && (emit == EmitKind::Et || emit == EmitKind::Bundle)) {
      llvm::errs() << "error: where to? stgc " << input << (emit == EmitKind::Et ? " -o out/" : " -o traces.stgb")
                   << "   (or --emit=none to compile only)\n";
      return std::nullopt;
    }
    DirectoryOptions directory;
    std::optional<RankChoice> choice;
    if (!parseDirectory(directory, choice))
      return std::nullopt;
    if (emit == EmitKind::Ir)
      compile.level = level;
    options.command =
        BuildOptions{compile, input, output, emit, annotate, orderDeps, directory, choice, target, threads};
  } else if (checkCommand) {
    options.command = CheckCommandOptions{compile, {inputs.begin(), inputs.end()}};
  } else if (reportCommand) {
    options.command = ReportOptions{compile, input, json, formula ? ReportStyle::Formulas : ReportStyle::Numbers};
  } else if (explainCommand) {
    ScheduleCostOptions costs;
    if (!parseCosts(costs))
      return std::nullopt;
    if (!comm && tensor.empty() && !schedule && !memory) {
      llvm::errs() << "error: explain what? --comm, --schedule, --memory, or --tensor blocks[7].attn.q\n";
      return std::nullopt;
    }
    options.command =
        ExplainOptions{compile,  input,  comm,  tensor, formula ? ReportStyle::Formulas : ReportStyle::Numbers,
                       schedule, memory, costs, svg};
  } else if (fmtCommand) {
    options.command = FormatOptions{{inputs.begin(), inputs.end()}, checkOnly};
  } else if (importCommand) {
    options.command = ImportOptions{config, imported};
  } else {
    cl::PrintHelpMessage();
    return std::nullopt;
  }
  return options;
}

} // namespace stg
