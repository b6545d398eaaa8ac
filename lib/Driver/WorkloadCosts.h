//===- WorkloadCosts.h - the sums behind a report ---------------------------===//
// Everything is a sum over kernels and collectives per body, times the units of that body and the micro-batches of the
// step: the cost law holds for reports too. Ranks at one place of the pipeline run the same program.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_DRIVER_WORKLOADCOSTS_H
#define STG_LIB_DRIVER_WORKLOADCOSTS_H

#include "stg/Analysis/Kernels.h"
#include "stg/Analysis/Storage.h"
#include <map>

namespace stg {

/// Of a group of kernels, on one rank in one step. Contractions are those of forward and backward, which model FLOPs
/// utilisation counts; contractions of a recomputation or an optimizer are other work.
struct StepCost {
  DimExpr contraction, other, bytes;
  int64_t kernels = 0; ///< nodes of the trace
};

struct WeightRow {
  std::string path; ///< `blocks[*].attn.wq`
  TensorType type;
  int64_t count;    ///< instances
  DimExpr elements; ///< of all instances
};

struct UnitRow {
  std::string path;
  int64_t units;
  StepCost cost;
};

/// Collectives of one kind over the same axes, or messages along the pipeline, on one rank in one step.
struct CommunicationSum {
  std::string kind; ///< `all_reduce`, `send`
  std::string axes;
  int64_t groupSize;
  int64_t count;
  DimExpr bytes; ///< of this rank's inputs
};

/// To the memory of the host and back, on one rank in one step; transfers and their bytes.
struct HostTraffic {
  int64_t loads = 0, stores = 0;
  DimExpr loaded, stored;
};

/// What a rank of a class does and holds. A class is a place in the pipeline; without one there is one class.
struct RankCosts {
  int64_t ranks = 1;
  StepCost work;
  std::vector<CommunicationSum> communication; ///< by axes, then kind
  HostTraffic host;
  StoredBytes stored;
  int64_t nodes = 0; ///< of a rank's trace
};

struct WorkloadCosts {
  DimExpr parameters, activeParameters, weightBytes; ///< of the whole model; active: what one token passes through
  std::vector<WeightRow> weights;
  /// Of the whole step, every op once however many ranks repeat it.
  OpCost model;
  /// What of it is computed again for the backward; all of it is among the others of `model`.
  OpCost recomputed;
  /// FLOPs that all ranks execute.
  DimExpr hardware;
  /// Per body, in order of first appearance; with a pipeline on all stages together.
  std::vector<UnitRow> units;
  std::map<std::string, StepCost> byOp;
  std::vector<RankCosts> classes;
  /// Index of the class with most FLOPs, and of that which stores most.
  size_t busiest = 0, fullest = 0;

  const RankCosts &rank() const { return classes[busiest]; }
  const StoredBytes &stored() const { return classes[fullest].stored; }
};

WorkloadCosts costsOf(const Program &program);

/// For shares and comparisons. 0 where the value is too large to have a number: such counts print as formulas, and a
/// trace of them is refused (E752).
double numberOf(DimExpr value);

} // namespace stg

#endif
