//===- RankUnroller.h - the nodes of one class of ranks ---------------------===//
#pragma once

#include "Messages.h"
#include "TensorNames.h"

namespace stg {

/// What all classes of ranks share.
struct UnrollPlan {
  const Program &program;
  const ProcessGroups &groups;
  UnrollOptions options;
  std::vector<std::optional<BodyTemplate>> templates; ///< by body
  std::optional<SlotOrigins> origins;
  std::optional<Messages> messages; ///< of a pipeline
  std::vector<uint64_t> sumBytes;   ///< per sum of the pipeline
  /// Without a pipeline: all units in one stage, one micro-batch after the other.
  std::vector<uint32_t> firstUnits;
  std::vector<ActionList> lists;
  std::optional<RankClasses> classes;

  const BodyTemplate &templateOf(UnitId id) const { return *templates[program.units[id.index].body.index]; }
};

void unrollRank(const UnrollPlan &plan, uint32_t rankClass, llvm::function_ref<void(const TraceNode &)> consume);

} // namespace stg
