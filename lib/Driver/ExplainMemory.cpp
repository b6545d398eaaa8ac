//===- ExplainMemory.cpp ----------------------------------------------------===//
#include "ExplainText.h"
#include "MemoryFacts.h"
#include "PathText.h"
#include "stg/Driver/Explain.h"
#include "stg/Driver/MemorySvg.h"
#include "stg/IR/ScheduleText.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

using namespace stg;

namespace {

/// Units that a table names; the rest is summed up.
constexpr size_t kMostUnits = 12;

std::string sizeText(int64_t bytes) { return bytes == 0 ? "0" : bytesText(static_cast<double>(bytes)); }

std::string stepText(const Program &program) {
  std::string text = program.mode == Mode::Train || program.mode == Mode::Decode ? "step" : "pass";
  return spelling(program.mode).str() + " " + text;
}

/// Where the peak is: the node, or the action for which messages arrive.
std::string whenText(const Program &program, const MemoryTime &when) {
  if (!when.node.empty())
    return when.node;
  if (!when.action)
    return "nothing moves";
  return fmt::format("messages arrive for {}{}", letterOf(when.action->kind), when.action->microBatch) +
         (program.pipeline ? fmt::format(" of stage {}", when.action->stage) : "");
}

class MemoryExplanation {
public:
  MemoryExplanation(const CompiledWorkload &workload, llvm::raw_ostream &os)
      : name_(workload.name), program_(workload.program), os_(os), facts_(memoryFacts(program_)) {}

  void print() {
    os_ << fmt::format("{}: memory of a {} of {} on {}\n", name_, stepText(program_),
                       program_.text(program_.name).str(), meshText(program_.mesh));
    if (!facts_) {
      os_ << "  sizes are beyond any memory\n";
      return;
    }
    printClasses();
    printUnits();
  }

private:
  /// Kinds of which some rank has something.
  std::vector<MemoryKind> kinds() const {
    std::vector<MemoryKind> kinds;
    for (size_t i = 0; i < kDeviceMemoryKinds; ++i)
      if (llvm::any_of(facts_->peaks, [&](const MemoryPeak &peak) { return peak.alive.of[i] != 0; }))
        kinds.push_back(static_cast<MemoryKind>(i));
    return kinds;
  }

  /// Ranks of the pipeline whose memory is the same, and the first of them: `rank 0, 2`, `rank 1 to 14`.
  std::vector<std::pair<std::string, uint32_t>> columnsOf() const {
    std::vector<std::vector<uint32_t>> groups;
    for (uint32_t i = 0; i < facts_->peaks.size(); ++i) {
      auto same = llvm::find_if(
          groups, [&](const auto &group) { return facts_->peaks[group[0]].alive == facts_->peaks[i].alive; });
      (same == groups.end() ? groups.emplace_back() : *same).push_back(i);
    }
    std::vector<std::pair<std::string, uint32_t>> columns;
    for (const std::vector<uint32_t> &group : groups) {
      std::string title = classText(program_, group[0]);
      for (size_t i = 1; i < group.size(); ++i) {
        size_t last = i;
        while (last + 1 < group.size() && group[last + 1] == group[last] + 1)
          ++last;
        bool isRun = group[i] == group[i - 1] + 1 && last > i;
        title += (isRun ? " to " : ", ") + std::to_string(group[isRun ? last : i]);
        i = isRun ? last : i;
      }
      columns.push_back({std::move(title), group[0]});
    }
    return columns;
  }

  void printClasses() {
    std::vector<std::pair<std::string, uint32_t>> columns = columnsOf();
    size_t width = 14;
    for (const auto &[title, place] : columns)
      width = std::max(width, title.size());
    auto row = [&](llvm::StringRef title, auto text) {
      os_ << fmt::format("  {:<18}", title.str());
      for (const auto &column : columns)
        os_ << fmt::format("  {:>{}}", text(column), width);
      os_ << "\n";
    };
    os_ << "\n";
    row("at the peak of", [](const auto &column) { return column.first; });
    for (MemoryKind kind : kinds())
      row(nameOf(kind), [&](const auto &column) { return sizeText(facts_->peaks[column.second].alive[kind]); });
    row("together", [&](const auto &column) { return sizeText(facts_->peaks[column.second].bytes()); });
    if (llvm::any_of(facts_->peaks, [](const MemoryPeak &peak) { return peak.host != 0; }))
      row("host, at most", [&](const auto &column) { return sizeText(facts_->peaks[column.second].host); });
    os_ << "\n";
    for (const auto &[title, place] : columns)
      os_ << fmt::format("  {}: {}\n", title, whenText(program_, facts_->peaks[place].when));
  }

