//===- ProcessGroups.h - which ranks communicate, and under which numbers ---===//
// A kind of group is a set of atoms that some collective spans; a kind has one group for each choice of the other
// coordinates. Group j of kind k gets the id 1 + k + D * j, where D is a divisor of 500 and at least the number of
// kinds, because ASTRA-sim takes messages of two groups for one another where the ids agree modulo 500 and the groups
// share two ranks. From id 2,148 on its 32-bit arithmetic wraps; D is then chosen so that the rule still holds.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/RankFields.h"
#include "stg/IR/Program.h"
#include "stg/Trace/Node.h"

namespace stg {

struct GroupKind {
  /// In mesh order. Of sets: those of the pipeline.
  AtomList atoms;
  /// Ranks of the pipeline that hold one gradient buffer, `{0, 3}` and `{1, 2}`: no two sets share one. A group joins
  /// the ranks of a set that agree in all other coordinates. Empty: the whole product of the atoms.
  std::vector<llvm::SmallVector<uint32_t, 2>> sets = {};
  /// `tp`, `dp*cp`; axes of folds and atoms where no axis is spanned whole; of sets `pp[0+3|1+2]`.
  std::string axes;
  /// Ranks of a group, at least 2.
  uint32_t size = 0;
};

/// Two groups that ASTRA-sim confuses.
struct GroupCollision {
  uint32_t first = 0, second = 0;
  uint32_t rank = 0; ///< of both
};

class ProcessGroups {
public:
  /// The groups of all collectives in the program's units, kinds in order of first use.
  explicit ProcessGroups(const Program &program);

  bool empty() const { return kinds_.empty(); }
  llvm::ArrayRef<GroupKind> kinds() const { return kinds_; }
  /// The kind with these atoms, which some collective of the program spans.
  uint32_t kindOf(llvm::ArrayRef<uint32_t> atoms) const;

  /// The kind with this set of pipeline ranks, over which some gradient buffer is summed.
  uint32_t kindOfSum(llvm::ArrayRef<uint32_t> ranks) const;

  /// Which group of the kind a rank is in, by kind.
  const std::vector<bundle::GroupFormula> &formulas() const { return formulas_; }
  /// Of a rank that is in a group of the kind.
  uint32_t idOf(uint32_t kind, uint32_t rank) const;
  /// D above.
  uint32_t stride() const { return stride_; }
  uint32_t largestId() const;
  /// Digits of the largest id: all are padded to as many.
  unsigned digits() const;
  /// Two groups whose tags collide whatever D is, if there are any.
  const std::optional<GroupCollision> &collision() const { return collision_; }

  /// All groups, kind after kind; the ranks of each ascend.
  std::vector<TraceGroup> list() const;

private:
  void addKind(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh);
  void addSum(const Pipeline &pipeline, llvm::ArrayRef<uint32_t> ranks);
  void nameSets(const Program &program);
  void addFormulas(const Program &program);
  void numberBy(uint32_t stride);
  std::optional<GroupCollision> findCollision() const;
  bundle::RankSet meetingRanks(const GroupKind &first, const GroupKind &second) const;

  std::vector<MeshAtom> atoms_;
  std::vector<GroupKind> kinds_;
  std::vector<bundle::GroupFormula> formulas_; ///< per kind
  uint32_t stride_ = 1;
  std::optional<GroupCollision> collision_;
};

/// The coordinates on the atoms as digits of a number, in which the first atom counts most; strides fall.
std::vector<bundle::Digit> digitsOf(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh);

/// Where ASTRA-sim's tags of a group begin: a million of them, in 32-bit arithmetic.
int32_t firstGroupTag(int64_t id);
/// Whether two groups have tags in common, if they share two ranks.
bool groupTagsCollide(int64_t first, int64_t second);

/// `tp`, `dp*cp`: the axes that the atoms make up, else axes of folds, else the atoms by name.
std::string axesText(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh);

} // namespace stg
