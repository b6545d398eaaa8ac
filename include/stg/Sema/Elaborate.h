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

struct ElaborateSettings {
  Mode mode = Mode::Forward;
  int64_t past = 0; ///< positions already in the cache (decode)
  Precision precision;
  std::vector<Override> overrides;
  int64_t maxUnits = kMaxUnits;
};

/// Elaborates `item` (a model) with static arguments. Null after errors. `stats` counts the ops that were made, each as
/// often as a statement made it: the cost law holds for elaboration too.
std::optional<Program> elaborateModel(NamedItem item, llvm::ArrayRef<StaticArgument> arguments, SourceRange call,
                                      const ElaborateSettings &settings, std::shared_ptr<IRContext> context,
                                      const SourceManager &sources, Diagnostics &diags, PassStats &stats);

/// E601: nothing took the override.
void reportUnknownOverride(const Override &setting, NamedItem model, Diagnostics &diags);

/// Checks every declaration of a module by itself: names, dimensions, signatures. No sizes are needed.
void checkDeclarations(const Module &module, const SourceManager &sources, Diagnostics &diags);

} // namespace stg

#endif
