//===- ValueLabels.cpp ------------------------------------------------------===//
#include "stg/Analysis/ValueLabels.h"

namespace stg {

std::string labelOf(const Program &program, const Body &body, ValueId value) {
  if (NameId name = body.value(value).name)
    return program.text(name).str();
  return labelOf(program, body, body.op(body.value(value).def));
}

std::string labelOf(const Program &program, const Body &body, const Op &op) {
  if (!op.results.empty() && body.value(op.results[0]).name)
    return program.text(body.value(op.results[0]).name).str();
  llvm::StringRef scope = op.scope ? program.text(op.scope) : llvm::StringRef();
  return (scope.empty() ? "" : scope.str() + ".") + mnemonic(op.kind).str();
}

} // namespace stg