  void printUnits() {
    std::vector<UnitGroup> groups = groupsOf(program_, facts_->peak());
    if (groups.empty())
      return;
    if (facts_->peaks.size() > 1)
      os_ << fmt::format("\n  on {}, the fullest, largest first:\n", classText(program_, facts_->worst));
    size_t width = 4;
    for (const UnitGroup &group : groups)
      width = std::max(width, group.name.size());
    os_ << fmt::format("\n  {:<{}}  {:>13}", "unit", width, "micro-batches");
    std::vector<MemoryKind> moving;
    for (MemoryKind kind : kinds())
      if (!isKept(kind))
        moving.push_back(kind);
    for (MemoryKind kind : moving)
      os_ << fmt::format("  {:>16}", std::string_view(nameOf(kind)));
    os_ << fmt::format("  {:>14}\n", "together");
    int64_t rest = 0;
    for (size_t i = 0; i < groups.size(); ++i) {
      const UnitGroup &group = groups[i];
      if (i >= kMostUnits && groups.size() > kMostUnits + 1) {
        rest += group.total();
        continue;
      }
      os_ << fmt::format("  {:<{}}  {:>13}", group.name, width, group.each.microBatches);
      for (MemoryKind kind : moving)
        os_ << fmt::format("  {:>16}", sizeText(group.each.bytes[kind] * group.units));
      os_ << fmt::format("  {:>14}\n", sizeText(group.total()));
    }
    if (rest != 0)
      os_ << fmt::format("  {} more units: {}\n", groups.size() - kMostUnits, sizeText(rest));
  }

  const std::string &name_;
  const Program &program_;
  llvm::raw_ostream &os_;
  std::optional<MemoryFacts> facts_;
};

MemoryChart chartOf(const CompiledWorkload &workload, std::optional<int64_t> limit, llvm::StringRef limitText) {
  const Program &program = workload.program;
  MemoryChart chart;
  chart.title = fmt::format("{}: memory of a {} of {} on {}", workload.name, stepText(program),
                            program.text(program.name).str(), meshText(program.mesh));
  chart.limit = limit.value_or(0);
  chart.limitText = limitText.str();
  std::optional<MemoryFacts> facts = memoryFacts(program);
  if (!facts)
    return chart;
  chart.subtitle = fmt::format(
      "{}{}, at most {}: {}", classText(program, facts->worst), program.pipeline ? " of the pipeline, the fullest" : "",
      bytesText(static_cast<double>(facts->peak().bytes())), whenText(program, facts->peak().when));
  for (const MemoryPoint &point : facts->memory.curve(facts->worst)) {
    std::string action = "step";
    if (point.action && program.pipeline)
      action = textOf(*point.action, program.pipeline->placement);
    else if (point.action)
      action = letterOf(point.action->kind) + std::to_string(point.action->microBatch);
    chart.points.push_back(
        {std::move(action), program.unitPath(program.units[point.unit.index]), point.alive, point.most});
  }
  return chart;
}

} // namespace

void stg::explainMemory(const CompiledWorkload &workload, llvm::raw_ostream &os) {
  MemoryExplanation(workload, os).print();
}

std::string stg::memorySvg(const std::vector<CompiledWorkload> &workloads, std::optional<int64_t> limit,
                           llvm::StringRef limitText) {
  std::vector<MemoryChart> charts;
  for (const CompiledWorkload &workload : workloads)
    charts.push_back(chartOf(workload, limit, limitText));
  return svgOf(charts);
}
