//===- MakeSchedule.h - the built-in pipeline schedules --------------------===//
// Each is a pure function from sizes to one action list per rank. Rules, with p ranks, m micro-batches, v chunks, rank
// r from 0:
//   gpipe             all F, all B
//   1f1b              min(m, p - 1 - r) forwards, then F and B in turn (PipeDream-Flush; Megatron-LM schedules.py)
//   interleaved_1f1b  forwards in groups of micro-batches, chunk after chunk; (v - 1) g + 2 (p - 1 - r) of them before
//                     F and B alternate (Megatron-LM schedules.py; g is its microbatch_group_size_per_vp_stage)
//   interleaved_zb    the same with (v - 1) g + p - 1 - r forwards first and W r backwards behind
//                     (PyTorch ScheduleInterleavedZeroBubble)
//   zb_h1, zb_h2      1f1b with W r backwards behind; 2 (p - 1 - r) forwards first and W 2 r behind
//                     (Qi et al., Zero Bubble Pipeline Parallelism, 2401.10241)
//   zb_v              PyTorch ScheduleZBVZeroBubble
//   dualpipe(v)       deepseek-ai/DualPipe dualpipe.py, dualpipev.py
//
// Cost    linear in the actions. Deterministic.
// Tests   unittests/Schedule/MakeScheduleTest, ScheduleSizesTest, AllSchedulesTest
//===----------------------------------------------------------------------===//
#ifndef STG_SCHEDULE_MAKESCHEDULE_H
#define STG_SCHEDULE_MAKESCHEDULE_H

#include "stg/IR/Schedule.h"
#include <string>
#include <variant>

namespace stg {

struct ScheduleSizes {
  uint32_t ranks = 1;
  /// Stages per rank; in `dualpipe`, of one copy.
  uint32_t chunks = 1;
  uint32_t microBatches = 1;
  /// `interleaved_1f1b`: micro-batches that a chunk takes before the next chunk has its turn; as many as ranks if
  /// absent.
  std::optional<uint32_t> group = std::nullopt;
};

/// The only number of chunks that a schedule can have; nothing if it is free to choose.
std::optional<uint32_t> fixedChunks(ScheduleKind kind);

enum class ScheduleSize : uint8_t { Ranks, Chunks, MicroBatches, Group };

/// What a size must be.
enum class SizeRule : uint8_t {
  AtLeast,     ///< `bound` or more
  AtMost,      ///< `bound` or less
  Exactly,     ///< `bound`
  MultipleOf,  ///< of `bound`
  EqualRounds, ///< a multiple of `bound`, the number of rounds of at least p micro-batches
  NoShortEnd,  ///< a multiple of the group, or at least `bound` over one
};

/// A size that a schedule cannot have.
struct ScheduleRefusal {
  ScheduleKind schedule;
  ScheduleSize size;
  SizeRule rule;
  uint32_t bound;
  uint32_t have;
  /// The nearest values of this size that fit, the other sizes as they are.
  std::optional<uint32_t> below;
  std::optional<uint32_t> above;
};

/// `dualpipe needs ranks in multiples of 2, not 5; 4 and 6 work`.
std::string textOf(const ScheduleRefusal &refusal);

/// `micro-batches in multiples of 4`.
std::string ruleOf(const ScheduleRefusal &refusal);

/// The first rule of the schedule that the sizes break.
std::optional<ScheduleRefusal> refuse(ScheduleKind kind, const ScheduleSizes &sizes);

/// Where the schedule has its stages, for sizes that it can have.
Placement placementOf(ScheduleKind kind, const ScheduleSizes &sizes);

std::variant<Schedule, ScheduleRefusal> makeSchedule(ScheduleKind kind, const ScheduleSizes &sizes);

} // namespace stg

#endif
