//===- EtOptions.cpp - the command line of stg-et ----------------------------===//

#include "EtOptions.h"
#include "stg/Analysis/MachineOption.h"
#include "llvm/Support/CommandLine.h"

namespace stg {
namespace {

namespace cl = llvm::cl;

constexpr const char *kOverview =
    "stg-et: look at Chakra execution traces of any producer\n\n"
    "  stg-et dump out/                                 every node as a line of text\n"
    "  stg-et dump out/llama.0.et --kinds | less        one rank, with the kinds of attributes\n"
    "  stg-et stats out/                                nodes, flops and bytes by type and op\n"
    "  stg-et stats out/ --peak-tflops 989 --hbm-gbps 3350 --json\n"
    "                                                   also each rank's sum of rooflines in ns, which is what\n"
    "                                                   ASTRA-sim takes for a rank that only computes\n"
    "  stg-et verify out/                               would a simulator run this to the last node?\n"
    "  stg-et diff before/ after/                       the first difference, if any\n"
    "  stg-et extract traces.stgb -o out/               the files that the bundle stands for; --ranks=0-7,64: some\n\n"
    "Arguments are directories (all `<prefix>.<rank>.et` in them), files, raw or gzip, and bundles: traces.stgb is "
    "read\n"
    "like the directory with the same traces, traces.stgb/train and traces.stgb/train.7.et like what is in it.\n"
    "Exit status: 0 done; 1 the traces are wrong or differ; 2 wrong command line; 3 the system failed (unreadable "
    "file,\n"
    "full disk); 70 a fault of stg-et. `stg-et <command> --help` lists the options of a command.\n";

cl::OptionCategory category("Options of stg-et");

cl::SubCommand dump("dump", "print every node as a line of text");
cl::SubCommand stats("stats", "count nodes and add up flops, bytes and rooflines");
cl::SubCommand verify("verify", "check that a simulator would run the traces to the last node");
cl::SubCommand diff("diff", "compare two traces or sets of traces");
cl::SubCommand extract("extract", "write the files of ranks from a bundle");

cl::list<std::string> inputs(cl::Positional, cl::OneOrMore, cl::desc("<directory, bundle or files>"), cl::sub(dump),
                             cl::sub(stats), cl::sub(verify), cl::cat(category));
cl::opt<bool> kinds("kinds", cl::desc("print the kinds of attribute values: num_ops:int64=8"), cl::sub(dump),
                    cl::cat(category));
cl::opt<bool> json("json", cl::desc("print JSON"), cl::sub(stats), cl::cat(category));
cl::opt<double> peakTflops("peak-tflops", cl::value_desc("T"),
                           cl::desc("peak of the machine in 10^12 FLOP/s (ASTRA-sim's peak-perf)"), cl::sub(stats),
                           cl::sub(verify), cl::cat(category));
cl::opt<double> hbmGbps("hbm-gbps", cl::value_desc("G"),
                        cl::desc("memory bandwidth of the machine in 10^9 bytes/s (ASTRA-sim's local-mem-bw)"),
                        cl::sub(stats), cl::sub(verify), cl::cat(category));
cl::opt<std::string> groupFile("groups", cl::value_desc("file"),
                               cl::desc("the file of process groups, if it is not in the directory"), cl::sub(verify),
                               cl::cat(category));
cl::opt<TraceTarget> target("target", cl::desc("whose rules to check:"),
                            cl::values(clEnumValN(TraceTarget::AstraSim, "astra-sim", "ASTRA-sim (default)"),
                                       clEnumValN(TraceTarget::Chakra, "chakra", "any reader of Chakra traces")),
                            cl::init(TraceTarget::AstraSim), cl::sub(verify), cl::cat(category));
cl::opt<unsigned> keep("show", cl::value_desc("n"), cl::desc("findings shown of each kind (5)"), cl::init(5),
                       cl::sub(verify), cl::cat(category));
cl::opt<std::string> left(cl::Positional, cl::Required, cl::desc("<left>"), cl::sub(diff), cl::cat(category));
cl::opt<std::string> right(cl::Positional, cl::Required, cl::desc("<right>"), cl::sub(diff), cl::cat(category));

cl::opt<std::string> bundle(cl::Positional, cl::Required, cl::desc("<bundle>"), cl::sub(extract), cl::cat(category));
cl::opt<std::string> output("o", cl::value_desc("dir"), cl::desc("directory of the traces"), cl::sub(extract),
                            cl::cat(category));
cl::opt<std::string> ranks("ranks", cl::value_desc("0-4095,7"),
                           cl::desc("write only these ranks, from 0; other files of the directory stay"),
                           cl::sub(extract), cl::cat(category));
cl::opt<Compression> compression("compress", cl::desc("how the files of ranks are compressed:"),
                                 cl::values(clEnumValN(Compression::None, "none", "not (default)"),
                                            clEnumValN(Compression::Gzip, "gzip",
                                                       "gzip, for readers other than ASTRA-sim (docs/traces.md)")),
                                 cl::init(Compression::None), cl::sub(extract), cl::cat(category));
cl::opt<bool> fanOut("fan-out", cl::desc("a folder for each thousand ranks: 000, 001, ... (not for ASTRA-sim)"),
                     cl::sub(extract), cl::cat(category));
cl::opt<bool> noSync("no-sync", cl::desc("the directory may appear before all of it is on the disk"), cl::sub(extract),
                     cl::cat(category));
cl::opt<unsigned> threads("j", cl::Prefix, cl::value_desc("n"),
                          cl::desc("threads that write files; 0: as many as the machine has"), cl::init(0),
                          cl::sub(extract), cl::cat(category));

void usageError(const llvm::Twine &text) { llvm::errs() << "error: " << text << "\n"; }

std::optional<double> given(const cl::opt<double> &option) {
  return option.getNumOccurrences() ? std::optional<double>(option) : std::nullopt;
}

/// Nothing: the usage was wrong, and said so.
std::optional<ExtractOptions> parseExtract() {
  ExtractOptions options{.bundle = bundle, .output = output, .directory = {}, .threads = threads};
  if (output.empty()) {
    usageError("where to? stg-et extract " + bundle + " -o out/");
    return std::nullopt;
  }
  if (ranks.getNumOccurrences()) {
    std::optional<std::vector<RankRange>> list = readRankList(ranks);
    if (!list) {
      usageError("--ranks=" + ranks + " is no list of ranks: write --ranks=0-4095,7");
      return std::nullopt;
    }
    options.directory.ranks.list = *list;
  }
  options.directory.compression = compression;
  options.directory.fanOut = fanOut ? FanOut::Thousands : FanOut::None;
  options.directory.diskSync = noSync ? DiskSync::None : DiskSync::BeforeCommit;
  return options;
}

} // namespace

std::optional<EtOptions> parseEtOptions(int argc, char **argv) {
  for (cl::SubCommand *command : {&dump, &stats, &verify, &diff, &extract})
    cl::HideUnrelatedOptions(category, *command);
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "stg-et " STG_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return std::nullopt;

  auto read = machineOf(given(peakTflops), given(hbmGbps));
  if (auto *fault = std::get_if<std::string>(&read)) {
    usageError(*fault);
    return std::nullopt;
  }
  auto &machine = std::get<std::optional<Machine>>(read);
  std::vector<std::string> paths(inputs.begin(), inputs.end());
  EtOptions options;
  if (dump)
    options.command = EtCommand::Dump;
  else if (stats)
    options.command = EtCommand::Stats;
  else if (verify)
    options.command = EtCommand::Verify;
  else if (diff)
    options.command = EtCommand::Diff;
  else if (extract)
    options.command = EtCommand::Extract;
  else {
    usageError("name a command: dump, stats, verify, diff or extract; `stg-et --help` shows examples");
    return std::nullopt;
  }
  options.dump = {.inputs = paths, .kinds = kinds ? ShowKinds::Yes : ShowKinds::No};
  options.stats = {.inputs = paths, .machine = machine, .format = json ? StatsFormat::Json : StatsFormat::Text};
  options.verify = {.inputs = paths, .groupFile = groupFile, .target = target, .machine = machine, .keep = keep};
  options.diff = {.left = left, .right = right};
  if (extract) {
    std::optional<ExtractOptions> own = parseExtract();
    if (!own)
      return std::nullopt;
    options.extract = *own;
  }
  return options;
}

} // namespace stg
