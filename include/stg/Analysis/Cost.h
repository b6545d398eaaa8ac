//===- Cost.h - FLOPs of ops, bodies and programs ---------------------------===//
// Formulas follow the op's structure (language.md P5): a multiply-add is 2 FLOPs. Sizes are global but for RankShare.
// Contraction FLOPs are what model FLOPs utilisation counts; everything else is `other`. Programs must be Typed.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_COST_H
#define STG_ANALYSIS_COST_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg {

/// In FLOPs. Neither is null.
struct OpCost {
  DimExpr contraction, other;
};

/// Contract: operands that have dims, times the product of all factors. Map: FLOPs of the function per element, n-ary
/// ones per operand beyond the first. Reduce: 1 per element of the operand. Dropout 2, Masked 1 per element. Scatter: 1
/// per element that is added. Call: what the call says. The rest: none.
OpCost costOf(const Op &op, const Body &body, IRContext &context);

/// Sum over the ops of a body.
OpCost costOf(const Body &body, IRContext &context, PassStats &stats);

/// Units of each body, by BodyId: the factor by which a body's cost counts. Define blocks of calls have none.
std::vector<int64_t> unitsPerBody(const Program &program);

/// How often an op of this part runs in one step of a rank.
int64_t timesPerStep(Part part, const Program &program);

/// How often the ops of a body run in one step of a rank.
struct BodyRuns {
  int64_t inMicroBatches = 0; ///< units times the micro-batches that they take
  int64_t inStep = 0;         ///< units
  int64_t of(Part part) const { return runsOncePerStep(part) ? inStep : inMicroBatches; }
};
/// By BodyId, on the ranks at this place of the pipeline (0 without one).
std::vector<BodyRuns> runsPerBody(const Program &program, uint32_t pipelineRank);
/// Places in the pipeline; 1 without one.
inline uint32_t pipelineRanks(const Program &program) { return program.pipeline ? program.pipeline->ranks() : 1; }

/// Cost of one pass over all units: per body times its units, so an op is visited once whatever the number of layers.
OpCost costOf(const Program &program, PassStats &stats);

/// Elements of all weights: of the program, and owned by units.
DimExpr parameterCount(const Program &program);

/// What one rank computes and holds: the global figures below level Laid, its share of them from Laid on.
class RankShare {
public:
  explicit RankShare(const Program &program);
  /// Global figures.
  explicit RankShare(IRContext &context) : context_(context) {}

  /// FLOPs of the op, divided by the sizes of the atoms in `Op::compute`.
  OpCost costOf(const Op &op, const Body &body) const;
  DimExpr bytesOf(const TensorType &type, const std::optional<Layout> &layout) const;
  DimExpr bytesOf(const Value &value) const { return bytesOf(*value.type, value.layout); }
  /// Size of a dim that the value has.
  DimExpr sizeOf(const Value &value, NameId dim) const;
  /// What a call says that it moves; on a rank as much less as its operands and results are smaller. Null if the call
  /// says nothing.
  DimExpr declaredBytes(const Op &call, const Body &body) const;

private:
  IRContext &context_;
  /// Empty: everything is global.
  std::vector<MeshAtom> atoms_;
};

} // namespace stg

#endif
