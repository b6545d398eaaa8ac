//===- Report.cpp - what a compiled workload costs, for people --------------===//
#include "stg/Driver/Report.h"
#include "MemoryFacts.h"
#include "PathText.h"
#include "ScheduleRuns.h"
#include "WorkloadCosts.h"
#include "stg/Analysis/UnevenTraffic.h"
#include "stg/Support/CountText.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

namespace {

/// 1234567 -> `1.235 M`; exact below 10,000.
std::string scaled(double value, const char *unit, double base = 1000) {
  static const char *kPrefixes[] = {"", "k", "M", "G", "T", "P", "E", "Z", "Y", "R", "Q"};
  static const char *kBinary[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "Zi", "Yi", "Ri", "Qi"};
  size_t step = 0;
  while (value >= base && step + 1 < std::size(kPrefixes)) {
    value /= base;
    ++step;
  }
  const char *prefix = base == 1000 ? kPrefixes[step] : kBinary[step];
  return step == 0 ? fmt::format("{:.0f} {}", value, unit) : fmt::format("{:.3f} {}{}", value, prefix, unit);
}

std::string withCommas(Int128 value) { return stg::withCommas(toString(value)); }

bool isZero(DimExpr value) { return value.integer() == Int128(0); }

/// `forward pass`, `train step`.
std::string passText(Mode mode) {
  bool isStep = mode == Mode::Train || mode == Mode::Decode;
  return spelling(mode).str() + (isStep ? " step" : " pass");
}

class ReportText {
public:
  ReportText(const CompiledWorkload &workload, ReportStyle style, llvm::raw_ostream &os)
      : name_(workload.name), program_(workload.program), style_(style), os_(os), ranks_(program_.mesh.ranks()),
        costs_(costsOf(program_)) {}

  void print() {
    os_ << fmt::format("{}: {} of {} on {}\n", name_, passText(program_.mode), program_.text(program_.name).str(),
                       meshText(program_.mesh));
    printSizes();
    printSchedule();
    if (style_ == ReportStyle::Formulas)
      printTotalFormulas();
    else
      printTotals();
    if (ranks_ > 1 || program_.plan.microBatches > 1)
      os_ << (costs_.classes.size() > 1 ? "\n  one rank of each stage, together in one step:\n"
                                        : "\n  each rank in one step:\n");
    printUnits();
    printOps();
    printClasses();
    printCommunication();
    printWeights();
  }

private:
  std::string shown(DimExpr value, const char *unit, double base = 1000) const {
    if (style_ == ReportStyle::Formulas)
      return value.str();
    auto number = value.rational();
    return number ? scaled(number->toDouble(), unit, base) : value.str();
  }
  std::string flops(DimExpr value) const { return shown(value, "FLOP"); }
  std::string bytes(DimExpr value) const { return shown(value, "B", 1024); }

  void printSizes() {
    std::string sizes;
    for (const SizeParameter &size : program_.sizes)
      sizes += fmt::format("{}{} = {}", sizes.empty() ? "" : ", ", program_.text(size.name).str(),
                           withCommas(size.symbol.integer().value_or(0)));
    if (program_.plan.microBatches > 1)
      sizes += fmt::format("; {} micro-batches of this size", program_.plan.microBatches);
    if (!sizes.empty())
      os_ << "  sizes       " << sizes << "\n";
  }

  void printSchedule() {
    if (!program_.pipeline)
      return;
    ScheduleFacts facts = scheduleFacts(program_);
    ScheduleRun run = unitCostRun(facts.schedule);
    os_ << fmt::format("  schedule    {} on {} ranks x {}, {}: makespan {} unit costs, bubble {:.1f} %", facts.name,
                       program_.pipeline->ranks(), counted(std::to_string(facts.chunks), "chunk"),
                       microBatchText(program_.pipeline->placement), run.scale.text(run.times.makespan),
                       100 * run.bubble());
    if (!facts.inFlight.empty())
      os_ << fmt::format(", {} in flight at most", *llvm::max_element(facts.inFlight));
    os_ << "\n";
  }

