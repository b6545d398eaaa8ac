//===- Forms.cpp - how a value comes into the layout of a use ----------------===//
#include "BodyPlanner.h"
#include "stg/Sharding/Conversion.h"

namespace stg {

namespace {

/// Whether `a` is `b` with fewer splits: `b` is a slice of it.
bool isCoarser(const Layout &a, const Layout &b) {
  if (a == b)
    return false;
  for (size_t atom = 0; atom < a.places.size(); ++atom)
    if (!a.places[atom].isWhole() && a.places[atom] != b.places[atom])
      return false;
  return true;
}

} // namespace

FormId BodyPlanner::get(ValueId id, const RuledLayout &want, Demand demand) {
  if (isSupplied(id)) {
    const RuledLayout *pin = pinOf(id);
    return pin ? gathered(id, supply(id, *pin, demand), want, demand) : supply(id, want, demand);
  }
  if (isSlot(id) && form(plan_.produced[id.index]).at.layout != want.layout &&
      body_.op(value(id).def).kind == OpKind::Weight && phaseOf(demand.part) == 0) {
    uint32_t slot = body_.op(value(id).def).get<SlotFields>().slot;
    findings_.secondHomes.push_back(
        {program_.text(body_.weights[slot].name).str(), plan_.weightUses[slot], body_.op(demand.user).where});
  }
  return gathered(id, restOf(id, phaseOf(demand.part)), want, demand);
}

/// From where the value rests to `want`, over the form that still has all its splits: that one is made once, and is
/// what the backward pass keeps. Of the demands of one phase the coarsest is gathered, the others are slices of it.
FormId BodyPlanner::gathered(ValueId id, FormId rest, const RuledLayout &want, Demand demand) {
  unsigned phase = phaseOf(demand.part);
  auto find = [&](const Layout &layout) {
    for (FormId each : formsOf_[id.index]) // where a pin moved the value, not as it was before
      if ((form(each).origin != Form::Origin::Produced || each == rest) && form(each).at.layout == layout &&
          form(each).phase.value_or(phase) == phase)
        return each;
    return FormId();
  };
  if (form(rest).at.layout == want.layout) {
    require(rest, demand.part);
    return rest;
  }
  checkPinned(rest, want, demand);
  RuledLayout shrunk = want;
  for (size_t atom = 0; atom < numAtoms_; ++atom)
    if (Place place = form(rest).at.layout.places[atom]; place.isSplit() && want.layout.places[atom].isWhole()) {
      shrunk.layout.places[atom] = place;
      shrunk.rules[atom] = form(rest).at.rules[atom];
    }
  FormId middle = find(shrunk.layout);
  if (!middle)
    middle = convert(rest, shrunk, demand);
  require(middle, demand.part);
  if (shrunk.layout == want.layout)
    return middle;
  FormId found = find(want.layout);
  if (!found) {
    const RuledLayout *coarsest = &want;
    for (const Use &use : uses_[id.index])
      if (use.kind != Use::Kind::Free && phaseOf(use.part) == phase && isCoarser(use.want.layout, coarsest->layout))
        coarsest = &use.want;
    FormId source = middle;
    if (coarsest != &want)
      source = gathered(id, rest, RuledLayout(*coarsest), demand);
    bool isKept = keepsGathered(form(source).at.layout, want.layout, demand.user);
    found = convert(source, want, demand);
    if (!isKept)
      form(found).phase = phase;
  }
  require(found, demand.part);
  return found;
}

FormId BodyPlanner::restOf(ValueId id, unsigned phase) {
  if (!rest_[id.index])
    rest_[id.index] = complete(id, phase);
  return rest_[id.index];
}

/// A complete value rests as it was produced. A partial one is completed: on each atom to the place that all its uses
/// demand, where they disagree to its home.
FormId BodyPlanner::complete(ValueId id, unsigned phase) {
  FormId natural = plan_.produced[id.index];
  Demand birth{body_.op(value(id).def).part, value(id).def};
  if (const RuledLayout *pin = pinOf(id))
    return convert(natural, *pin, birth, true);
  RuledLayout target = form(natural).at;
  AtomList pending = target.layout.partialAtoms();
  if (pending.empty())
    return natural;
  RuledLayout home = homeOf(id);
  for (uint32_t atom : pending) {
    target.layout.places[atom] = home.layout.places[atom];
    target.rules[atom] = home.rules[atom];
    const Use *first = nullptr;
    bool agree = true;
    for (const Use &use : uses_[id.index]) {
      if (use.kind == Use::Kind::Free)
        continue;
      if (!first)
        first = &use;
      agree &= use.want.layout.places[atom] == first->want.layout.places[atom];
    }
    if (first && agree) {
      target.layout.places[atom] = first->want.layout.places[atom];
      target.rules[atom] = first->want.rules[atom];
    }
  }
  foldGather(id, pending, target, phase);
  return convert(natural, target, birth, true);
}

/// A reduce-scatter whose result is gathered again over the same group in the same phase is one all-reduce.
void BodyPlanner::foldGather(ValueId id, const AtomList &pending, RuledLayout &target, unsigned phase) {
  llvm::SmallVector<NameId, 2> dims;
  for (uint32_t atom : pending)
    if (Place place = target.layout.places[atom]; place.isSplit() && !llvm::is_contained(dims, place.dim))
      dims.push_back(place.dim);
  for (NameId dim : dims) {
    AtomList scattered;
    for (uint32_t atom : pending)
      if (target.layout.places[atom] == Place::split(dim))
        scattered.push_back(atom);
    auto gathering = llvm::find_if(uses_[id.index], [&](const Use &use) {
      if (use.kind == Use::Kind::Free || phaseOf(use.part) != phase)
        return false;
      AtomList gathers;
      for (uint32_t atom = 0; atom < numAtoms_; ++atom)
        if (target.layout.places[atom] == Place::split(dim) && use.want.layout.places[atom].isWhole())
          gathers.push_back(atom);
      bool moves = llvm::any_of(scattered, [&](uint32_t atom) {
        Place place = use.want.layout.places[atom];
        return place.isSplit() && place.dim != dim;
      });
      return gathers == scattered && !moves;
    });
    if (gathering == uses_[id.index].end())
      continue;
    for (uint32_t atom : scattered) {
      target.layout.places[atom] = Place::whole();
      target.rules[atom] = gathering->want.rules[atom];
    }
  }
}

FormId BodyPlanner::supply(ValueId id, const RuledLayout &want, Demand demand) {
  if (constant_[id.index])
    return supplyByOp(id, want, demand);
  for (FormId each : formsOf_[id.index])
    if (form(each).at.layout == want.layout)
      return each;
  FormId made(static_cast<uint32_t>(plan_.forms.size()));
  Form &supplied = plan_.forms.emplace_back();
  supplied.origin = Form::Origin::Supplied;
  supplied.value = id;
  supplied.at = want;
  supplied.part = body_.op(value(id).def).part;
  supplied.user = value(id).def;
  formsOf_[id.index].push_back(made);
  return made;
}

/// What depends on constants only is computed in each layout in which it is needed.
FormId BodyPlanner::supplyByOp(ValueId id, const RuledLayout &want, Demand demand) {
  OpId def = value(id).def;
  const Op &op = body_.op(def);
  RuledLayout reached = want;
  llvm::SmallVector<int16_t, 4> compute(factors_[def.index].empty() ? 0 : numAtoms_, -1);
  for (size_t atom = 0; atom < numAtoms_; ++atom) {
    Place &place = reached.layout.places[atom];
    if (!place.isSplit())
      continue;
    auto factor = llvm::find_if(factors_[def.index], [&](const OpFactor &each) {
      return each.kind == FactorKind::Map && each.resultDims[0] == place.dim;
    });
    if (factor == factors_[def.index].end())
      place = Place::whole();
    else
      compute[atom] = static_cast<int16_t>(factor - factors_[def.index].begin());
  }
  FormId made;
  for (FormId each : formsOf_[id.index])
    if (form(each).at.layout == reached.layout)
      made = each;
  if (!made) {
    llvm::SmallVector<FormId, 2> operands;
    for (uint32_t i = 0; i < op.operands.size(); ++i) {
      RuledLayout operand{Layout(numAtoms_), want.rules};
      for (size_t atom = 0; atom < numAtoms_; ++atom)
        if (!compute.empty() && compute[atom] >= 0)
          if (NameId dim = factors_[def.index][static_cast<size_t>(compute[atom])].operandDims[i])
            operand.layout.places[atom] = Place::split(dim);
      operands.push_back(get(op.operands[i], operand, demand));
    }
    made = FormId(static_cast<uint32_t>(plan_.forms.size()));
    Form &supplied = plan_.forms.emplace_back();
    supplied.origin = Form::Origin::Supplied;
    supplied.value = id;
    supplied.at = reached;
    supplied.part = demand.part;
    supplied.user = demand.user;
    supplied.operands = operands;
    supplied.compute = compute;
    formsOf_[id.index].push_back(made);
  }
  require(made, demand.part);
  if (reached.layout == want.layout)
    return made;
  for (FormId each : formsOf_[id.index])
    if (form(each).at.layout == want.layout) {
      require(each, demand.part);
      return each;
    }
  return convert(made, want, demand);
}

FormId BodyPlanner::convert(FormId source, const RuledLayout &target, Demand demand, bool atBirth) {
  if (form(source).at.layout == target.layout) {
    require(source, demand.part);
    return source;
  }
  FormId made(static_cast<uint32_t>(plan_.forms.size()));
  Form converted;
  converted.origin = Form::Origin::Converted;
  converted.value = form(source).value;
  converted.at = target;
  converted.source = source;
  converted.part = demand.part;
  converted.atBirth = atBirth;
  converted.user = demand.user;
  formsOf_[converted.value.index].push_back(made);
  plan_.forms.push_back(std::move(converted));
  require(source, demand.part);
  return made;
}

/// Makes the form, and what it is made from, early enough for `part`.
void BodyPlanner::require(FormId id, Part part) {
  Form &each = form(id);
  if (each.origin == Form::Origin::Produced || each.part <= part)
    return;
  each.part = part;
  if (each.source)
    require(each.source, part);
  for (FormId operand : llvm::SmallVector<FormId, 2>(each.operands))
    require(operand, part);
}

/// `store gathered over tp in attn`.
bool BodyPlanner::keepsGathered(const Layout &from, const Layout &to, OpId user) const {
  std::string scope = scopeOf(program_, entry_.unitPath, body_.op(user));
  for (const KeepGatheredRule &rule : program_.plan.keepGathered) {
    if (!matches(rule.scopes, scope))
      continue;
    AtomList kept;
    for (const std::string &axis : rule.axes)
      kept.append(program_.mesh.atomsOf(axis));
    bool all = true;
    for (uint32_t atom = 0; atom < from.places.size(); ++atom)
      all &= from.places[atom] == to.places[atom] || llvm::is_contained(kept, atom);
    if (all)
      return true;
  }
  return false;
}

/// A value that a pin leaves partial must not meet a use that needs its values.
void BodyPlanner::checkPinned(FormId rest, const RuledLayout &want, Demand demand) {
  ValueId id = form(rest).value;
  if (!pinOf(id))
    return;
  for (uint32_t atom = 0; atom < numAtoms_; ++atom) {
    if (!form(rest).at.layout.places[atom].isPartial() || want.layout.places[atom].isPartial())
      continue;
    const Op &op = body_.op(demand.user);
    std::string name = op.kind == OpKind::Call  ? program_.text(op.get<CallFields>().callee).str()
                       : op.kind == OpKind::Map ? spelling(op.get<MapFields>().fn).str()
                                                : mnemonic(op.kind).str();
    findings_.pinnedPartials.push_back(
        {pinIndex_[id.index], name, program_.text(value(id).name).str(), atom, op.where});
    return;
  }
}

} // namespace stg
