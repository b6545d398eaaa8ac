//===- ExplainSchedule.cpp --------------------------------------------------===//
#include "PathText.h"
#include "ScheduleRuns.h"
#include "stg/IR/ScheduleText.h"
#include "stg/Support/CountText.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

using namespace stg;
using llvm::StringRef;

namespace {

class ScheduleExplanation {
public:
  ScheduleExplanation(const CompiledWorkload &workload, const ScheduleCostOptions &options, size_t width,
                      llvm::raw_ostream &os)
      : name_(workload.name), program_(workload.program), pipeline_(*program_.pipeline), options_(options),
        width_(width), os_(os), facts_(scheduleFacts(program_)) {}

  void print() {
    os_ << fmt::format("{}: schedule {} of {} on {}\n", name_, facts_.name, program_.text(program_.name).str(),
                       meshText(program_.mesh));
    os_ << fmt::format("  {} over {} = {}, {}\n", counted(std::to_string(pipeline_.stages()), "stage"),
                       program_.plan.pipeline->axis, pipeline_.ranks(), microBatchText(pipeline_.placement));
    printStages();
    printLists();
    std::vector<ScheduleRun> runs = scheduleRuns(program_, facts_.schedule, options_);
    for (const ScheduleRun &run : runs)
      printRun(run);
    if (!options_.given && llvm::all_of(runs, [](const ScheduleRun &run) { return run.stages.empty(); }))
      os_ << "\n  cost model: a kernel would take 2^63 ns or more\n";
  }

private:
  //===--------------------------------------------------------------------===//
  // Stages
  //===--------------------------------------------------------------------===//

  /// `first, blocks[0..8]`.
  std::string unitsText(uint32_t stage) const {
    std::vector<std::string> runs;
    uint32_t end = pipeline_.firstUnits[stage + 1];
    for (uint32_t i = pipeline_.firstUnits[stage]; i < end;) {
      const Unit &first = program_.units[i];
      uint32_t next = i + 1;
      while (next < end && first.index >= 0 && program_.units[next].path == first.path &&
             program_.units[next].index == first.index + (next - i))
        ++next;
      runs.push_back(next == i + 1 ? program_.unitPath(first)
                                   : fmt::format("{}[{}..{}]", program_.text(first.path).str(), first.index,
                                                 first.index + (next - i)));
      i = next;
    }
    return llvm::join(runs, ", ");
  }

  void printStages() {
    os_ << fmt::format("\n  {:<7} {:<9} {}\n", "stage", "rank", "units");
    for (uint32_t stage = 0; stage < pipeline_.stages(); ++stage) {
      std::string ranks;
      for (const std::vector<uint32_t> &copy : pipeline_.placement.copies)
        ranks += (ranks.empty() ? "" : ", ") + std::to_string(copy[stage]);
      os_ << fmt::format("  {:<7} {:<9} {}\n", stage, ranks, unitsText(stage));
    }
  }

  //===--------------------------------------------------------------------===//
  // Lists
  //===--------------------------------------------------------------------===//

  void printLists() {
    os_ << "\n";
    for (uint32_t rank = 0; rank < pipeline_.ranks(); ++rank)
      printList(rank);
  }

  /// Lines behind the first are indented as far as the actions of the first.
  void printList(uint32_t rank) {
    std::string label = fmt::format("  rank {}:", rank);
    os_ << label;
    size_t column = label.size();
    for (const Slot &slot : pipeline_.lists[rank]) {
      std::string text = textOf(slot, pipeline_.placement);
      if (column + 1 + text.size() > width_ && column > label.size()) {
        os_ << "\n" << std::string(label.size(), ' ');
        column = label.size();
      }
      os_ << " " << text;
      column += 1 + text.size();
    }
    os_ << "\n";
  }

  //===--------------------------------------------------------------------===//
  // Times
  //===--------------------------------------------------------------------===//

  bool isTrained() const { return !facts_.inFlight.empty(); }

  void printRun(const ScheduleRun &run) {
    os_ << "\n  " << run.costText << "\n";
    if (!run.stages.empty())
      printStageTimes(run);
    os_ << fmt::format("    makespan {}, bubble {:.1f} %", run.scale.text(run.times.makespan), 100 * run.bubble());
    if (double span = run.times.longestSpan(); span < run.times.makespan * (1 - 1e-9))
      os_ << fmt::format("; a rank takes {} at most from its first action to its last", run.scale.text(span));
    os_ << fmt::format("\n    {:<5} {:>14} {:>14} {:>10}{}\n", "rank", "busy", "idle", "bubble",
                       isTrained() ? fmt::format(" {:>12}", "in flight") : "");
    for (uint32_t rank = 0; rank < pipeline_.ranks(); ++rank) {
      os_ << fmt::format("    {:<5} {:>14} {:>14} {:>8.1f} %", rank, run.scale.text(run.times.ranks[rank].busy),
                         run.scale.text(run.times.bubble(rank)), 100 * run.bubble(rank));
      os_ << (isTrained() ? fmt::format(" {:>12}\n", facts_.inFlight[rank]) : "\n");
    }
  }

  void printStageTimes(const ScheduleRun &run) {
    os_ << fmt::format("    {:<5} {:>14}", "stage", "F");
    if (isTrained())
      os_ << fmt::format(" {:>14} {:>14}", "I", "W");
    os_ << "\n";
    uint64_t longest = 0;
    for (const StageTimes &times : run.stages)
      longest = std::max({longest, times.forward, times.inputGrad, times.weightGrad});
    TimeScale scale = scaleOfNanoseconds(static_cast<double>(longest));
    auto text = [&](uint64_t time) { return scale.text(static_cast<double>(time)); };
    for (uint32_t stage = 0; stage < run.stages.size(); ++stage) {
      const StageTimes &times = run.stages[stage];
      os_ << fmt::format("    {:<5} {:>14}", stage, text(times.forward));
      if (isTrained())
        os_ << fmt::format(" {:>14} {:>14}", text(times.inputGrad), text(times.weightGrad));
      os_ << "\n";
    }
  }

  const std::string &name_;
  const Program &program_;
  const Pipeline &pipeline_;
  const ScheduleCostOptions &options_;
  size_t width_;
  llvm::raw_ostream &os_;
  ScheduleFacts facts_;
};

} // namespace

void stg::explainSchedule(const CompiledWorkload &workload, const ScheduleCostOptions &options, size_t width,
                          llvm::raw_ostream &os) {
  ScheduleExplanation(workload, options, width, os).print();
}
