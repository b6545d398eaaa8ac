//===- Plan.h - evaluating a plan ------------------------------------------------===//
#ifndef STG_LIB_SEMA_PLAN_H
#define STG_LIB_SEMA_PLAN_H

#include "Elaborator.h"

namespace stg {

/// A dim or selector that a plan mentions; the model must have it.
struct PlanMention {
  ast::Name dim; ///< empty for a selector
  bool optional = false;
  std::optional<PathPattern> pattern;
  SourceRange where;
};

/// What a plan says, statics evaluated and includes spliced in.
struct EvaluatedPlan {
  Mesh mesh;
  Precision precision;
  /// Dims as written: completePlan() replaces composite ones.
  Plan plan;
  std::optional<int64_t> microbatch; ///< sequences per rank
  SourceRange microbatchAt;
  std::vector<PlanMention> mentions;
  /// A statement that this version cannot carry out; it means nothing if all its `axes` have one rank.
  struct Refusal {
    std::function<void(Diagnostics &)> report;
    std::vector<std::string> axes;
  };
  std::vector<Refusal> refusals;
};

/// Checks what the plan mentions against the elaborated model, whose values still have types (E301, E307, E326), and
/// gives the program the rules in its dims: a composite dim is followed by its factors, dims that the model has not are
/// dropped.
class PlanCompleter {
public:
  PlanCompleter(Program &program, const SourceManager &sources, Diagnostics &diags)
      : program_(program), sources_(sources), diags_(diags) {}
  void run(const EvaluatedPlan &plan);

private:
  void collect();
  void checkDim(const PlanMention &mention);
  void checkSelector(const PlanMention &mention);
  bool namesIteration(const PathPattern &pattern) const;
  void complete(const Plan &plan);
  void completePipeline(const PipelineRule &rule);
  void completeStorage(const Plan &plan);
  void completePin(const PinRule &pin);
  void checkPinApplies(const PinRule &pin, llvm::ArrayRef<PinRule> earlier);
  std::optional<PinRule> pinFor(const PinRule &pin, const TensorType &type) const;
  bool sharesRanks(const PinRule &pin);
  bool has(NameId dim) const;
  /// The dim, and behind it what it factors into.
  llvm::SmallVector<NameId, 4> withFactors(NameId dim) const;

  Program &program_;
  const SourceManager &sources_;
  Diagnostics &diags_;
  std::vector<NameId> dims_;
  std::vector<std::string> paths_; ///< of instances, values and calls, without iteration numbers
};

/// What `microbatch` says, and the ranks that share B.
MicroBatching microBatching(const EvaluatedPlan &plan, IRContext &context);

/// Evaluates `plan` with `arguments`. `ranks`: of the workload, to fill `*`; 0 if it does not say. `scope` gives
/// statics to a plan that is checked by itself: then `unknown` is set and sizes stay open.
class PlanEvaluator {
public:
  PlanEvaluator(Elaborator &elaborator, SourceManager &sources, Diagnostics &diags, IRContext &context)
      : elaborator_(elaborator), sources_(sources), diags_(diags), context_(context) {}

  enum class Check : uint8_t { WithSizes, NamesOnly };
  bool evaluate(NamedItem plan, llvm::ArrayRef<StaticArgument> arguments, SourceRange call, int64_t ranks,
                SourceRange ranksAt, Check check, EvaluatedPlan &result);

private:
  struct Axis {
    std::string name;
    std::optional<int64_t> size;
    bool fill;
    SourceRange range;
  };
  struct PendingFold {
    const ast::PlanFold *item;
    std::vector<std::optional<int64_t>> sizes; ///< per axis; none: what the others leave
    bool faulty;
  };
  void block(const ast::PlanBlock &block, Scope &scope, EvaluatedPlan &result);
  void item(const ast::PlanItem *item, Scope &scope, EvaluatedPlan &result);
  void let(const ast::PlanLet *let, Scope &scope);
  void require(const ast::PlanRequire *require, Scope &scope);
  void include(const ast::PlanInclude *include, Scope &scope, EvaluatedPlan &result);
  void branch(const ast::PlanIf *branch, Scope &scope, EvaluatedPlan &result);
  void mesh(const ast::PlanMesh *mesh, Scope &scope);
  std::optional<int64_t> sizeOf(const ast::Axis &axis, Scope &scope);
  void fillMesh(int64_t ranks, SourceRange ranksAt, EvaluatedPlan &result);
  void reportRanks(int64_t ranks, SourceRange ranksAt, int64_t product, const Axis *fill);
  /// A number, `least` at least; nothing, reported, if it is none, and nothing where it is unknown.
  std::optional<int64_t> number(const ast::Expr *expr, Scope &scope, llvm::StringRef what, int64_t least = 1);
  std::optional<int64_t> number(const StaticValue &given, SourceRange where, llvm::StringRef what, int64_t least = 1);
  void options(const ast::Options &options, llvm::StringRef where, llvm::ArrayRef<llvm::StringRef> keys, Scope &scope);

