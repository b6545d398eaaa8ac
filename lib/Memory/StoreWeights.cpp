//===- StoreWeights.cpp - weights and gradients in shards -------------------===//
// In the order of a body: the weights and what gathers them, forward; what gathers them again, backward; what brings
// gradients to their shards, and adds them up there. When each collective is issued is for the trace to say.
//===----------------------------------------------------------------------===//
#include "StoreWeights.h"
#include "StepBuilder.h"
#include "StoredForms.h"
#include "stg/Analysis/Kernels.h"
#include "stg/IR/BodyVariants.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace stg {

namespace {

class BodyStorage {
public:
  /// `unit`: any of the body's.
  BodyStorage(Program &program, UnitId unit, bool isLast)
      : program_(program), unit_(unit), isLast_(isLast), body_(program.bodies[program.units[unit.index].body.index]),
        builder_(program, body_) {}

  void run() {
    for (uint32_t slot = 0; slot < body_.weights.size(); ++slot) {
      const WeightSlot &weight = body_.weights[slot];
      forms_.push_back(storedForms(program_, weight.type, *weight.layout, weightPath(program_, unit_, slot)));
    }
    ownOps_ = body_.ops.size();
    collectGathered();
    gatherForForward();
    gatherForBackward();
    collectReduced();
    reduceGradients();
    if (body_.ops.size() != ownOps_ || !gathered_.empty())
      arrange();
  }

private:
  /// A weight that rests in shards: `used` is what the body computes with.
  struct Gathered {
    uint32_t slot;
    OpId weight;
    ValueId shard, used;
  };
  /// Values that one collective brings together.
  struct Bucket {
    AtomList atoms;
    ElementType element;
    uint32_t slot; ///< where each weight is for itself
    bool isHeld;
    llvm::SmallVector<ValueId, 8> from, to;
  };

  Layout home(uint32_t slot) const { return homes_.at(slot); }

  Bucket &bucketFor(std::vector<Bucket> &buckets, AtomList atoms, ElementType element, uint32_t slot) {
    uint32_t own = forms_[slot].rule->unit == StorageUnit::Weight ? slot : ~0u;
    bool isHeld = forms_[slot].holds();
    for (Bucket &bucket : buckets)
      if (bucket.atoms == atoms && bucket.element == element && bucket.slot == own && bucket.isHeld == isHeld)
        return bucket;
    return buckets.emplace_back(Bucket{std::move(atoms), element, own, isHeld, {}, {}});
  }

  //===--------------------------------------------------------------------===//
  // Weights
  //===--------------------------------------------------------------------===//

  void collectGathered() {
    for (uint32_t i = 0; i < ownOps_; ++i) {
      if (body_.ops[i].kind != OpKind::Weight)
        continue;
      uint32_t slot = body_.ops[i].get<SlotFields>().slot;
      const WeightSlot &weight = body_.weights[slot];
      if (!forms_[slot].keepsWeightShards(*weight.layout))
        continue;
      ValueId used = body_.ops[i].results[0];
      ValueId shard = builder_.newValue(weight.type, forms_[slot].weight, program_.text(weight.name).str() + ".whole");
      std::swap(body_.values[shard.index].name, body_.values[used.index].name); // the weight keeps its name
      body_.ops[i].results[0] = shard;
      body_.values[shard.index].def = OpId(i);
      gathered_.push_back({slot, OpId(i), shard, used});
    }
    for (const Gathered &each : gathered_) {
      homes_.try_emplace(each.slot, *body_.weights[each.slot].layout);
      body_.weights[each.slot].layout = forms_[each.slot].weight;
    }
    // What is not read here rests in shards all the same.
    for (uint32_t slot = 0; slot < body_.weights.size(); ++slot)
      if (forms_[slot].keepsWeightShards(*body_.weights[slot].layout))
        body_.weights[slot].layout = forms_[slot].weight;
  }

  AtomList gatheredAtoms(uint32_t slot) const {
    AtomList atoms;
    const Layout at = home(slot);
    for (uint32_t atom = 0; atom < at.places.size(); ++atom)
      if (at.places[atom] != forms_[slot].weight.places[atom])
        atoms.push_back(atom);
    return atoms;
  }

