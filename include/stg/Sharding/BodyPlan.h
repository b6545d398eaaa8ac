//===- BodyPlan.h - the layouts of one body, as data ------------------------===//
// What `assign-layouts` decides before it touches the program: compute layouts of ops, where each value rests, in which
// forms its uses take it, and which sums are taken apart (language.md 5.4 to 5.6). A body has a plan per set of layouts
// in which values and shared weights reach it. Pure: the program is only read.
//===----------------------------------------------------------------------===//
#ifndef STG_SHARDING_BODYPLAN_H
#define STG_SHARDING_BODYPLAN_H

#include "stg/IR/PassStats.h"
#include "stg/Sharding/Assign.h"

namespace stg {

/// Per atom the rule (Plan::splits) that put it where it is; -1: none.
using AtomRules = llvm::SmallVector<int32_t, 4>;

/// A layout, and the rules behind it.
struct RuledLayout {
  Layout layout;
  AtomRules rules;
};

using FormId = Id<struct FormTag>;

/// A value in one layout.
struct Form {
  enum class Origin : uint8_t {
    Produced,  ///< as its op, or the slot, gives it
    Supplied,  ///< made in this layout: a program input has a slot for each, what depends on constants only an op
    Converted, ///< from another form
  };
  Origin origin = Origin::Produced;
  ValueId value;
  RuledLayout at;
  FormId source;             ///< of a conversion
  Part part = Part::Forward; ///< the earliest that needs it
  bool atBirth = false;      ///< completed by its producer, not by a use
  OpId user;                 ///< whose use made it
  /// Set on what was gathered: other phases gather for themselves.
  std::optional<unsigned> phase = std::nullopt;
  llvm::SmallVector<FormId, 2> operands = {}; ///< of what is supplied by an op
  llvm::SmallVector<int16_t, 4> compute = {};
};

/// A summand of an n-ary sum: the value behind a chain of additions, signs and constant factors.
struct Summand {
  ValueId value;
  OpId op; ///< the addition (or factor) that takes it
  uint32_t operand = 0;
  bool negative = false;
  llvm::SmallVector<OpId, 1> factors = {}; ///< ops that scale it by a constant, inside out
  FormId form;
};

/// Summands in one layout that is not that of the sum: added before they are converted.
struct SumPool {
  llvm::SmallVector<uint32_t, 4> members;
  Layout layout; ///< of the members, after demotion where they differ
  RuledLayout target;
};

/// A sum whose additions are made in another order than the source says.
struct RebuiltSum {
  std::vector<Summand> summands;
  std::vector<SumPool> pools;
  llvm::SmallVector<uint32_t, 4> rest; ///< summands in the layout of the sum
};

struct OpPlan {
  Assignment assignment;
  llvm::SmallVector<int16_t, 4> compute;
  llvm::SmallVector<FormId, 4> operands;
  OpId sum;             ///< of an inner addition: the outermost one
  bool dropped = false; ///< replaced: an inner addition of a rebuilt sum, or an op that is supplied where needed
};

struct BodyPlan {
  std::vector<OpPlan> ops;
  std::vector<Form> forms;
  std::vector<FormId> produced; ///< per value; invalid where it is only supplied
  std::vector<FormId> outputs, losses;
  std::vector<std::pair<OpId, RebuiltSum>> rebuilt;
  std::vector<std::optional<Layout>> inputs; ///< per input slot; none: of the program, see its forms
  std::vector<RuledLayout> weights, states;
  std::vector<SourceRange> weightUses;        ///< per weight slot: the use that decided its layout
  std::vector<std::optional<Layout>> buffers; ///< per weight slot

  const Form &form(FormId id) const { return forms[id.index]; }
};

/// What a body finds outside.
struct BodyEntry {
  std::string unitPath; ///< of the first unit
  /// Per input slot of role Value: the layout in which it comes; none: it is an input of the program.
  std::vector<std::optional<Layout>> inputs;
  /// Per slot: the layout if the weight or state has one already; otherwise its first use here decides.
  std::vector<std::optional<Layout>> weights, states;
  std::vector<SourceRange> weightUses; ///< per slot: the use that decided
  /// The rules behind those layouts, of the first unit: units that differ only in them share a plan.
  std::vector<AtomRules> inputRules, weightRules, stateRules;
  bool operator==(const BodyEntry &other) const {
    return inputs == other.inputs && weights == other.weights && states == other.states;
  }
};

/// Things to tell the user, found while planning.
struct LayoutFindings {
  struct Refused {
    Refusal refusal;
    AssignItem item;
    std::string scope;
    std::string what; ///< `k[B, S, KV, Dh]`, `the op attend`
    BodyId body;
    AtomList taken; ///< atoms that earlier rules put on the item
  };
  std::vector<Refused> refused;
  struct SecondHome {
    std::string weight;
    SourceRange first, second;
  };
  std::vector<SecondHome> secondHomes; ///< uses of a weight that want another layout than its first
  struct PinnedPartial {
    uint32_t pin = 0;
    std::string op, value;
    uint32_t atom = 0;
    SourceRange where;
  };
  std::vector<PinnedPartial> pinnedPartials;
  struct CutOff { ///< a chain or halo along a zigzag dim
    std::string op;
    NameId dim;
    uint32_t rule = 0;
    SourceRange where;
  };
  std::vector<CutOff> cutOffs;
  /// Per rule: whether it placed an atom; the rules that were before it where it lost.
  std::vector<bool> ruleUsed;
  std::vector<llvm::SmallVector<uint32_t, 2>> ruleLostTo;
  std::vector<bool> atomUsed;
  std::optional<AtomCut> cut;
};

/// Plans one body. Stops early if the mesh must be cut (`findings.cut`).
BodyPlan planBody(const Program &program, BodyId body, const BodyEntry &entry, const Assigner &assigner,
                  LayoutFindings &findings, PassStats &stats);

} // namespace stg

#endif
