//===- TrainingChecks.h - is there a gradient for what is trained ----------------===//
#ifndef STG_LIB_SEMA_TRAININGCHECKS_H
#define STG_LIB_SEMA_TRAININGCHECKS_H

#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Syntax/AST.h"
#include <map>

namespace stg {

/// W211 for weights that the loss does not depend on, E210 for calls whose op does not define a gradient that training
/// needs. `ops`: the declaration of each callee.
void checkTraining(const Program &program, const std::map<NameId, const ast::OpItem *> &ops,
                   const SourceManager &sources, Diagnostics &diags);

} // namespace stg

#endif