  void gather(Part part, llvm::ArrayRef<std::pair<const Gathered *, ValueId>> weights) {
    std::vector<Bucket> buckets;
    for (const auto &[each, result] : weights) {
      const WeightSlot &weight = body_.weights[each->slot];
      Bucket &bucket =
          bucketFor(buckets, gatheredAtoms(each->slot), weight.commWeight.value_or(weight.type.element), each->slot);
      bucket.from.push_back(each->shard);
      bucket.to.push_back(result);
    }
    for (const Bucket &bucket : buckets) {
      builder_.begin(bucket.isHeld ? Part::Gather : part, NameId(), ruleOf(bucket, weights).where);
      gatherAs(bucket);
    }
  }

  /// Communicated in the bucket's element type.
  void gatherAs(const Bucket &bucket) {
    llvm::SmallVector<ValueId, 8> sent, received;
    for (size_t i = 0; i < bucket.from.size(); ++i) {
      TensorType type = builder_.typeOf(bucket.to[i]);
      bool isCast = type.element != bucket.element;
      sent.push_back(builder_.cast(bucket.from[i], bucket.element, builder_.nameOf(bucket.from[i]) + ".sent"));
      type.element = bucket.element;
      Layout layout = builder_.layoutOf(bucket.to[i]);
      received.push_back(
          isCast ? builder_.newValue(std::move(type), std::move(layout), builder_.nameOf(bucket.to[i]) + ".received")
                 : bucket.to[i]);
    }
    builder_.storageCollective(OpKind::AllGather, sent, bucket.atoms, received);
    builder_.nextKernel();
    for (size_t i = 0; i < received.size(); ++i)
      if (received[i] != bucket.to[i])
        builder_.castTo(received[i], bucket.to[i]);
  }

  const StorageRule &ruleOf(const Bucket &bucket, llvm::ArrayRef<std::pair<const Gathered *, ValueId>> weights) const {
    for (const auto &[each, result] : weights)
      if (each->shard == bucket.from.front())
        return *forms_[each->slot].rule;
    return program_.plan.storage.front();
  }

  void gatherForForward() {
    std::vector<std::pair<const Gathered *, ValueId>> wanted;
    for (const Gathered &each : gathered_)
      wanted.push_back({&each, each.used});
    gather(Part::Forward, wanted);
  }

  /// Whether the weight is gathered for the backward by itself.
  bool gathersAgain(const Gathered &each) const {
    const StorageRule &rule = *forms_[each.slot].rule;
    return !forms_[each.slot].holds() && rule.regather && (!isLast_ || rule.regatherLast);
  }

  void gatherForBackward() {
    if (llvm::none_of(body_.ops, [](const Op &op) { return isBackward(op.part); }))
      return;
    std::vector<std::pair<const Gathered *, ValueId>> wanted;
    std::map<uint32_t, ValueId> again; // by forward value
    for (const Gathered &each : gathered_)
      if (gathersAgain(each) && (forms_[each.slot].rule->gatherUnread || isReadBackward(each.used))) {
        ValueId copy = builder_.newValue(body_.weights[each.slot].type, home(each.slot),
                                         program_.text(body_.weights[each.slot].name).str() + ".whole");
        wanted.push_back({&each, copy});
        again[each.used.index] = copy;
      }
    if (wanted.empty())
      return;
    gather(Part::InputGrad, wanted);
    builder_.begin(Part::InputGrad, NameId(), {});
    for (size_t i = 0; i < ownOps_; ++i)
      if (isBackward(body_.ops[i].part))
        for (size_t k = 0; k < body_.ops[i].operands.size(); ++k) {
          ValueId operand = builder_.repeated(body_.ops[i].operands[k], again);
          body_.ops[i].operands[k] = operand;
        }
  }

