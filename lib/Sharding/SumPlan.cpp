//===- SumPlan.cpp - n-ary sums of complete and partial values ---------------===//
// A sum stays partial if no summand would have to be converted for it; then what is whole is demoted: one member keeps
// it, the others hold zeros. Otherwise summands that lie alike are added before they are converted, so that several
// partial gradients of one value cost one reduction (language.md 5.6). The gradient of a weight that is used in two
// layouts is such a sum: it goes to the weight's home, and stays partial wherever it can until the step.
//===----------------------------------------------------------------------===//
#include "BodyPlanner.h"

namespace stg {

namespace {

bool sameDims(const TensorType &a, const TensorType &b) {
  return a.dims.size() == b.dims.size() && llvm::all_of(a.dims, [&](const Dim &dim) { return b.has(dim.name); });
}

/// The layout in which both can be added after demotion; nothing if they differ in more than that.
std::optional<Layout> demoted(const Layout &a, const Layout &b) {
  Layout result = a;
  for (size_t atom = 0; atom < a.places.size(); ++atom) {
    if (a.places[atom] == b.places[atom])
      continue;
    if (a.places[atom].isSplit() || b.places[atom].isSplit())
      return std::nullopt;
    result.places[atom] = Place::partial();
  }
  return result;
}

} // namespace

void BodyPlanner::planSum(OpId root) {
  std::optional<uint32_t> trained = trainedBy(root);
  if (trained)
    adoptHome(root, plan_.weights[*trained]);
  std::vector<Addend> addends;
  for (Summand &summand : sums_.summands[root.index])
    addends.push_back(addendOf(summand, root));
  const TensorType &sum = type(body_.op(root).results[0]);
  auto isPartial = [](const Addend &addend) { return addend.at.layout.isPartial(); };
  bool isWide = llvm::any_of(
      addends, [&](const Addend &addend) { return isPartial(addend) && sameDims(type(addend.summand->value), sum); });
  if (!isWide) // completing what has fewer dims is cheaper
    for (Addend &addend : addends)
      if (isPartial(addend)) {
        addend.at = form(restOf(addend.summand->value, phaseOf(body_.op(root).part))).at;
        addend.raw = false;
      }
  AtomList pending;
  for (uint32_t atom = 0; atom < numAtoms_; ++atom)
    if (llvm::any_of(addends, [&](const Addend &addend) { return addend.at.layout.places[atom].isPartial(); }))
      pending.push_back(atom);
  if (!pending.empty() && staysPartial(addends, pending))
    planPartialSum(root, addends, pending);
  else if (trained) {
    RuledLayout kept = keptPartial(addends, pending);
    planPools(root, addends, &kept);
  } else
    planPools(root, addends, nullptr);
}

/// The weight slot to which the sum is added, if that is its only use.
std::optional<uint32_t> BodyPlanner::trainedBy(OpId root) const {
  ValueId result = body_.op(root).results[0];
  return useCount_[result.index] == 1 && !pinOf(result) ? trains_[result.index] : std::nullopt;
}

/// The sum computes where the weight lives, whatever rules say of the place where it stands.
void BodyPlanner::adoptHome(OpId root, const RuledLayout &home) {
  OpPlan &plan = plan_.ops[root.index];
  for (size_t atom = 0; atom < plan.compute.size(); ++atom) {
    plan.compute[atom] = -1;
    for (size_t factor = 0; factor < factors_[root.index].size(); ++factor)
      if (home.layout.places[atom] == Place::split(factors_[root.index][factor].resultDims[0]))
        plan.compute[atom] = static_cast<int16_t>(factor);
    plan.assignment.atoms[atom] = {plan.compute[atom], home.rules[atom]};
  }
}

/// Where a weight's gradient stays partial, as its summands shall: on all pending atoms, but where a summand is split
/// as the weight is.
RuledLayout BodyPlanner::keptPartial(std::vector<Addend> &addends, llvm::ArrayRef<uint32_t> pending) const {
  RuledLayout kept{Layout(numAtoms_), AtomRules(numAtoms_, -1)};
  for (uint32_t atom : pending) {
    bool isSplit = llvm::any_of(addends, [&](const Addend &addend) {
      return addend.want.layout.places[atom].isSplit() && addend.at.layout.places[atom].isSplit();
    });
    if (isSplit)
      continue;
    kept.layout.places[atom] = Place::partial();
    for (Addend &addend : addends)
      addend.want.layout.places[atom] = Place::partial();
  }
  return kept;
}

/// The form in which the sum finds the summand.
BodyPlanner::Addend BodyPlanner::addendOf(Summand &summand, OpId root) {
  RuledLayout sum = sumLayout(root);
  Addend addend;
  addend.summand = &summand;
  addend.want = restricted(sum, type(summand.value));
  ValueId id = summand.value;
  if (isSupplied(id) || isSlot(id)) {
    addend.at = addend.want;
    addend.computed = false;
    return addend;
  }
  const Layout &natural = form(plan_.produced[id.index]).at.layout;
  bool isMax = llvm::any_of(natural.places, [](Place place) { return place.isPartial() && place.fn != ReduceFn::Sum; });
  addend.raw = !rest_[id.index] && useCount_[id.index] == 1 && !isMax && !pinOf(id);
  addend.at = addend.raw ? form(plan_.produced[id.index]).at : form(restOf(id, phaseOf(body_.op(root).part))).at;
  return addend;
}

bool BodyPlanner::staysPartial(llvm::ArrayRef<Addend> addends, llvm::ArrayRef<uint32_t> pending) const {
  return llvm::all_of(addends, [&](const Addend &addend) {
    for (uint32_t atom = 0; atom < numAtoms_; ++atom) {
      Place place = addend.at.layout.places[atom];
      if (llvm::is_contained(pending, atom) ? place.isSplit() : place != addend.want.layout.places[atom])
        return false;
    }
    return true;
  });
}

void BodyPlanner::planPartialSum(OpId root, std::vector<Addend> &addends, llvm::ArrayRef<uint32_t> pending) {
  const Op &op = body_.op(root);
  Demand demand{op.part, root};
  RuledLayout partial{Layout(numAtoms_), AtomRules(numAtoms_, -1)};
  for (uint32_t atom : pending)
    partial.layout.places[atom] = Place::partial();
  for (Addend &addend : addends) {
    ValueId id = addend.summand->value;
    RuledLayout base = addend.want;
    for (uint32_t atom : pending)
      base.layout.places[atom] = Place::whole();
    FormId found = !addend.computed ? get(id, base, demand)
                   : addend.raw     ? plan_.produced[id.index]
                                    : restOf(id, phaseOf(op.part));
    RuledLayout target = form(found).at;
    for (uint32_t atom : pending) {
      if (target.layout.places[atom].isPartial() && partial.rules[atom] < 0)
        partial.rules[atom] = target.rules[atom];
      target.layout.places[atom] = Place::partial();
    }
    addend.summand->form = convert(found, target, demand);
  }
  setSumLayouts(root, &partial);
}

/// `pending`: where the summands are wanted partial.
void BodyPlanner::planPools(OpId root, std::vector<Addend> &addends, const RuledLayout *pending) {
  const Op &op = body_.op(root);
  Demand demand{op.part, root};
  RebuiltSum rebuilt;
  for (uint32_t i = 0; i < addends.size(); ++i) {
    Addend &addend = addends[i];
    ValueId id = addend.summand->value;
    if (!addend.raw || addend.at.layout == addend.want.layout) {
      RuledLayout complete = addend.want;
      for (Place &place : complete.layout.places)
        if (place.isPartial())
          place = Place::whole();
      addend.summand->form =
          addend.raw ? plan_.produced[id.index] : convert(get(id, complete, demand), addend.want, demand);
      rebuilt.rest.push_back(i);
      continue;
    }
    addend.summand->form = plan_.produced[id.index];
    auto pool = llvm::find_if(rebuilt.pools, [&](const SumPool &other) {
      return other.layout == addend.at.layout && sameDims(type(addends[other.members[0]].summand->value), type(id));
    });
    if (pool == rebuilt.pools.end()) {
      rebuilt.pools.push_back({{}, addend.at.layout, addend.want});
      pool = std::prev(rebuilt.pools.end());
    }
    pool->members.push_back(i);
  }
  for (size_t i = 0; i < rebuilt.pools.size(); ++i)
    for (size_t j = i + 1; j < rebuilt.pools.size();) {
      SumPool &first = rebuilt.pools[i], &second = rebuilt.pools[j];
      std::optional<Layout> common = demoted(first.layout, second.layout);
      if (!common || !common->isPartial() ||
          !sameDims(type(addends[first.members[0]].summand->value), type(addends[second.members[0]].summand->value))) {
        ++j;
        continue;
      }
      first.layout = *common;
      first.members.append(second.members);
      rebuilt.pools.erase(rebuilt.pools.begin() + static_cast<std::ptrdiff_t>(j));
      j = i + 1;
    }
  bool takenApart = false;
  for (SumPool &pool : rebuilt.pools) {
    bool isShared = pool.members.size() > 1;
    takenApart |= isShared;
    for (uint32_t member : pool.members) {
      Addend &addend = addends[member];
      OpId def = value(addend.summand->value).def;
      RuledLayout common{pool.layout, addend.at.rules};
      addend.summand->form = isShared ? convert(addend.summand->form, common, demand)
                                      : convert(addend.summand->form, pool.target, {body_.op(def).part, def}, true);
    }
  }
  setSumLayouts(root, pending);
  if (!takenApart)
    return;
  for (size_t i = rebuilt.pools.size(); i-- > 0;)
    if (rebuilt.pools[i].members.size() == 1) {
      rebuilt.rest.push_back(rebuilt.pools[i].members[0]);
      rebuilt.pools.erase(rebuilt.pools.begin() + static_cast<std::ptrdiff_t>(i));
    }
  llvm::sort(rebuilt.rest);
  for (uint32_t i = 0; i < body_.ops.size(); ++i)
    if (sums_.root[i] == root && OpId(i) != root)
      plan_.ops[i].dropped = true;
  rebuilt.summands = sums_.summands[root.index];
  plan_.rebuilt.push_back({root, std::move(rebuilt)});
}

/// Gives every addition of the sum its layout, and its operands.
void BodyPlanner::setSumLayouts(OpId root, const RuledLayout *pending) {
  Demand demand{body_.op(root).part, root};
  OpPlan outer = plan_.ops[root.index];
  std::vector<uint32_t> chain;
  for (uint32_t i = 0; i <= root.index; ++i)
    if (sums_.root[i] == root)
      chain.push_back(i);
  for (uint32_t i : chain) {
    OpPlan &plan = plan_.ops[i];
    plan.assignment = outer.assignment;
    for (size_t atom = 0; atom < plan.compute.size(); ++atom) {
      plan.compute[atom] = -1;
      if (outer.compute[atom] < 0 || (pending && pending->layout.places[atom].isPartial()))
        continue;
      NameId dim = factors_[root.index][static_cast<size_t>(outer.compute[atom])].resultDims[0];
      for (size_t factor = 0; factor < factors_[i].size(); ++factor)
        if (factors_[i][factor].resultDims[0] == dim)
          plan.compute[atom] = static_cast<int16_t>(factor);
    }
    produceResults(OpId(i), pending);
  }
  for (const Summand &summand : sums_.summands[root.index])
    plan_.ops[summand.op.index].operands[summand.operand] = summand.form;
  RuledLayout whole{Layout(numAtoms_), AtomRules(numAtoms_, -1)};
  for (uint32_t i : chain)
    for (uint32_t k = 0; k < body_.ops[i].operands.size(); ++k)
      if (FormId &operand = plan_.ops[i].operands[k]; !operand) {
        ValueId id = body_.ops[i].operands[k];
        operand = isSupplied(id) ? get(id, whole, demand) : plan_.produced[id.index];
      }
}

} // namespace stg
