//===- RankClasses.cpp - ranks that have the same nodes ----------------------===//
#include "stg/Trace/RankClasses.h"
#include "stg/Trace/ProcessGroups.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

RankClasses::RankClasses(const Program &program, AtomList loadAtoms)
    : mesh_(program.mesh), loadAtoms_(std::move(loadAtoms)) {
  if (program.pipeline)
    pipelineAtoms_ = program.pipeline->atoms;
  places_ = static_cast<uint32_t>(groupSize(pipelineAtoms_, mesh_.atoms()));
  loads_ = static_cast<uint32_t>(groupSize(loadAtoms_, mesh_.atoms()));
  digits_ = digitsOf(pipelineAtoms_, mesh_);
  for (bundle::Digit &digit : digits_)
    digit.weight *= loads_;
  llvm::append_range(digits_, digitsOf(loadAtoms_, mesh_));
}

uint32_t RankClasses::firstRank(uint32_t rankClass) const {
  uint32_t rank = 0;
  for (const bundle::Digit &digit : digits_)
    rank += rankClass / digit.weight % digit.size * digit.stride;
  return rank;
}

bundle::RankSet RankClasses::ranks(uint32_t rankClass) const {
  AtomList others;
  for (uint32_t atom = 0; atom < mesh_.atoms().size(); ++atom)
    if (!llvm::is_contained(pipelineAtoms_, atom) && !llvm::is_contained(loadAtoms_, atom))
      others.push_back(atom);
  return {.first = firstRank(rankClass), .spans = digitsOf(others, mesh_)};
}

} // namespace stg