  void printTotals() {
    os_ << fmt::format("  parameters  {}, {} in memory\n", withCommas(costs_.parameters.integer().value_or(0)),
                       bytes(costs_.weightBytes));
    if (costs_.activeParameters != costs_.parameters)
      os_ << fmt::format("  active      {} parameters for one token\n",
                         withCommas(costs_.activeParameters.integer().value_or(0)));
    os_ << fmt::format("  FLOPs       {} in contractions, {} other\n", flops(costs_.model.contraction),
                       flops(costs_.model.other));
    double again = numberOf(costs_.recomputed.contraction) + numberOf(costs_.recomputed.other);
    if (again != 0)
      os_ << fmt::format("  recomputed  {} of the others, {} of that in contractions\n",
                         flops(costs_.recomputed.contraction + costs_.recomputed.other),
                         flops(costs_.recomputed.contraction));
    if (ranks_ > 1) {
      double once = numberOf(costs_.model.contraction) + numberOf(costs_.model.other);
      double all = numberOf(costs_.hardware);
      os_ << fmt::format("  hardware    {} on {} ranks, {:.2g} % of it repeated\n", flops(costs_.hardware), ranks_,
                         all == 0 ? 0 : 100 * (all - once) / all);
      os_ << fmt::format("  {:<11} {} in contractions, {} other\n",
                         costs_.classes.size() > 1 ? "busiest one" : "each rank", flops(costs_.rank().work.contraction),
                         flops(costs_.rank().work.other));
    }
    os_ << fmt::format("  bytes       {} moved by {}{}\n", bytes(costs_.rank().work.bytes),
                       counted(std::to_string(costs_.rank().work.kernels), "kernel"),
                       costs_.classes.size() > 1 ? " of that rank"
                       : ranks_ > 1              ? " of each rank"
                                                 : "");
    printHostTraffic();
    printStorage();
    printMemory();
  }

  void printStorage() {
    const StoredBytes &stored = costs_.stored();
    std::string text;
    auto add = [&](DimExpr value, const char *what) {
      if (!isZero(value))
        text += fmt::format("{}{} {}", text.empty() ? "" : ", ", bytes(value), what);
    };
    add(stored.weights, "weights");
    add(stored.gradients, "gradients");
    add(stored.optimizer, "optimizer states");
    add(stored.states, "states");
    add(stored.host, "on the host");
    bool isWeightsOnly =
        isZero(stored.gradients) && isZero(stored.optimizer) && isZero(stored.states) && isZero(stored.host);
    if (!text.empty() && (ranks_ > 1 || !isWeightsOnly))
      os_ << "  stored      " << text
          << (costs_.classes.size() > 1 ? " by the fullest rank"
              : ranks_ > 1              ? " by each rank"
                                        : "")
          << "\n";
  }

  void printMemory() {
    std::optional<MemoryFacts> facts = memoryFacts(program_);
    if (!facts)
      return;
    const MemoryPeak &peak = facts->peak();
    int64_t kept = 0;
    for (size_t i = 0; i < kDeviceMemoryKinds; ++i)
      kept += isKept(static_cast<MemoryKind>(i)) ? peak.alive.of[i] : 0;
    auto text = [](int64_t bytes) { return scaled(static_cast<double>(bytes), "B", 1024); };
    os_ << fmt::format("  memory      {} at the peak{}, {} activations, {} else\n", text(peak.bytes()),
                       facts->peaks.size() > 1 ? fmt::format(" of rank {} of the pipeline", facts->worst) : "",
                       text(peak.alive[MemoryKind::Activations]),
                       text(peak.bytes() - kept - peak.alive[MemoryKind::Activations]));
  }

  void printTotalFormulas() {
    os_ << fmt::format("  parameters  {}\n", costs_.parameters.str());
    if (costs_.activeParameters != costs_.parameters)
      os_ << fmt::format("  active      {}\n", costs_.activeParameters.str());
    os_ << fmt::format("  contraction {}\n  other       {}\n", costs_.model.contraction.str(),
                       costs_.model.other.str());
    if (ranks_ > 1)
      os_ << fmt::format("  hardware    {}\n", costs_.hardware.str());
    os_ << fmt::format("  bytes       {}\n  kernels     {}\n", costs_.rank().work.bytes.str(),
                       costs_.rank().work.kernels);
  }

  struct CostRow {
    std::string name;
    int64_t count;
    const StepCost *cost;
  };

  void printTable(StringRef title, StringRef count, llvm::ArrayRef<CostRow> rows) {
    // Formulas are as long as they are: a line each instead of a column.
    if (style_ == ReportStyle::Formulas) {
      for (const CostRow &row : rows) {
        os_ << fmt::format("\n  {} {}, {} {}\n", title.str(), row.name, count.str(), row.count);
        printFormulas({{"contraction", row.cost->contraction}, {"other", row.cost->other}, {"bytes", row.cost->bytes}});
      }
      return;
    }
    os_ << fmt::format("\n  {:<28} {:>8}  {:>18}  {:>16}  {:>14}\n", title.str(), count.str(), "contraction FLOPs",
                       "other FLOPs", "bytes");
    for (const CostRow &row : rows)
      os_ << fmt::format("  {:<28} {:>8}  {:>18}  {:>16}  {:>14}\n", row.name, row.count, flops(row.cost->contraction),
                         flops(row.cost->other), bytes(row.cost->bytes));
  }

  void printFormulas(llvm::ArrayRef<std::pair<const char *, DimExpr>> formulas) {
    for (const auto &[what, value] : formulas)
      os_ << fmt::format("    {:<12} {}\n", what, value.str());
  }