  /// Views and local slices of the weight in the forward are the weight.
  bool isReadBackward(ValueId used) const {
    std::vector<bool> isWeight(body_.values.size(), false);
    isWeight[used.index] = true;
    for (size_t i = 0; i < ownOps_; ++i) {
      const Op &op = body_.ops[i];
      for (size_t k = 0; k < op.operands.size(); ++k) {
        if (!isWeight[op.operands[k].index])
          continue;
        if (isBackward(op.part))
          return true;
        if (isLookedThrough(op.kind))
          isWeight[op.results[k].index] = true;
      }
    }
    return false;
  }

  //===--------------------------------------------------------------------===//
  // Gradients
  //===--------------------------------------------------------------------===//

  void collectReduced() {
    for (size_t i = 0; i < ownOps_; ++i) {
      const Op &op = body_.ops[i];
      if (op.kind != OpKind::Accumulate)
        continue;
      uint32_t slot = op.get<SlotFields>().slot;
      if (!forms_[slot].reducesEach() || !movesBuffer(slot))
        continue;
      replaced_.push_back(OpId(static_cast<uint32_t>(i)));
      reduced_[slot].push_back(op.operands[0]);
    }
  }

  /// Whether the shards of the gradient split what its buffer does not.
  bool movesBuffer(uint32_t slot) const {
    const Layout &buffer = *body_.weights[slot].buffer, &shard = forms_[slot].gradient;
    for (uint32_t atom : forms_[slot].atoms)
      if (shard.places[atom].isSplit() && !buffer.places[atom].isSplit())
        return true;
    return false;
  }

  void reduceGradients() {
    if (reduced_.empty())
      return;
    std::map<uint32_t, ValueId> shards;
    std::vector<Bucket> buckets;
    std::map<uint32_t, uint32_t> slotOf; // by value in a bucket
    for (const auto &[slot, values] : reduced_) {
      const WeightSlot &weight = body_.weights[slot];
      builder_.begin(Part::WeightGrad, NameId(), weight.where);
      std::string name = program_.text(weight.name).str() + ".grad";
      ValueId sum = values.size() == 1 ? values[0] : builder_.map(MapFn::Add, values, weight.gradient, name);
      sum = builder_.cast(sum, weight.gradient, name);
      AtomList atoms = summedAtoms(sum, slot);
      if (atoms.empty()) {
        shards[slot] = splitWhole(sum, slot, name);
        continue;
      }
      ElementType sent = weight.commGradient.value_or(weight.gradient);
      sum = builder_.cast(sum, sent, name + ".sent");
      Bucket &bucket = bucketFor(buckets, atoms, sent, slot);
      bucket.from.push_back(sum);
      slotOf[sum.index] = slot;
    }
    for (Bucket &bucket : buckets) {
      const StorageRule &rule = *forms_[slotOf.at(bucket.from.front().index)].rule;
      builder_.begin(Part::WeightGrad, NameId(), rule.where);
      OpKind kind = rule.allReduces ? OpKind::AllReduce : OpKind::ReduceScatter;
      for (ValueId from : bucket.from)
        bucket.to.push_back(completed(from, bucket.atoms, slotOf.at(from.index), rule.allReduces));
      builder_.storageCollective(kind, bucket.from, bucket.atoms, bucket.to);
      builder_.nextKernel();
      for (size_t i = 0; i < bucket.to.size(); ++i) {
        uint32_t slot = slotOf.at(bucket.from[i].index);
        shards[slot] = builder_.cast(bucket.to[i], body_.weights[slot].gradient, builder_.nameOf(bucket.to[i]));
      }
    }
    builder_.begin(Part::WeightGrad, NameId(), body_.weights[shards.begin()->first].where);
    for (auto &[slot, shard] : shards) {
      shard = splitWhole(shard, slot, program_.text(body_.weights[slot].name).str() + ".grad");
      body_.weights[slot].buffer = builder_.layoutOf(shard);
      builder_.addEffect(OpKind::Accumulate, shard, {slot});
    }
  }

  /// Atoms over which the gradient is still to be summed and is wanted split.
  AtomList summedAtoms(ValueId gradient, uint32_t slot) const {
    AtomList atoms;
    for (uint32_t atom : forms_[slot].atoms)
      if (forms_[slot].gradient.places[atom].isSplit() && builder_.layoutOf(gradient).places[atom].isPartial())
        atoms.push_back(atom);
    return atoms;
  }

