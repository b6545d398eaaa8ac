//===- WorkloadCosts.h - the sums behind a report ---------------------------===//
// Everything is a sum over kernels and collectives per body, times the units of that body and the micro-batches of the
// step: the cost law holds for reports too. All ranks run the same program.
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

/// Collectives of one kind over the same axes, on one rank in one step.
struct CommunicationSum {
  OpKind kind;
  std::string axes;
  int64_t groupSize;
  int64_t count;
  DimExpr bytes; ///< of this rank's inputs
};

struct WorkloadCosts {
  DimExpr parameters, weightBytes; ///< of the whole model
  std::vector<WeightRow> weights;
  /// Of the whole step, every op once however many ranks repeat it.
  OpCost model;
  StepCost rank;
  /// FLOPs that all ranks execute.
  DimExpr hardware;
  std::vector<UnitRow> units; ///< per body, in order of first appearance
  std::map<std::string, StepCost> byOp;
  std::vector<CommunicationSum> communication; ///< by axes, then kind
  StoredBytes stored;
  /// Nodes of a rank's trace.
  int64_t nodes = 0;
};

WorkloadCosts costsOf(const Program &program);

} // namespace stg

#endif
