//===- Elaborate.h - from a model, a plan and a workload to a Program -------===//
// Needs    parsed modules.
// Gives    Elaborated: names resolved, layers inlined into bodies, units and weights known.
// Refuses  E2xx (names and types), E3xx to E6xx for what a plan or workload asks for.
// Cost     O(distinct bodies x ops); units cost what they bind, not what they compute.
// Tests    test/Sema, unittests/Sema
//===----------------------------------------------------------------------===//
#ifndef STG_SEMA_ELABORATE_H
#define STG_SEMA_ELABORATE_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Sema/Modules.h"
#include "stg/Sema/Precision.h"
#include "stg/Sema/Values.h"
#include <optional>

namespace stg {

/// `set blocks[3].ffn.act = relu`, or `--set model.L=16` (then `pattern` is empty and the parameter is the model's).
struct Override {
  PathPattern pattern; ///< of the instance
  std::string parameter;
  const ast::Expr *value = nullptr;
  std::string text; ///< as written, for messages
  SourceRange where;
  bool fromCommandLine = false;
};

/// More units than any program of today has; each costs a few dozen bytes.
inline constexpr int64_t kMaxUnits = 1'000'000;

/// `microbatch n`: the model's B becomes n times the ranks that split it, and a step has as many of these micro-batches
/// as make up the B that was asked for.
struct MicroBatching {
  int64_t perRank = 1, ranks = 1;
  std::string axes; ///< that split B, `dp = 32`, for messages
  SourceRange where;
};

/// `optimizer adamw() in sel`, or `train { optimizer = f }`, which has no scope and comes last.
struct OptimizerChoice {
  NamedItem item; ///< null: none, the weights are frozen
  std::vector<StaticArgument> arguments;
  Scopes scopes;
  SourceRange where;
};

struct ElaborateSettings {
  Mode mode = Mode::Forward;
  int64_t past = 0; ///< positions already in the cache (decode)
  Precision precision;
  std::vector<Override> overrides;
  int64_t maxUnits = kMaxUnits;
  std::optional<MicroBatching> microBatching;
  std::vector<OptimizerChoice> optimizers;
  SourceRange trainAt; ///< `train` of the workload
};

/// Elaborates `item` (a model) with static arguments; of the plan the micro-batches and the optimizers. All values
/// still have their types. Null after errors. `stats` counts the ops that were made, each as often as a statement made
/// it: the cost law holds for elaboration too.
std::optional<Program> elaborateModel(NamedItem item, llvm::ArrayRef<StaticArgument> arguments, SourceRange call,
                                      const ElaborateSettings &settings, std::shared_ptr<IRContext> context,
                                      const SourceManager &sources, Diagnostics &diags, PassStats &stats);

/// Level Elaborated promises types on leaves only; infer-shapes gives the rest.
void forgetTypes(Program &program);

/// E601: nothing took the override.
void reportUnknownOverride(const Override &setting, NamedItem model, Diagnostics &diags);

/// Checks every declaration of a module by itself: names, dimensions, signatures. No sizes are needed.
void checkDeclarations(const Module &module, const SourceManager &sources, Diagnostics &diags);

} // namespace stg

#endif
