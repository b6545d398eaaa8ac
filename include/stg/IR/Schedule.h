//===- Schedule.h - stages on ranks, and what each rank does ---------------===//
// Here a rank is a coordinate on the pipeline axis.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_SCHEDULE_H
#define STG_IR_SCHEDULE_H

#include "stg/IR/Action.h"
#include "llvm/ADT/StringRef.h"

namespace stg {

enum class ScheduleKind : uint8_t {
#define SCHEDULE(Kind, name) Kind,
#include "stg/IR/Schedules.def"
};

inline constexpr ScheduleKind kScheduleKinds[] = {
#define SCHEDULE(Kind, name) ScheduleKind::Kind,
#include "stg/IR/Schedules.def"
};

llvm::StringRef nameOf(ScheduleKind kind);
std::optional<ScheduleKind> scheduleNamed(llvm::StringRef name);

/// Where the stages live. DualPipe keeps two copies of the model, and each takes half of the micro-batches; every other
/// schedule keeps one.
struct Placement {
  uint32_t ranks = 0;
  uint32_t stages = 0;
  uint32_t microBatches = 0;
  /// Of each copy the rank of every stage.
  std::vector<std::vector<uint32_t>> copies;

  uint32_t microBatchesPerCopy() const { return microBatches / static_cast<uint32_t>(copies.size()); }
  /// The copy that a micro-batch runs through: the first half of them takes the first copy.
  uint32_t copyOf(uint32_t microBatch) const { return microBatch / microBatchesPerCopy(); }
  uint32_t rankOf(uint32_t stage, uint32_t microBatch) const { return copies[copyOf(microBatch)][stage]; }
  /// The stages whose weights a rank holds, copy by copy, in model order.
  std::vector<uint32_t> stagesOf(uint32_t rank) const;

  bool operator==(const Placement &) const = default;
};

/// Stage s on rank s mod p: a micro-batch goes round the ranks once per chunk. With one chunk, stage and rank agree.
Placement loopPlacement(uint32_t ranks, uint32_t chunks, uint32_t microBatches);
/// Two chunks: rank r holds stages r and 2p - 1 - r, so that the last stage stands beside the first.
Placement vPlacement(uint32_t ranks, uint32_t microBatches);
/// DualPipe: rank r holds stage r of one copy and stage p - 1 - r of the other; `microBatches` is even.
Placement twoWayPlacement(uint32_t ranks, uint32_t microBatches);

struct Schedule {
  Placement placement;
  std::vector<ActionList> ranks;
  bool operator==(const Schedule &) const = default;
};

} // namespace stg

#endif
