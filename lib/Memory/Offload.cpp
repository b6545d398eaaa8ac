//===- Offload.cpp - what rests in the memory of the host --------------------===//
// Invariant: a value on the host is read by loads, and by what gives a slot on the host its new value; the verifier
// checks it. So a slot is marked first, and then all that reads it reads a load.
//
// In the order of a body: host weights and what loads them, forward; what stores the forward's values; what loads for
// the backward, with views of it made again; the sync; host states and what loads them, the step, what stores their
// new values and gives them to the slots. When each transfer is issued is for the trace to say.
//===----------------------------------------------------------------------===//
#include "stg/Memory/Offload.h"
#include "StepBuilder.h"
#include "StoredForms.h"
#include "stg/Analysis/Kernels.h"
#include "stg/IR/BodyVariants.h"
#include "stg/IR/LayoutOps.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

namespace stg {

namespace {

/// The first rule that offloads this of what has the path; null: it stays on the device.
const OffloadRule *ruleFor(const Plan &plan, bool OffloadRule::*what, llvm::StringRef path) {
  for (const OffloadRule &rule : plan.offload)
    if (rule.*what && matches(rule.scopes, path))
      return &rule;
  return nullptr;
}

/// The parts of a body's order.
enum class Place : uint8_t {
  HostWeights,
  LoadForward,
  Forward,
  StoreForward,
  LoadBackward,
  Backward,
  Sync,
  HostStates,
  LoadStep,
  Step,
  StoreStep,
  KeepStep
};

class BodyOffload {
public:
  /// `unit`: any of the body's. `isMade`: by input slot, whether some unit makes what it brings.
  BodyOffload(Program &program, UnitId unit, std::vector<bool> isMade)
      : program_(program), plan_(program.plan), unit_(unit), unitPath_(program.unitPath(program.units[unit.index])),
        body_(program.bodies[program.units[unit.index].body.index]), builder_(program, body_),
        isMade_(std::move(isMade)), ownOps_(body_.ops.size()) {}

  void run() {
    markSlots();
    loadWeights();
    moveActivations();
    moveStates();
    if (body_.ops.size() != ownOps_)
      arrange();
  }

private:
  /// Values that travel together, by what their rule says.
  struct Transfer {
    HostFields fields;
    SourceRange where;
    llvm::SmallVector<ValueId, 8> from, to;
  };
  using Transfers = std::vector<Transfer>;

  static HostFields fieldsOf(const OffloadRule &rule) {
    HostFields fields;
    fields.prefetch = rule.prefetch;
    fields.overlaps = rule.overlaps;
    return fields;
  }

  static Transfer &transferFor(Transfers &transfers, const OffloadRule &rule) {
    HostFields fields = fieldsOf(rule);
    for (Transfer &transfer : transfers)
      if (transfer.fields == fields)
        return transfer;
    return transfers.emplace_back(Transfer{fields, rule.where, {}, {}});
  }

  /// The value in the other memory: its name with this at the end.
  ValueId move(Transfers &transfers, const OffloadRule &rule, ValueId value, llvm::StringRef name,
               llvm::StringRef ending) {
    TensorType type = builder_.typeOf(value);
    Layout layout = builder_.layoutOf(value);
    ValueId moved = builder_.newValue(std::move(type), std::move(layout), name.str() + ending.str());
    Transfer &transfer = transferFor(transfers, rule);
    transfer.from.push_back(value);
    transfer.to.push_back(moved);
    return moved;
  }

  void append(OpKind kind, Part part, const Transfers &transfers, Place place) {
    for (const Transfer &transfer : transfers) {
      builder_.begin(part, NameId(), transfer.where);
      Op op;
      op.kind = kind;
      op.operands.assign(transfer.from.begin(), transfer.from.end());
      op.results.assign(transfer.to.begin(), transfer.to.end());
      op.fields = transfer.fields;
      if (kind == OpKind::Store)
        op.get<HostFields>().prefetch = HostFields().prefetch;
      builder_.append(std::move(op));
      placeOfNew_.push_back(place);
    }
  }

  //===--------------------------------------------------------------------===//
  // Slots
  //===--------------------------------------------------------------------===//

  void markSlots() {
    for (uint32_t slot = 0; slot < body_.weights.size(); ++slot) {
      weightRules_.push_back(ruleFor(plan_, &OffloadRule::weights, weightPath(program_, unit_, slot)));
      body_.weights[slot].host = weightRules_.back() != nullptr;
    }
    stateRules_.assign(body_.states.size(), nullptr);
    for (const Op &op : body_.ops)
      if (op.kind == OpKind::State && op.part == Part::Step) {
        uint32_t slot = op.get<SlotFields>().slot;
        stateRules_[slot] = ruleOfState(op.scope, slot);
        body_.states[slot].host = stateRules_[slot] != nullptr;
      }
  }

