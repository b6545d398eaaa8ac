//===- OptOptions.cpp - the command line of stg-opt --------------------------===//
#include "OptOptions.h"
#include "stg/Support/ClosestName.h"
#include "llvm/Support/CommandLine.h"

namespace stg {
namespace {

namespace cl = llvm::cl;

constexpr const char *kOverview =
    "stg-opt: run passes on the textual IR, one at a time\n\n"
    "  stg-opt block.stgir                              read, verify, print\n"
    "  stg-opt block.stgir --passes=infer-shapes        run passes in the order given and print\n"
    "  stgc run.stg --emit=ir | stg-opt - --verify-only check the promises of the program's level\n"
    "  stg-opt block.stgir --passes=infer-shapes --kernels\n"
    "                                                   what runs as one kernel, with FLOPs and bytes\n"
    "  stg-opt block.stgir --interpret=7                run it on small tensors and print the values\n"
    "  stg-opt block.stgir --passes=assign-layouts,insert-collectives --compare-ranks=7\n"
    "                                                   run it on one device before and after the passes and on\n"
    "                                                   simulated ranks, and compare all values\n"
    "  stg-opt --list-passes                            the passes, what they need and give\n\n"
    "The input is `-` for standard input. docs/ir.md describes the text.\n"
    "Exit status: 0 done; 1 the input is wrong; 2 wrong command line; 3 the system failed; 70 a fault of stg-opt.\n";

cl::OptionCategory category("Options of stg-opt");
cl::opt<std::string> input(cl::Positional, cl::desc("<file.stgir, or - for standard input>"), cl::cat(category));
cl::list<std::string> passes("passes", cl::CommaSeparated, cl::value_desc("a,b"), cl::desc("passes to run, in order"),
                             cl::cat(category));
cl::opt<bool> verifyOnly("verify-only", cl::desc("check the input and print nothing"), cl::cat(category));
cl::opt<bool> listPasses("list-passes", cl::desc("print the table of passes"), cl::cat(category));
cl::opt<bool> kernels("kernels", cl::desc("print the kernels of each body instead of the program"), cl::cat(category));
cl::opt<std::string>
    interpret("interpret", cl::ValueOptional, cl::value_desc("seed"),
              cl::desc("run the program on small tensors made up from the seed (0) and print its values"),
              cl::cat(category));
cl::opt<std::string> compareRanks(
    "compare-ranks", cl::ValueOptional, cl::value_desc("seed"),
    cl::desc("run the program on simulated ranks, on inputs made up from the seed (0), and compare with one device"),
    cl::cat(category));
cl::opt<bool> opVisits("print-op-visits", cl::desc("print to standard error how many ops each pass looked at"),
                       cl::cat(category));
cl::opt<bool> times("print-times", cl::desc("print to standard error how long each pass took"), cl::cat(category));

std::nullopt_t usageError(const llvm::Twine &text) {
  llvm::errs() << "error: " << text << "\n";
  return std::nullopt;
}

std::optional<std::vector<PassId>> parsePasses() {
  std::vector<PassId> list;
  for (const std::string &name : passes) {
    if (std::optional<PassId> pass = passFrom(name)) {
      list.push_back(*pass);
      continue;
    }
    std::vector<llvm::StringRef> known;
    for (const PassInfo &info : kPasses)
      known.push_back(info.name);
    std::optional<llvm::StringRef> closest = closestName(name, known);
    return usageError("no pass `" + name + "`" + (closest ? "; did you mean `" + closest->str() + "`?" : "") +
                      " (--list-passes lists them)");
  }
  return list;
}

} // namespace

std::optional<OptOptions> parseOptOptions(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "stg-opt " STG_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return std::nullopt;
  OptOptions options;
  options.input = input;
  options.printOpVisits = opVisits;
  options.printTimes = times;
  if (listPasses) {
    options.command = OptCommand::ListPasses;
    return options;
  }
  if (input.empty())
    return usageError("no input; `stg-opt --help` shows how to use it");
  bool interprets = interpret.getNumOccurrences() > 0;
  bool compares = compareRanks.getNumOccurrences() > 0;
  if (kernels + verifyOnly + interprets + compares > 1)
    return usageError("--kernels, --verify-only, --interpret and --compare-ranks each say what to do with the program: "
                      "give one");
  options.command = kernels      ? OptCommand::Kernels
                    : verifyOnly ? OptCommand::VerifyOnly
                    : interprets ? OptCommand::Interpret
                    : compares   ? OptCommand::CompareRanks
                                 : OptCommand::Run;
  for (const std::string &seed : {interpret.getValue(), compareRanks.getValue()})
    if (!seed.empty() && llvm::StringRef(seed).getAsInteger(10, options.seed))
      return usageError("the seed `" + seed + "` is no whole number");
  std::optional<std::vector<PassId>> list = parsePasses();
  if (!list)
    return std::nullopt;
  options.passes = std::move(*list);
  return options;
}

} // namespace stg
