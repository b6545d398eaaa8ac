//===- UnusedNames.h - inputs and values that nothing reads ---------------===//
#ifndef STG_LIB_SEMA_UNUSEDNAMES_H
#define STG_LIB_SEMA_UNUSEDNAMES_H

#include "stg/Support/Diagnostics.h"
#include "stg/Syntax/AST.h"

namespace stg {

/// Training reports weights without a gradient (W211), with the value that nothing uses.
enum class UnusedValues : uint8_t { Report, LeaveToTraining };

/// W260: inputs of a model and values of a layer or model that are never read, output or returned.
void checkUnusedNames(const ast::LayerItem &item, UnusedValues values, Diagnostics &diags);

} // namespace stg

#endif
