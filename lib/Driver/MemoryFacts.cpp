//===- MemoryFacts.cpp ------------------------------------------------------===//
#include "MemoryFacts.h"
#include "llvm/ADT/STLExtras.h"
#include <fmt/format.h>

namespace stg {

std::optional<MemoryFacts> memoryFacts(const Program &program) {
  PassStats stats;
  std::optional<MemoryOverTime> memory = MemoryOverTime::create(program, stats);
  if (!memory)
    return std::nullopt;
  MemoryFacts facts{std::move(*memory), {}};
  for (uint32_t i = 0; i < facts.memory.classes(); ++i) {
    std::optional<MemoryPeak> peak = facts.memory.peak(i);
    if (!peak)
      return std::nullopt;
    facts.peaks.push_back(std::move(*peak));
    if (facts.peaks[i].bytes() > facts.peak().bytes())
      facts.worst = i;
  }
  return facts;
}

std::string classText(const Program &program, uint32_t place) {
  return program.pipeline ? "rank " + std::to_string(place) : program.mesh.ranks() > 1 ? "each rank" : "the rank";
}

std::vector<UnitGroup> groupsOf(const Program &program, const MemoryPeak &peak) {
  std::vector<UnitMemory> units = peak.units;
  llvm::sort(units, [](const UnitMemory &a, const UnitMemory &b) { return a.unit.index < b.unit.index; });
  std::vector<UnitGroup> groups;
  for (size_t i = 0; i < units.size();) {
    const Unit &first = program.units[units[i].unit.index];
    size_t next = i + 1;
    while (next < units.size() && first.index >= 0 && units[next].unit.index == units[i].unit.index + (next - i) &&
           program.units[units[next].unit.index].path == first.path && units[next].bytes == units[i].bytes &&
           units[next].microBatches == units[i].microBatches)
      ++next;
    auto count = static_cast<uint32_t>(next - i);
    groups.push_back({count == 1
                          ? program.unitPath(first)
                          : fmt::format("{}[{}..{}]", program.text(first.path).str(), first.index, first.index + count),
                      count, units[i]});
    i = next;
  }
  llvm::stable_sort(groups, [](const UnitGroup &a, const UnitGroup &b) { return a.total() > b.total(); });
  return groups;
}

} // namespace stg
