//===- ValueLabels.cpp ------------------------------------------------------===//
#include "stg/Analysis/ValueLabels.h"

namespace stg {

/// What is computed again is called what it was: `attn.q` for `attn.q'r`.
static std::string plainName(const Program &program, const Body &body, const Value &value) {
  llvm::StringRef name = program.text(value.name);
  if (body.op(value.def).part == Part::Recompute)
    name = name.substr(0, name.rfind("'r"));
  return name.str();
}

std::string labelOf(const Program &program, const Body &body, ValueId value) {
  if (body.value(value).name)
    return plainName(program, body, body.value(value));
  return labelOf(program, body, body.op(body.value(value).def));
}

std::string labelOf(const Program &program, const Body &body, const Op &op) {
  if (!op.results.empty() && body.value(op.results[0]).name)
    return plainName(program, body, body.value(op.results[0]));
  llvm::StringRef scope = op.scope ? program.text(op.scope) : llvm::StringRef();
  return (scope.empty() ? "" : scope.str() + ".") + mnemonic(op.kind).str();
}

ValueId computedAgain(const Program &program, const Body &body, ValueId value) {
  if (!body.value(value).name)
    return ValueId();
  std::string again = program.text(body.value(value).name).str() + "'r";
  for (const Op &op : body.ops)
    if (op.part == Part::Recompute)
      for (ValueId result : op.results)
        if (NameId name = body.value(result).name; name && program.text(name) == again)
          return result;
  return ValueId();
}

} // namespace stg
