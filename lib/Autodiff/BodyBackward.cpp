//===- BodyBackward.cpp -----------------------------------------------------===//
// Reverse mode: ops from last to first. Each value collects the shares that its uses give to its cotangent; when its
// own op is met all uses have been, and the shares are added in one n-ary sum. Weights and inputs are finished as soon
// as their first use is done, so that what leaves the unit stands as early as it can; several ops that read one slot,
// and several slots that read one value of another unit, collect in the first one's place.
//===----------------------------------------------------------------------===//
#include "BodyBackward.h"
#include "DropoutMasks.h"
#include "GradientRules.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

namespace stg::autodiff {

namespace {

Bits variedBy(const Body &body, const BackwardTask &task) {
  Bits inputs;
  for (uint32_t leader : task.leaders)
    inputs.push_back(leader != BackwardTask::kNone);
  return variedValues(body, task.trained, inputs);
}

class BodyBackward {
public:
  BodyBackward(const Program &program, Body &body, const BackwardTask &task, DropoutMasks masks)
      : program_(program), body_(body), task_(task), masks_(std::move(masks)), build_(*program.context, body),
        forwardOps_(body.ops.size()), shares_(body.values.size()), collector_(body.values.size()),
        fromData_(body.values.size(), false) {}

  void run(PassStats &stats) {
    for (uint32_t slot = 0; slot < body_.weights.size(); ++slot)
      body_.weights[slot].trained = task_.trained[slot];
    varied_ = variedBy(body_, task_);
    groupLeaves();
    traceData();
    seed();
    for (size_t i = forwardOps_; i-- > 0;) {
      ++stats.opVisits;
      differentiate(OpId(static_cast<uint32_t>(i)));
      for (ValueId leaf : dueAt_[i])
        finishLeaf(leaf);
    }
    for (ValueId leaf : unread_)
      finishLeaf(leaf);
    build_.finish(stats);
  }

private:
  /// The element type of a cotangent: that of its primal, of a weight that of its gradient buffer.
  ElementType elementOf(ValueId value) const {
    const Op &def = body_.op(body_.value(value).def);
    return def.kind == OpKind::Weight ? body_.weights[def.get<SlotFields>().slot].gradient : build_.type(value).element;
  }

  /// Finds for each weight and input the value that collects its shares, and after which op it has them all.
  void groupLeaves() {
    for (uint32_t i = 0; i < body_.values.size(); ++i)
      collector_[i] = ValueId(i);
    std::vector<ValueId> ofWeight(body_.weights.size()), ofInput(body_.inputs.size());
    llvm::SmallVector<ValueId, 8> leaves;
    for (const Op &op : body_.ops) {
      if (op.results.empty() || !varied_[op.results[0].index] ||
          (op.kind != OpKind::Weight && op.kind != OpKind::Input))
        continue;
      uint32_t slot = op.get<SlotFields>().slot;
      ValueId &first = op.kind == OpKind::Weight ? ofWeight[slot] : ofInput[task_.leaders[slot]];
      if (!first) {
        first = op.results[0];
        leaves.push_back(first);
      }
      collector_[op.results[0].index] = first;
    }
    std::vector<bool> isSeen(body_.values.size(), false);
    dueAt_.resize(forwardOps_);
    for (size_t i = 0; i < forwardOps_; ++i)
      for (ValueId operand : body_.ops[i].operands) {
        ValueId leaf = collector_[operand.index];
        if (!isSeen[leaf.index] && llvm::is_contained(leaves, leaf))
          dueAt_[i].push_back(leaf);
        isSeen[leaf.index] = true;
      }
    for (ValueId leaf : leaves)
      if (!isSeen[leaf.index])
        unread_.push_back(leaf);
  }

  /// What depends on data, and not on weights and constants alone.
  void traceData() {
    for (const Op &op : body_.ops) {
      bool any = op.kind == OpKind::Input || op.kind == OpKind::State;
      for (ValueId operand : op.operands)
        any |= fromData_[operand.index];
      for (ValueId result : op.results)
        fromData_[result.index] = any;
    }
  }

  void contribute(ValueId value, ValueId share) {
    if (fromData_[value.index])
      build_.needForInput(share);
    build_.placeLike(share, value);
    shares_[collector_[value.index].index].push_back(share);
  }

  NameId prefixed(llvm::StringRef prefix, NameId name) const {
    llvm::StringRef text = program_.text(name);
    size_t dot = text.rfind('.');
    size_t last = dot == llvm::StringRef::npos ? 0 : dot + 1;
    return program_.context->name((text.take_front(last) + prefix + text.drop_front(last)).str());
  }

