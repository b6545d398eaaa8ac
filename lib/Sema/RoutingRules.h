//===- RoutingRules.h - `routing` of a workload -------------------------------===//
#ifndef STG_LIB_SEMA_ROUTINGRULES_H
#define STG_LIB_SEMA_ROUTINGRULES_H

#include "Elaborator.h"

namespace stg {

/// Evaluates `routing zipf(s = 1.2, seed = 7)`. What is wrong is reported; the routing then is even.
class RoutingEvaluator {
public:
  using Refusals = std::vector<std::function<void(Diagnostics &)>>;

  /// What is not supported goes to `refusals`, to be reported when all else has been checked.
  RoutingEvaluator(Elaborator &elaborator, SourceManager &sources, Diagnostics &diags, IRContext &context,
                   Refusals &refusals)
      : elaborator_(elaborator), sources_(sources), diags_(diags), context_(context), refusals_(refusals) {}

  Routing evaluate(const ast::WorkRouting &rule, Scope &scope);

private:
  const ast::Expr *argument(const ast::Config &config, llvm::StringRef name, bool isFirst) const;
  void checkArguments(const ast::Config &config, llvm::ArrayRef<llvm::StringRef> names);
  double number(const ast::Expr *value, Scope &scope, double most, llvm::StringRef expected);
  bool flag(const ast::Expr *value, Scope &scope);
  bool readLoads(const ast::Config &config, std::vector<uint64_t> &loads);

  Elaborator &elaborator_;
  SourceManager &sources_;
  Diagnostics &diags_;
  IRContext &context_;
  Refusals &refusals_;
};

/// Whether the routing fits the experts of the elaborated model (E640, E648).
void checkRouting(const Program &program, Diagnostics &diags);

} // namespace stg

#endif
