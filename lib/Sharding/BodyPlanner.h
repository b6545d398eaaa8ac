//===- BodyPlanner.h - how the plan of a body is found ----------------------===//
#ifndef STG_LIB_SHARDING_BODYPLANNER_H
#define STG_LIB_SHARDING_BODYPLANNER_H

#include "SumChains.h"

namespace stg {

/// A place where a value is taken, and the layout that is wanted there.
struct Use {
  enum class Kind : uint8_t {
    Operand,
    Summand,
    Output,
    Free, ///< a loss or a gradient buffer: partial values are welcome
  };
  Kind kind = Kind::Operand;
  Part part = Part::Forward;
  RuledLayout want;
};

/// Where a demand comes from.
struct Demand {
  Part part = Part::Forward;
  OpId user;
};

class BodyPlanner {
public:
  BodyPlanner(const Program &program, BodyId body, const BodyEntry &entry, const Assigner &assigner,
              LayoutFindings &findings, PassStats &stats);
  BodyPlan run();

private:
  // Before the walk: what ops compute, what they want.
  void countUses();
  void assignOps();
  void assignOp(OpId id);
  void closeNeighbours(const Op &op, llvm::StringRef scope, AssignItems &items);
  void noticeCutOffs(const Op &op, llvm::StringRef scope, llvm::ArrayRef<size_t> along,
                     llvm::ArrayRef<AssignItem> items);
  void wantSummands(OpId root);
  RuledLayout sumLayout(OpId root) const;
  void addOutputUses();
  RuledLayout outputWant(const BodyOutput &output);
  RuledLayout inputAt(uint32_t slot, RuledLayout home) const;
  void notice(const Assignment &assignment, llvm::ArrayRef<AssignItem> items, const std::string &scope,
              const std::string &what);
  void firstUse(ValueId value, const RuledLayout &want, SourceRange where);
  void placeSlots();

  // The walk.
  void planOp(OpId id);
  void planSlotWrite(OpId id);
  void planAccumulate(OpId id);
  void computeWhere(OpId id, const Layout &operand);
  bool passesPartial(OpId id);
  FormId passedForm(OpId id);
  void planPassing(OpId id);
  void produce(ValueId value, RuledLayout at);
  /// `pending`: where the results are partial because operands are.
  void produceResults(OpId id, const RuledLayout *pending);

  // Sums (SumPlan.cpp).
  struct Addend {
    Summand *summand = nullptr;
    RuledLayout at;       ///< as the sum finds it
    RuledLayout want;     ///< the layout of the sum, on its dims
    bool raw = false;     ///< not completed before
    bool computed = true; ///< no slot and no constant: has a layout of its own
  };
  void planSum(OpId root);
  Addend addendOf(Summand &summand, OpId root);
  bool staysPartial(llvm::ArrayRef<Addend> addends, llvm::ArrayRef<uint32_t> pending) const;
  void planPartialSum(OpId root, std::vector<Addend> &addends, llvm::ArrayRef<uint32_t> pending);
  void planPools(OpId root, std::vector<Addend> &addends, const RuledLayout *pending);
  std::optional<uint32_t> trainedBy(OpId root) const;
  void adoptHome(OpId root, const RuledLayout &home);
  RuledLayout keptPartial(std::vector<Addend> &addends, llvm::ArrayRef<uint32_t> pending) const;
  void setSumLayouts(OpId root, const RuledLayout *pending);

  // Forms.
  FormId get(ValueId value, const RuledLayout &want, Demand demand);
  FormId gathered(ValueId value, FormId rest, const RuledLayout &want, Demand demand);
  FormId restOf(ValueId value, unsigned phase);
  FormId complete(ValueId value, unsigned phase);
  void foldGather(ValueId value, const AtomList &pending, RuledLayout &target, unsigned phase);
  FormId supply(ValueId value, const RuledLayout &want, Demand demand);
  FormId supplyByOp(ValueId value, const RuledLayout &want, Demand demand);
  FormId convert(FormId source, const RuledLayout &target, Demand demand, bool atBirth = false);
  void require(FormId id, Part part);
  bool keepsGathered(const Layout &from, const Layout &to, OpId user) const;
  void checkPinned(FormId rest, const RuledLayout &want, Demand demand);

  // Questions.
  const Value &value(ValueId id) const { return body_.value(id); }
  const TensorType &type(ValueId id) const { return *body_.value(id).type; }
  std::string nameOf(ValueId id) const;
  bool isSupplied(ValueId id) const { return fromProgram_[id.index] || constant_[id.index]; }
  bool isSlot(ValueId id) const;
  RuledLayout homeOf(ValueId id);
  RuledLayout wantOf(OpId id, uint32_t operand) const;
  RuledLayout restricted(const RuledLayout &at, const TensorType &type) const;
  /// The pin's place for each atom, if one names the value.
  const RuledLayout *pinOf(ValueId id) const;
  void readPins();
  Form &form(FormId id) { return plan_.forms[id.index]; }

  const Program &program_;
  BodyId bodyId_;
  const Body &body_;
  const BodyEntry &entry_;
  const Assigner &assigner_;
  LayoutFindings &findings_;
  PassStats &stats_;
  size_t numAtoms_;

  BodyPlan plan_;
  std::vector<std::vector<OpFactor>> factors_; // per op
  std::vector<uint32_t> useCount_;
  std::vector<bool> constant_, fromProgram_;     // per value
  std::vector<std::optional<uint32_t>> trains_;  // per value: the weight slot that it is added to
  std::vector<std::optional<RuledLayout>> pins_; // per value
  std::vector<uint32_t> pinIndex_;
  std::vector<std::vector<Use>> uses_;
  std::vector<FormId> rest_; // per value
  std::vector<std::optional<RuledLayout>> homes_;
  std::vector<std::vector<FormId>> formsOf_;          // per value
  std::vector<std::optional<RuledLayout>> firstUses_; // per value, of slots
  std::vector<SourceRange> firstUseAt_;
  SumChains sums_;
};

} // namespace stg

#endif