  void printUnits() {
    std::vector<CostRow> rows;
    for (const UnitRow &row : costs_.units)
      rows.push_back({row.path, row.units, &row.cost});
    printTable("unit", "units", rows);
  }

  void printOps() {
    std::vector<CostRow> rows;
    for (const auto &[name, cost] : costs_.byOp)
      rows.push_back({name, cost.kernels, &cost});
    llvm::stable_sort(rows, [](const CostRow &a, const CostRow &b) {
      auto value = [](const CostRow &row) { return numberOf(row.cost->contraction) + numberOf(row.cost->other); };
      return value(a) > value(b);
    });
    printTable("op", "kernels", rows);
  }

  /// Ranks at each place of the pipeline.
  void printClasses() {
    if (costs_.classes.size() == 1 || style_ == ReportStyle::Formulas)
      return;
    os_ << fmt::format("\n  {:<28} {:>8}  {:>18}  {:>16}  {:>14}  {:>14}\n", "rank of the pipeline", "nodes",
                       "contraction FLOPs", "other FLOPs", "bytes", "stored");
    for (size_t i = 0; i < costs_.classes.size(); ++i) {
      const RankCosts &one = costs_.classes[i];
      const StoredBytes &stored = one.stored;
      os_ << fmt::format("  {:<28} {:>8}  {:>18}  {:>16}  {:>14}  {:>14}\n", i, one.nodes, flops(one.work.contraction),
                         flops(one.work.other), bytes(one.work.bytes),
                         bytes(stored.weights + stored.gradients + stored.optimizer + stored.states));
    }
  }

  void printHostTraffic() {
    const HostTraffic &host = costs_.rank().host;
    if (host.loads + host.stores != 0)
      os_ << fmt::format("  host        {} loaded in {}, {} stored in {}{}\n", bytes(host.loaded),
                         counted(std::to_string(host.loads), "transfer"), bytes(host.stored),
                         counted(std::to_string(host.stores), "transfer"),
                         costs_.classes.size() > 1 ? " by that rank"
                         : ranks_ > 1              ? " by each rank"
                                                   : "");
  }

  void printCommunication() {
    if (costs_.classes.size() > 1)
      os_ << fmt::format("\n  on rank {} of the pipeline, the busiest:\n", costs_.busiest);
    if (costs_.rank().communication.empty())
      return;
    if (style_ == ReportStyle::Formulas) {
      for (const CommunicationSum &row : costs_.rank().communication) {
        os_ << fmt::format("\n  {} {}, ranks {}, count {}\n", row.kind, row.axes, row.groupSize, row.count);
        printFormulas({{"bytes", row.bytes}});
      }
      return;
    }
    os_ << fmt::format("\n  {:<18} {:<18} {:>8}  {:>18}  {:>16}\n", "communication", "axes", "ranks", "count", "bytes");
    for (const CommunicationSum &row : costs_.rank().communication)
      os_ << fmt::format("  {:<18} {:<18} {:>8}  {:>18}  {:>16}\n", row.kind, row.axes, row.groupSize, row.count,
                         bytes(row.bytes));
    printRouting();
  }

  void printRouting() {
    if (!program_.routing.isUneven())
      return;
    UnevenTraffic traffic = UnevenCommunication(program_).total();
    os_ << fmt::format(
        "\n  routing {}: figures are means over ranks; between experts, on all ranks, {} bytes, {} padded\n",
        toString(program_.routing), withCommas(traffic.trueBytes), withCommas(traffic.paddedBytes));
    for (const ExpertFamily &family : traffic.families)
      os_ << fmt::format("  {}: each of {} ranks sends {} tokens to {} experts, {} at most to one, {} dropped\n",
                         program_.text(family.experts).str(), family.senders, family.sent, family.count,
                         *std::max_element(family.taken.begin(), family.taken.end()), family.dropped());
  }

  void printWeights() {
    // Weights may have long paths and, as formulas, long counts.
    size_t widest = 6;
    for (const WeightRow &row : costs_.weights)
      widest = std::max(widest, row.path.size());
    os_ << fmt::format("\n  {:<{}} {:>6}  {:>18}\n", "weight", widest, "times", "parameters");
    for (const WeightRow &row : costs_.weights)
      os_ << fmt::format("  {:<{}} {:>6}  {:>18}  {}\n", row.path, widest, row.count,
                         style_ == ReportStyle::Formulas ? row.elements.str()
                                                         : withCommas(row.elements.integer().value_or(0)),
                         toString(row.type, *program_.context));
  }

  const std::string &name_;
  const Program &program_;
  ReportStyle style_;
  llvm::raw_ostream &os_;
  int64_t ranks_;
  WorkloadCosts costs_;
};

} // namespace

void stg::printReport(const CompiledWorkload &workload, ReportStyle style, llvm::raw_ostream &os) {
  ReportText(workload, style, os).print();
}
