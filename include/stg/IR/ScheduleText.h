//===- ScheduleText.h - action lists as text -------------------------------===//
// The notation of publications: `2F0` is the forward of micro-batch 0 in stage 2, `(0F7&1B3)` an overlapped pair. Where
// the model has two copies (DualPipe), the first number is the copy and the last counts the copy's micro-batches, as in
// DeepSeek's code: which stage is meant follows from the rank. PyTorch's CSV has a row per rank and a slot per cell.
//
// Tests   unittests/Schedule/ScheduleTextTest, ScheduleCsvTest
//===----------------------------------------------------------------------===//
#ifndef STG_IR_SCHEDULETEXT_H
#define STG_IR_SCHEDULETEXT_H

#include "stg/IR/Schedule.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <variant>

namespace stg {

enum class ScheduleTextFault : uint8_t {
  NotAnAction,      ///< `seen` is no number, letter, number
  NumberTooLarge,   ///< a stage or micro-batch that no schedule reaches
  UnknownAction,    ///< letters that are not an action's
  NoMicroBatch,     ///< a compute action without a micro-batch
  BadPair,          ///< a pair that is not two actions, closed as the notation closes it
  NoSuchStage,      ///< more than the placement has
  NoSuchMicroBatch, ///< more than the placement has
  WrongRankLabel,   ///< not the next rank, followed by `:`
  NoActions,        ///< a row without any, or a text without rows
  StageOnTwoRanks,  ///< a row names a stage of an earlier row
  StageWithoutRank, ///< a number left out between stages
  RowsAndRanks,     ///< not one row for each rank
};

/// Where a text is wrong; lines and columns from 1.
struct ScheduleTextError {
  ScheduleTextFault fault;
  uint32_t line = 1;
  uint32_t column = 1;
  std::string seen;
};

/// `2G0 is not an action; …`.
std::string faultOf(const ScheduleTextError &error);
/// `line 3, column 5: 2G0 is not an action; …`.
std::string textOf(const ScheduleTextError &error);

/// `2F0`; with two copies, `0F3` for micro-batch 3 of the first.
std::string textOf(const Action &action, const Placement &placement);
std::string textOf(const Slot &slot, const Placement &placement);
/// `0F0 0F1 (0F7&1B3)`.
std::string textOf(const ActionList &actions, const Placement &placement);
/// A line `rank: actions` for each rank.
std::string textOf(const Schedule &schedule);

std::variant<ActionList, ScheduleTextError> readActions(llvm::StringRef text, uint32_t rank,
                                                        const Placement &placement);
/// Reads what textOf(Schedule) prints; empty lines mean nothing.
std::variant<Schedule, ScheduleTextError> readSchedule(llvm::StringRef text, const Placement &placement);

/// A schedule of a file, which says nothing of its placement but by the rows in which stages stand.
struct CsvSchedule {
  Schedule schedule;
  /// Cells with sends, receives, unshards and the like, which are not read: the compiler derives those itself.
  uint32_t skipped = 0;
};

/// Reads PyTorch's CSV (`_PipelineScheduleRuntime._load_csv`). Empty cells are idle slots and mean nothing: ranks wait
/// for what they need. In files of before 2025 `B` is the input gradient: so it is read where there is `W` but no `I`.
std::variant<CsvSchedule, ScheduleTextError> readScheduleCsv(llvm::StringRef text);
/// Writes what PyTorch reads as format "compute_only", by stages; one copy of the model.
std::string csvOf(const Schedule &schedule);

} // namespace stg

#endif
