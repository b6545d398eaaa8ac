//===- Partition.h - units of a model to stages ----------------------------===//
// A stage is a run of units, in model order and never empty. A partition is the number of units in each stage.
//
// Tests   unittests/Schedule/PartitionTest
//===----------------------------------------------------------------------===//
#ifndef STG_SCHEDULE_PARTITION_H
#define STG_SCHEDULE_PARTITION_H

#include "stg/IR/Plan.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace stg {

using Partition = std::vector<uint32_t>;

/// Stages whose numbers of units differ by at most one, the larger ones first. Nothing if there are fewer units than
/// stages.
std::optional<Partition> partitionEven(uint32_t units, uint32_t stages);

/// The partition whose most expensive stage costs least; of those, the one with the least sum of squares, so that no
/// stage is needlessly small (where that would take too long: the first that is found). Exact: the bound by binary
/// search, then the best partition below it stage by stage. O(units x (stages x units of a stage + log of the total)).
/// Nothing if there are fewer units than stages.
std::optional<Partition> partitionBalanced(llvm::ArrayRef<uint64_t> costs, uint32_t stages);

enum class CutFault : uint8_t {
  UnknownUnit, ///< no unit has this name
  OutOfOrder,  ///< the units of this name stand elsewhere in the model
  TooMany,     ///< `count` more than the model has
  Left,        ///< `count` units get no stage
  EmptyStage,  ///< a stage without units
};

struct CutRefusal {
  CutFault fault;
  /// Index of the stage; where units are left, the one before which they are missed.
  uint32_t stage = 0;
  std::string name;
  uint32_t count = 0;
  /// Units of this name in the model.
  uint32_t total = 0;
  /// Where units are left: index in the stage, before which they are missed.
  uint32_t item = 0;
};

/// The partition that a plan spells out, `[first, dense*3], [sparse*4], …`: of each stage its units, in order. All
/// units of the model must be there.
std::variant<Partition, CutRefusal> partitionAsListed(llvm::ArrayRef<UnitRun> model,
                                                      llvm::ArrayRef<std::vector<UnitRun>> stages);

} // namespace stg

#endif