  ValueId completed(ValueId gradient, const AtomList &atoms, uint32_t slot, bool stays) {
    Layout layout = builder_.layoutOf(gradient);
    for (uint32_t atom : atoms)
      layout.places[atom] = stays ? Place::whole() : forms_[slot].gradient.places[atom];
    TensorType type = builder_.typeOf(gradient);
    return builder_.newValue(std::move(type), std::move(layout),
                             program_.text(body_.weights[slot].name).str() + ".grad");
  }

  /// Its shard of what is the same on all ranks.
  ValueId splitWhole(ValueId gradient, uint32_t slot, llvm::StringRef name) {
    Layout layout = builder_.layoutOf(gradient);
    for (uint32_t atom : forms_[slot].atoms)
      if (layout.places[atom].isWhole())
        layout.places[atom] = forms_[slot].gradient.places[atom];
    return builder_.convert(gradient, layout, name);
  }

  //===--------------------------------------------------------------------===//
  // Order
  //===--------------------------------------------------------------------===//

  void arrange() {
    std::vector<uint32_t> group(body_.ops.size());
    for (size_t i = 0; i < body_.ops.size(); ++i) {
      const Op &op = body_.ops[i];
      bool isNew = i >= ownOps_;
      group[i] = !isBackward(op.part) ? (isNew ? 1 : 2) : isNew ? (op.part == Part::InputGrad ? 3 : 5) : 4;
    }
    for (const Gathered &each : gathered_)
      group[each.weight.index] = 0;
    std::vector<bool> isReplaced(body_.ops.size(), false);
    for (OpId op : replaced_)
      isReplaced[op.index] = true;
    std::vector<Op> sorted;
    for (uint32_t wanted = 0; wanted <= 5; ++wanted)
      for (size_t i = 0; i < body_.ops.size(); ++i)
        if (group[i] == wanted && !isReplaced[i])
          sorted.push_back(std::move(body_.ops[i]));
    setOps(body_, std::move(sorted));
  }

  Program &program_;
  UnitId unit_;
  bool isLast_;
  Body &body_;
  StepBuilder builder_;
  std::vector<StoredForms> forms_; ///< by slot
  size_t ownOps_ = 0;              ///< those behind are this pass's
  std::vector<Gathered> gathered_;
  std::map<uint32_t, Layout> homes_;                 ///< of the slots that are gathered
  std::map<uint32_t, std::vector<ValueId>> reduced_; ///< gradients by slot
  std::vector<OpId> replaced_;
};

/// The last unit of the forward that stands for itself, whose backward follows at once.
std::optional<UnitId> lastUnit(const Program &program) {
  if (program.units.empty() || program.units.back().index >= 0)
    return std::nullopt;
  return UnitId(static_cast<uint32_t>(program.units.size() - 1));
}

/// Two units of one body may name different weights of the program.
void tellUnitsApart(Program &program) {
  std::map<std::pair<bool, std::vector<llvm::SmallVector<uint32_t, 2>>>, uint32_t> known;
  std::vector<uint32_t> keys;
  std::optional<UnitId> last = lastUnit(program);
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    const Body &body = program.body(program.units[u]);
    std::vector<llvm::SmallVector<uint32_t, 2>> answers;
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      if (!body.weights[slot].owned)
        answers.push_back(storageRulesOf(program.plan, weightPath(program, UnitId(u), slot)));
    keys.push_back(known.try_emplace({last == UnitId(u), std::move(answers)}, known.size()).first->second);
  }
  splitBodies(program, keys);
}

} // namespace

void storeWeights(Program &program, PassStats &stats) {
  if (program.plan.storage.empty())
    return;
  tellUnitsApart(program);
  std::optional<UnitId> last = lastUnit(program);
  std::vector<bool> done(program.bodies.size(), false);
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    uint32_t body = program.units[u].body.index;
    if (done[body])
      continue;
    done[body] = true;
    stats.opVisits += program.bodies[body].ops.size();
    BodyStorage(program, UnitId(u), last == UnitId(u)).run();
  }
}

} // namespace stg
