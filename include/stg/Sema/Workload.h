//===- Workload.h - what a file asks to be compiled ---------------------------===//
// A workload joins a model, a plan and how they run. Resolving one evaluates its statements; what this version cannot
// do yet is refused by name, after everything it mentions has been checked.
//===----------------------------------------------------------------------===//
#ifndef STG_SEMA_WORKLOAD_H
#define STG_SEMA_WORKLOAD_H

#include "stg/Sema/Elaborate.h"

namespace stg {

/// `--set model.L=16`, `--set plan.tp=4`, `--set blocks[0].attn.base=1e6`.
struct CommandLineSetting {
  std::string text;     ///< as given
  ast::Selector target; ///< `model.L`
  const ast::Expr *value = nullptr;
  SourceRange where;
};

/// A workload of a file; a file without workloads has one for each model, its plain forward pass.
struct WorkloadSource {
  NamedItem item; ///< a workload, or a model
  std::string name() const { return item.item->name.text.str(); }
};
std::vector<WorkloadSource> workloadsOf(const Module &module);

struct ResolvedWorkload {
  std::string name;
  std::string outputFolder; ///< `emit chakra { dir = … }`, or empty
  std::shared_ptr<IRContext> context;
  /// At level Elaborated; mesh and rules are the plan's.
  std::optional<Program> program;
  PassStats stats; ///< of elaboration
};

/// Evaluates and elaborates one workload. Without a program after errors. Loads the files that its plan names.
ResolvedWorkload resolveWorkload(const WorkloadSource &source, llvm::ArrayRef<CommandLineSetting> settings,
                                 SourceManager &sources, Diagnostics &diags, int64_t maxUnits = kMaxUnits);

/// Checks the names in plans and workloads of a module that need no model: axes, parameters, keys.
void checkPlans(const Module &module, SourceManager &sources, Diagnostics &diags);

/// Checks each workload of a module against itself and the others: `set` twice, one output folder for two.
void checkWorkloads(const Module &module, const SourceManager &sources, Diagnostics &diags);

} // namespace stg

#endif
