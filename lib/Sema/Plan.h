//===- Plan.h - evaluating a plan ------------------------------------------------===//
#ifndef STG_LIB_SEMA_PLAN_H
#define STG_LIB_SEMA_PLAN_H

#include "Elaborator.h"

namespace stg {

/// A dim or selector that a plan mentions; the model must have it.
struct PlanMention {
  ast::Name dim; ///< empty for a selector
  bool optional = false;
  const ast::Selector *selector = nullptr;
};

/// What a plan says, statics evaluated and includes spliced in.
struct EvaluatedPlan {
  Mesh mesh;
  Precision precision;
  std::vector<PlanMention> mentions;
  /// Reports each statement that this version cannot carry out, at its place.
  std::vector<std::function<void(Diagnostics &)>> refusals;
};

/// Evaluates `plan` with `arguments`. `ranks`: of the workload, to fill `*`; 0 if it does not say. `scope` gives
/// statics to a plan that is checked by itself: then `unknown` is set and sizes stay open.
class PlanEvaluator {
public:
  PlanEvaluator(Elaborator &elaborator, const SourceManager &sources, Diagnostics &diags, IRContext &context)
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
  void block(const ast::PlanBlock &block, Scope &scope, EvaluatedPlan &result);
  void item(const ast::PlanItem *item, Scope &scope, EvaluatedPlan &result);
  void mesh(const ast::PlanMesh *mesh, Scope &scope);
  void precision(const ast::PlanPrecision *precision, Scope &scope, EvaluatedPlan &result);
  void useAxes(llvm::ArrayRef<ast::Name> axes);
  void fillMesh(int64_t ranks, SourceRange ranksAt, EvaluatedPlan &result);
  std::optional<int64_t> number(const ast::Expr *expr, Scope &scope, llvm::StringRef what);
  void options(const ast::Options &options, llvm::StringRef where, llvm::ArrayRef<llvm::StringRef> keys, Scope &scope);
  void mention(llvm::ArrayRef<ast::Selector> selectors, EvaluatedPlan &result);

  Elaborator &elaborator_;
  const SourceManager &sources_;
  Diagnostics &diags_;
  IRContext &context_;
  Check check_ = Check::WithSizes;
  std::vector<Axis> axes_;
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