  /// Cotangents that come from outside: of the losses and of outputs.
  void seed() {
    for (ValueId loss : body_.losses) {
      if (!varied_[loss.index])
        continue;
      build_.enter(opOf(loss));
      contribute(loss, build_.constant(1.0 / static_cast<double>(program_.plan.microBatches)));
    }
    for (uint32_t o = 0; o < task_.outputs.size(); ++o) {
      if (!task_.outputs[o])
        continue;
      BodyOutput output = body_.outputs[o];
      build_.enter(opOf(output.value));
      InputSlot slot{prefixed("d", output.name), build_.type(output.value), SlotRole::Cotangent, o};
      contribute(output.value, build_.addInput(std::move(slot), output.value));
    }
    for (uint32_t i = 0; i < task_.accumulates.size(); ++i) {
      if (!task_.accumulates[i])
        continue;
      for (const Op &op : body_.ops)
        if (op.kind == OpKind::Input && op.get<SlotFields>().slot == i) {
          ValueId primal = op.results[0];
          build_.enter(op);
          InputSlot slot{prefixed("later.d", body_.inputs[i].name), build_.type(primal), SlotRole::Accumulator, i};
          contribute(primal, build_.addInput(std::move(slot), primal));
          break;
        }
    }
  }

  const Op &opOf(ValueId value) const { return body_.op(body_.value(value).def); }

  /// The sum of the shares of `value`, in its element type; invalid if it has none.
  ValueId cotangentOf(ValueId value) {
    llvm::SmallVector<ValueId, 4> &shares = shares_[value.index];
    if (shares.empty())
      return ValueId();
    ElementType element = elementOf(value);
    ValueId sum = shares.front();
    if (shares.size() > 1) {
      build_.fuseWith(shares.back());
      sum = build_.map(MapFn::Add, shares, element);
    } else if (build_.type(sum).element != element)
      sum = build_.map(MapFn::Cast, sum, element);
    finishCotangent(sum, value);
    return sum;
  }

  void finishCotangent(ValueId cotangent, ValueId primal) {
    if (fromData_[primal.index])
      build_.needForInput(cotangent);
    build_.placeLike(cotangent, primal);
    build_.nameCotangent(cotangent, primal);
  }

  void differentiate(OpId id) {
    const Op &op = body_.op(id);
    if (op.kind == OpKind::Weight || op.kind == OpKind::Input)
      return;
    OpGradient gradient{program_, op, build_, {}, {}, {}, {}};
    if (op.kind == OpKind::Dropout)
      gradient.mask = masks_.lookup(op.results[0].index);
    build_.enter(op);
    for (ValueId result : op.results)
      gradient.cotangents.push_back(varied_[result.index] ? cotangentOf(result) : ValueId());
    build_.enter(op);
    bool any = false;
    for (size_t i = 0; i < op.operands.size(); ++i) {
      ValueId operand = op.operands[i];
      gradient.wanted.push_back(varied_[operand.index] && flowsTo(op, i));
      gradient.elements.push_back(elementOf(operand));
      any |= gradient.wanted.back();
    }
    auto give = [&](size_t operand, ValueId share) { contribute(op.operands[operand], share); };
    gradient.contribute = give;
    if (any && llvm::any_of(gradient.cotangents, [](ValueId value) { return value.valid(); }))
      applyGradientRule(gradient);
  }

  void finishLeaf(ValueId leaf) {
    const Op &op = opOf(leaf);
    uint32_t slot = op.get<SlotFields>().slot;
    build_.enter(op, slot + 1);
    ValueId cotangent = cotangentOf(leaf);
    if (!cotangent)
      return;
    build_.standWith(cotangent); // in the order of the weight's dims it is still where it was computed
    cotangent = build_.full(cotangent, DimList(build_.type(leaf).dims));
    build_.enter(op, slot + 1);
    finishCotangent(cotangent, leaf);
    if (op.kind == OpKind::Weight) {
      build_.accumulate(cotangent, slot);
      return;
    }
    uint32_t leader = task_.leaders[slot];
    NameId name = prefixed("d", body_.inputs[leader].name);
    std::string wanted = program_.text(name).str();
    auto isTaken = [&](const BodyOutput &output) { return output.name == name; };
    for (unsigned number = 2; llvm::any_of(body_.outputs, isTaken); ++number)
      name = program_.context->name(wanted + "'" + std::to_string(number));
    body_.outputs.push_back({name, cotangent, leader});
  }

  const Program &program_;
  Body &body_;
  const BackwardTask &task_;
  DropoutMasks masks_;
  BackwardBuilder build_;
  size_t forwardOps_;
  Bits varied_;
  std::vector<llvm::SmallVector<ValueId, 4>> shares_; ///< per forward value
  std::vector<ValueId> collector_;                    ///< per forward value: the one that collects its shares
  std::vector<llvm::SmallVector<ValueId, 2>> dueAt_;  ///< per forward op: the leaves whose first use it is
  llvm::SmallVector<ValueId, 2> unread_;              ///< leaves that no op uses
  Bits fromData_;
};

} // namespace

void addBackward(const Program &program, Body &body, const BackwardTask &task, PassStats &stats) {
  DropoutMasks masks = addDropoutMasks(*program.context, body, variedBy(body, task));
  BodyBackward(program, body, task, std::move(masks)).run(stats);
}

} // namespace stg::autodiff
