//===- Verifier.h - the promises of a program, checked ----------------------===//
// What holds at every level: ids in range, SSA order, fields of the op's kind, numbers of operands and results, slots
// and bindings that match in number and type, unique names, units that read earlier units only. From Typed on: every
// value has a type. That it is the one its rule gives is checked by lib/Shape (VerifyTypes.h); verifyProgram in
// lib/Passes does both.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_VERIFIER_H
#define STG_IR_VERIFIER_H

#include "stg/IR/Program.h"

namespace stg {

/// A broken promise.
struct Violation {
  std::string op;   ///< the op as text, or the unit, body or slot by name
  std::string text; ///< what is wrong
  SourceRange where;
};

/// Empty if the program is as it should be. What depends on a broken part may be skipped.
std::vector<Violation> verify(const Program &program);

} // namespace stg

#endif
