//===- Pipeline.cpp - which rank has what ------------------------------------===//
#include "stg/IR/Program.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>

namespace stg {

std::optional<uint32_t> Pipeline::stageOf(UnitId unit) const {
  if (unit.index >= firstUnits.back())
    return std::nullopt;
  auto behind = std::upper_bound(firstUnits.begin(), firstUnits.end(), unit.index);
  return static_cast<uint32_t>(behind - firstUnits.begin() - 1);
}

bool Pipeline::runsOn(UnitId unit, uint32_t rank) const {
  if (std::optional<uint32_t> stage = stageOf(unit))
    return llvm::any_of(placement.copies, [&](const auto &copy) { return copy[*stage] == rank; });
  const std::optional<uint32_t> &only = stepRanks[unit.index - firstUnits.back()];
  return !only || *only == rank;
}

uint32_t pipelineRankOf(const Program &program, int64_t rank) {
  if (!program.pipeline)
    return 0;
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  int64_t place = 0;
  for (uint32_t atom : program.pipeline->atoms)
    place = place * atoms[atom].size + coordinate(rank, atoms[atom]);
  return static_cast<uint32_t>(place);
}

WeightPlace weightAt(const Program &program, UnitId id, uint32_t slot) {
  const Unit &unit = program.units[id.index];
  const Body &body = program.body(unit);
  if (body.weights[slot].owned)
    return UnitSlot{id, slot};
  size_t binding = 0;
  for (uint32_t i = 0; i < slot; ++i)
    binding += !body.weights[i].owned;
  return unit.weights[binding];
}

} // namespace stg
