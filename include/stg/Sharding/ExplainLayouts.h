//===- ExplainLayouts.h - which rule put what where -------------------------===//
// The procedure of Assign.h once more for one value or op of a program from Laid on: for each atom the rule that placed
// it, and what became of the other rules over it. Rules are indices into Plan::splits.
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

/// What became of one rule over the axis of an atom.
struct RuleVerdict {
  enum class Kind : uint8_t {
    Placed,    ///< it gave the atom to `item`
    Copied,    ///< `or replicate`: the atom divides none of its dims, so its ranks hold copies
    Late,      ///< it is for `item`, but an earlier rule had the atom
    Absent,    ///< none of its dims is there
    Kept,      ///< its dim `item` is there, but the rule `keep` closes it
    Elsewhere, ///< its `in` names other places
  };
  uint32_t rule = 0;
  Kind kind = Kind::Absent;
  int32_t item = -1;
  uint32_t keep = 0; ///< index into Plan::keeps
  /// Placed, Copied: items that the rule tried first and that the atom does not divide.
  llvm::SmallVector<uint32_t, 2> indivisible = {};
};

/// The rules over the axis of `atom`, in the order of the plan. `assignment` is that of `items` in `scope`, without
/// refusals.
std::vector<RuleVerdict> verdictsOf(const Program &program, llvm::ArrayRef<AssignItem> items, llvm::StringRef scope,
                                    uint32_t atom, const Assignment &assignment);

/// The pin that names a value of the unit's body, if any.
const PinRule *findPin(const Program &program, llvm::StringRef unitPath, const Value &value);
/// The layout that a pin says for a tensor.
Layout layoutOf(const PinRule &pin, const TensorType &type, const Mesh &mesh);

} // namespace stg

#endif