  /// Ops of the step have the scope of their weight.
  const OffloadRule *ruleOfState(NameId weight, uint32_t state) const {
    bool isMaster = program_.text(body_.states[state].name) == program_.text(weight).str() + ".master";
    for (uint32_t slot = 0; slot < body_.weights.size(); ++slot)
      if (body_.weights[slot].name == weight)
        return ruleFor(plan_, isMaster ? &OffloadRule::masters : &OffloadRule::moments,
                       weightPath(program_, unit_, slot));
    return nullptr;
  }

  /// Of the slot that the op reads or writes, if it rests on the host.
  const OffloadRule *ruleOfSlot(const Op &op) const {
    switch (op.kind) {
    case OpKind::Weight:
    case OpKind::Assign:
      return weightRules_[op.get<SlotFields>().slot];
    case OpKind::State:
    case OpKind::Update:
      return stateRules_[op.get<SlotFields>().slot];
    default:
      return nullptr;
    }
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  void loadWeights() {
    Transfers loads;
    std::map<uint32_t, ValueId> again;
    for (ValueId value : readBackward())
      if (const OffloadRule *rule = ruleOfSlot(definition(value)))
        again[value.index] = move(loads, *rule, value, builder_.nameOf(value), ".reloaded");
    append(OpKind::Load, Part::InputGrad, loads, Place::LoadBackward);
    readAgain(again);
    loadWeightsFor(Part::Gather);
    loadWeightsFor(Part::Forward);
  }

  void loadWeightsFor(Part part) {
    Transfers loads;
    std::map<uint32_t, ValueId> loaded;
    for (size_t i = 0; i < ownOps_; ++i) {
      if (body_.ops[i].part != part)
        continue;
      for (size_t k = 0; k < body_.ops[i].operands.size(); ++k) {
        ValueId value = body_.ops[i].operands[k];
        if (definition(value).kind != OpKind::Weight || !ruleOfSlot(definition(value)))
          continue;
        auto [known, isNew] = loaded.try_emplace(value.index);
        if (isNew)
          known->second = move(loads, *ruleOfSlot(definition(value)), value, builder_.nameOf(value), ".loaded");
        body_.ops[i].operands[k] = known->second;
      }
    }
    append(OpKind::Load, part, loads, Place::LoadForward);
  }

  //===--------------------------------------------------------------------===//
  // Activations
  //===--------------------------------------------------------------------===//

  const Op &definition(ValueId value) const { return body_.op(body_.value(value).def); }

  /// What of before the backward its ops read, each once: what views show, not the views.
  std::vector<ValueId> readBackward() const {
    std::vector<ValueId> read;
    std::set<uint32_t> seen;
    for (size_t i = 0; i < ownOps_; ++i) {
      if (!isBackward(body_.ops[i].part))
        continue;
      for (ValueId value : body_.ops[i].operands) {
        while (isLookedThrough(definition(value).kind) && !isBackward(definition(value).part))
          value = definition(value).operands[body_.value(value).result];
        if (!isBackward(definition(value).part) && seen.insert(value.index).second)
          read.push_back(value);
      }
    }
    return read;
  }

  /// Backward ops read `again` of a value instead, or views made of that.
  void readAgain(std::map<uint32_t, ValueId> &again) {
    if (again.empty())
      return;
    builder_.begin(Part::InputGrad, NameId(), {});
    for (size_t i = 0; i < ownOps_; ++i)
      if (isBackward(body_.ops[i].part))
        for (size_t k = 0; k < body_.ops[i].operands.size(); ++k) {
          ValueId operand = builder_.repeated(body_.ops[i].operands[k], again);
          body_.ops[i].operands[k] = operand;
        }
    placeOfNew_.resize(body_.ops.size() - ownOps_, Place::LoadBackward);
  }

  void moveActivations() {
    Transfers stores, loads;
    std::map<uint32_t, ValueId> again;
    for (ValueId value : readBackward()) {
      const OffloadRule *rule = ruleOfActivation(value);
      if (!rule)
        continue;
      std::string name = builder_.nameOf(value);
      ValueId stored = move(stores, *rule, value, name, ".stored");
      again[value.index] = move(loads, *rule, stored, name, ".loaded");
    }
    append(OpKind::Store, Part::Forward, stores, Place::StoreForward);
    append(OpKind::Load, Part::InputGrad, loads, Place::LoadBackward);
    readAgain(again);
  }

  /// Null also for what is no activation.
  const OffloadRule *ruleOfActivation(ValueId value) const {
    const Op &op = definition(value);
    switch (op.kind) {
    case OpKind::Input:
      if (!isMade_[op.get<SlotFields>().slot])
        return nullptr;
      break;
    case OpKind::Weight:
    case OpKind::State:
    case OpKind::Constant:
    case OpKind::Iota:
    case OpKind::Total:
      return nullptr;
    default:
      if (bringsWeight(body_, op))
        return nullptr;
      break;
    }
    for (const OffloadRule &rule : plan_.offload)
      if (rule.activations && names(rule, op, value))
        return &rule;
    return nullptr;
  }

  /// By the path of its op's instance, or by its own.
  bool names(const OffloadRule &rule, const Op &op, ValueId value) const {
    auto isNamed = [&](NameId inner) {
      llvm::StringRef text = inner ? program_.text(inner) : llvm::StringRef();
      return matches(rule.scopes, text.empty() ? unitPath_ : unitPath_ + "." + text.str());
    };
    return isNamed(op.scope) || isNamed(body_.value(value).name);
  }

  //===--------------------------------------------------------------------===//
  // The step
  //===--------------------------------------------------------------------===//

  void moveStates() {
    Transfers loads, stores;
    std::map<uint32_t, ValueId> loaded;
    for (size_t i = 0; i < ownOps_; ++i) {
      if (body_.ops[i].part != Part::Step)
        continue;
      bool isRead = body_.ops[i].kind == OpKind::State || body_.ops[i].kind == OpKind::Weight;
      const OffloadRule *rule = ruleOfSlot(body_.ops[i]);
      if (rule && isRead) {
        ValueId value = body_.ops[i].results[0];
        loaded[value.index] = move(loads, *rule, value, builder_.nameOf(value), ".loaded");
      }
      for (size_t k = 0; k < body_.ops[i].operands.size(); ++k)
        if (auto known = loaded.find(body_.ops[i].operands[k].index); known != loaded.end())
          body_.ops[i].operands[k] = known->second;
      if (rule && !isRead) {
        ValueId value = body_.ops[i].operands[0];
        body_.ops[i].operands[0] = move(stores, *rule, value, builder_.nameOf(value), ".stored");
      }
    }
    append(OpKind::Load, Part::Step, loads, Place::LoadStep);
    append(OpKind::Store, Part::Step, stores, Place::StoreStep);
  }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  Place placeOf(const Op &op) const {
    if (ruleOfSlot(op)) {
      if (op.kind == OpKind::Update || op.kind == OpKind::Assign)
        return Place::KeepStep;
      return op.part == Part::Step ? Place::HostStates : Place::HostWeights;
    }
    if (isBackward(op.part))
      return Place::Backward;
    return op.part == Part::Sync ? Place::Sync : op.part == Part::Step ? Place::Step : Place::Forward;
  }

  void arrange() {
    std::vector<std::pair<Place, uint32_t>> order;
    for (uint32_t i = 0; i < body_.ops.size(); ++i)
      order.push_back({i < ownOps_ ? placeOf(body_.ops[i]) : placeOfNew_[i - ownOps_], i});
    llvm::sort(order);
    std::vector<Op> sorted;
    for (auto [place, op] : order)
      sorted.push_back(std::move(body_.ops[op]));
    setOps(body_, std::move(sorted));
  }

  Program &program_;
  const Plan &plan_;
  UnitId unit_;
  std::string unitPath_;
  Body &body_;
  StepBuilder builder_;
  std::vector<bool> isMade_;
  size_t ownOps_; ///< those behind are this pass's
  std::vector<Place> placeOfNew_;
  /// By slot: the rule that keeps it on the host, or null.
  std::vector<const OffloadRule *> weightRules_, stateRules_;
};

/// Two units of one body may name different weights of other units or of the program.
void tellUnitsApart(Program &program) {
  std::map<std::vector<const OffloadRule *>, uint32_t> known;
  std::vector<uint32_t> keys;
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    const Body &body = program.body(program.units[u]);
    std::vector<const OffloadRule *> answers;
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      if (!body.weights[slot].owned)
        answers.push_back(ruleFor(program.plan, &OffloadRule::weights, weightPath(program, UnitId(u), slot)));
    keys.push_back(known.try_emplace(std::move(answers), known.size()).first->second);
  }
  splitBodies(program, keys);
}

} // namespace

void offload(Program &program, PassStats &stats) {
  if (program.plan.offload.empty())
    return;
  tellUnitsApart(program);
  std::map<uint32_t, std::pair<UnitId, std::vector<bool>>> uses; // by body
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    const Unit &unit = program.units[u];
    auto &[first, isMade] = uses.try_emplace(unit.body.index, UnitId(u), std::vector<bool>()).first->second;
    isMade.resize(unit.inputs.size(), false);
    for (size_t slot = 0; slot < unit.inputs.size(); ++slot)
      isMade[slot] = isMade[slot] || std::holds_alternative<UnitValue>(unit.inputs[slot]);
  }
  for (auto &[body, use] : uses) {
    stats.opVisits += program.bodies[body].ops.size();
    BodyOffload(program, use.first, std::move(use.second)).run();
  }
}

} // namespace stg
