//===- ExplainLayouts.h - which rule put what where -------------------------===//
// The procedure of Assign.h once more for one value or op of a program from Laid on: for each atom the rule that placed
// it, and the rules that wanted it and came later. Rules are indices into Plan::splits.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_EXPLAINLAYOUTS_H
#define STG_SHARDING_EXPLAINLAYOUTS_H

#include "stg/Sharding/Assign.h"

namespace stg {

struct HomeExplanation {
  std::string scope;            ///< what the scopes of rules were matched with
  Assignment assignment;        ///< items are the dims of the value's type, in order
  const PinRule *pin = nullptr; ///< replaces what the rules say
  Layout home;
};

/// The home of a value of the unit's body.
HomeExplanation explainHome(const Program &program, UnitId unit, ValueId value);

/// The rules behind Op::compute; items are the op's factors (Analysis/Factors.h). An addition inside a sum computes as
/// the outermost one does, and what depends on constants only as its uses need it: their rules are not asked.
Assignment explainCompute(const Program &program, UnitId unit, OpId op);

/// The pin that names a value of the unit's body, if any.
const PinRule *findPin(const Program &program, llvm::StringRef unitPath, const Value &value);
/// The layout that a pin says for a tensor.
Layout layoutOf(const PinRule &pin, const TensorType &type, const Mesh &mesh);

} // namespace stg

#endif
