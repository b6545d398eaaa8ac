//===- Assign.h - the one procedure that places atoms -----------------------===//
// Ordered rules give each atom of the mesh to a dim of a tensor (its home) or to a factor of an op (its compute
// layout): language.md 5.3. No search and no iteration; what it says of one tensor depends on its dims, its scope and
// the plan.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_ASSIGN_H
#define STG_SHARDING_ASSIGN_H

#include "stg/Analysis/Factors.h"

namespace stg {

/// A dim of a tensor or a factor of an op, as rules see it.
struct AssignItem {
  llvm::SmallVector<NameId, 2> names; ///< dims that it answers to
  DimExpr size;
  bool open = true; ///< may be split
  /// An enumeration: any number of ranks may share it, each part is rounded up.
  bool roundsUp = false;
};
using AssignItems = llvm::SmallVector<AssignItem, 6>;

/// A rule that would have placed an atom which an earlier one had taken.
struct Loser {
  uint32_t rule = 0;
  uint32_t item = 0;
};

/// What became of one atom.
struct AtomPlacement {
  int32_t item = -1; ///< the item that it splits; -1: whole
  int32_t rule = -1; ///< the rule that placed it, or kept it whole by `or replicate`; -1: none spoke of it
  llvm::SmallVector<Loser, 2> losers = {};
};

/// An axis that does not divide what a rule gives it.
struct Refusal {
  uint32_t rule = 0;
  uint32_t target = 0; ///< index into SplitRule::dims
  uint32_t item = 0;
  uint32_t atom = 0;
};

/// `or replicate` needs a part of an atom: its major part has `major` members.
struct AtomCut {
  uint32_t atom = 0;
  int64_t major = 1;
};

struct Assignment {
  std::vector<AtomPlacement> atoms; ///< one per atom, in mesh order
  llvm::SmallVector<Refusal, 1> refusals = {};
  /// Set: the mesh must be cut, and everything be assigned anew.
  std::optional<AtomCut> cut = std::nullopt;
};

/// The rules of a program, with their axes resolved to atoms.
class Assigner {
public:
  explicit Assigner(const Program &program);

  /// `scope`: the path of the instance, `blocks[3].attn.attend`.
  Assignment assign(llvm::ArrayRef<AssignItem> items, llvm::StringRef scope) const;

  const std::vector<MeshAtom> &atoms() const { return atoms_; }
  /// The atoms of each axis of a rule, in the order in which they are offered.
  llvm::ArrayRef<AtomList> axesOf(size_t rule) const { return ruleAxes_[rule]; }

private:
  bool isKept(const AssignItem &item, llvm::StringRef scope) const;

  const Plan &plan_;
  std::vector<Factoring> factorings_;
  std::vector<MeshAtom> atoms_;
  std::vector<llvm::SmallVector<AtomList, 2>> ruleAxes_;
};

/// The dims of a tensor, in order. Enumerations answer to their sources too.
AssignItems itemsOf(const Program &program, const TensorType &type);
/// Factors, in order of preference; open are those that may receive an atom (language.md 5.7).
AssignItems itemsOf(const Program &program, llvm::ArrayRef<OpFactor> factors);

/// The layout that an assignment of a tensor's dims says.
Layout layoutOf(const Assignment &assignment, const TensorType &type);

/// Where ops and values stand for the scopes of rules: unit path, then the path inside the unit.
std::string scopeOf(const Program &program, llvm::StringRef unitPath, const Op &op);
std::string scopeOf(const Program &program, llvm::StringRef unitPath, const Body &body, const Value &value);

} // namespace stg

#endif