  // --- Rules (PlanRules.cpp)
  /// The patterns of selectors, which the model must match.
  Scopes scopes(llvm::ArrayRef<ast::Selector> selectors, Scope &scope, EvaluatedPlan &result);
  std::vector<std::string> useAxes(llvm::ArrayRef<ast::Name> axes);
  void split(const ast::PlanSplit *split, Scope &scope, EvaluatedPlan &result);
  void keep(const ast::PlanKeep *keep, Scope &scope, EvaluatedPlan &result);
  void run(const ast::PlanRun *run, Scope &scope, EvaluatedPlan &result);
  void pin(const ast::PlanPin *pin, Scope &scope, EvaluatedPlan &result);
  void microbatch(const ast::PlanMicrobatch *item, Scope &scope, EvaluatedPlan &result);

  // --- Storage and recompute (StorageRules.cpp)
  std::optional<llvm::StringRef> choice(const ast::KeyValue &item, llvm::ArrayRef<llvm::StringRef> choices);
  std::optional<bool> flag(const ast::KeyValue &item, Scope &scope);
  void store(const ast::PlanStore *store, Scope &scope, EvaluatedPlan &result);
  void zero(const ast::PlanZero *zero, Scope &scope, EvaluatedPlan &result);
  void addStorage(StorageRule rule, const ast::Options &options, llvm::StringRef name, Scope &scope,
                  EvaluatedPlan &result);
  void readStorageOption(const ast::KeyValue &item, llvm::StringRef name, Scope &scope, StorageRule &rule,
                         EvaluatedPlan &result);
  void recompute(const ast::PlanRecompute *recompute, Scope &scope, EvaluatedPlan &result);
  void offload(const ast::PlanOffload *offload, Scope &scope, EvaluatedPlan &result);

  // --- Pipelines (PipelineRules.cpp)
  void pipeline(const ast::PlanPipeline *pipeline, Scope &scope, EvaluatedPlan &result);
  void schedule(const ast::Config &config, Scope &scope, PipelineRule &rule);
  void scheduleArguments(const ast::Config &config, Scope &scope, PipelineRule &rule);
  void scheduleFile(const ast::Config &config, PipelineRule &rule);
  void cut(const ast::PlanPipeline *pipeline, Scope &scope, PipelineRule &rule);
  void precision(const ast::PlanPrecision *precision, Scope &scope, EvaluatedPlan &result);
  void fold(const ast::PlanFold *fold, Scope &scope);
  void addFold(const PendingFold &fold, EvaluatedPlan &result);
  void reportFold(const ast::PlanFold &fold, llvm::ArrayRef<int64_t> sizes, int64_t spanned,
                  const std::string &product);

  Elaborator &elaborator_;
  SourceManager &sources_;
  Diagnostics &diags_;
  IRContext &context_;
  Check check_ = Check::WithSizes;
  std::vector<Axis> axes_;
  std::vector<PendingFold> folds_;
  std::vector<std::pair<std::string, SourceRange>> folded_;
  const ast::PlanMesh *meshItem_ = nullptr;
  llvm::SmallVector<const ast::Item *, 4> including_;
};

/// `blocks[0..4].ffn` with its bounds evaluated. Nothing after an error.
std::optional<PathPattern> evaluateSelector(const ast::Selector &selector, Elaborator &elaborator, Scope &scope,
                                            IRContext &context, Diagnostics &diags, llvm::StringRef text);

/// A key of a closed table; E611 with the nearest one otherwise.
void checkKey(const ast::KeyValue &item, llvm::StringRef where, llvm::ArrayRef<llvm::StringRef> keys,
              Diagnostics &diags);

} // namespace stg

#endif
