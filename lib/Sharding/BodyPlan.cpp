//===- BodyPlan.cpp - the layouts of one body, as data -----------------------===//
// First every op gets its compute layout, and so every use its demand; both depend on nothing else. Then one walk in
// the order of the body finds the forms: an operand is converted from where its value rests to what the op needs. A
// value rests as it was produced; a partial one is completed once, where all its uses agree, else at home. Growing
// conversions (all-gathers) are made again in each phase, all others once.
//===----------------------------------------------------------------------===//
#include "BodyPlanner.h"
#include "stg/Sharding/ExplainLayouts.h"

namespace stg {

BodyPlanner::BodyPlanner(const Program &program, BodyId body, const BodyEntry &entry, const Assigner &assigner,
                         LayoutFindings &findings, PassStats &stats)
    : program_(program), bodyId_(body), body_(program.body(body)), entry_(entry), assigner_(assigner),
      findings_(findings), stats_(stats), numAtoms_(assigner.atoms().size()) {
  size_t numValues = body_.values.size();
  plan_.ops.resize(body_.ops.size());
  plan_.produced.resize(numValues);
  plan_.weights.resize(body_.weights.size());
  plan_.weightUses.resize(body_.weights.size());
  plan_.states.resize(body_.states.size());
  plan_.buffers.resize(body_.weights.size());
  plan_.inputs.resize(body_.inputs.size());
  factors_.resize(body_.ops.size());
  useCount_.assign(numValues, 0);
  constant_.assign(numValues, false);
  fromProgram_.assign(numValues, false);
  trains_.resize(numValues);
  pins_.resize(numValues);
  pinIndex_.assign(numValues, 0);
  uses_.resize(numValues);
  rest_.resize(numValues);
  homes_.resize(numValues);
  formsOf_.resize(numValues);
  firstUses_.resize(body_.weights.size() + body_.states.size());
  firstUseAt_.resize(firstUses_.size());
}

BodyPlan BodyPlanner::run() {
  readPins();
  countUses();
  assignOps();
  if (findings_.cut)
    return std::move(plan_);
  addOutputUses();
  placeSlots();
  for (uint32_t i = 0; i < body_.ops.size(); ++i)
    planOp(OpId(i));
  for (const BodyOutput &output : body_.outputs) {
    OpId def = value(output.value).def;
    plan_.outputs.push_back(get(output.value, outputWant(output), {body_.op(def).part, def}));
  }
  for (ValueId loss : body_.losses) {
    OpId def = value(loss).def;
    plan_.losses.push_back(isSupplied(loss)            ? get(loss, homeOf(loss), {body_.op(def).part, def})
                           : useCount_[loss.index] > 1 ? restOf(loss, 0)
                                                       : plan_.produced[loss.index]);
  }
  for (const Op &op : body_.ops) // an input that nothing reads still has a layout
    if (op.kind == OpKind::Input && fromProgram_[op.results[0].index] && formsOf_[op.results[0].index].empty())
      supply(op.results[0], homeOf(op.results[0]), {op.part, value(op.results[0]).def});
  return std::move(plan_);
}

//===----------------------------------------------------------------------===//
// Before the walk
//===----------------------------------------------------------------------===//

void BodyPlanner::countUses() {
  for (const Op &op : body_.ops)
    for (ValueId operand : op.operands)
      ++useCount_[operand.index];
  for (const BodyOutput &output : body_.outputs)
    ++useCount_[output.value.index];
  for (ValueId loss : body_.losses)
    ++useCount_[loss.index];

  for (const Op &op : body_.ops) {
    if (op.kind == OpKind::Accumulate)
      trains_[op.operands[0].index] = op.get<SlotFields>().slot;
    if (op.kind == OpKind::Input) {
      uint32_t slot = op.get<SlotFields>().slot;
      fromProgram_[op.results[0].index] = body_.inputs[slot].role == SlotRole::Value && !entry_.inputs[slot];
      continue;
    }
    bool isLeaf = std::holds_alternative<SlotFields>(op.fields);
    if (!isLeaf && op.kind != OpKind::Call && op.kind != OpKind::Dropout && op.results.size() == 1)
      constant_[op.results[0].index] =
          llvm::all_of(op.operands, [&](ValueId operand) { return constant_[operand.index]; });
  }
  std::vector<bool> whole = constant_;
  for (size_t i = 0; i < whole.size(); ++i)
    whole[i] = whole[i] || pins_[i];
  sums_ = findSums(body_, useCount_, whole);
}

void BodyPlanner::readPins() {
  for (uint32_t v = 0; v < body_.values.size(); ++v)
    if (const PinRule *pin = findPin(program_, entry_.unitPath, body_.values[v])) {
      pins_[v] = RuledLayout{layoutOf(*pin, *body_.values[v].type, program_.mesh), AtomRules(numAtoms_, -1)};
      pinIndex_[v] = static_cast<uint32_t>(pin - program_.plan.pins.data());
    }
}

void BodyPlanner::assignOps() {
  for (uint32_t i = 0; i < body_.ops.size() && !findings_.cut; ++i) {
    ++stats_.opVisits;
    assignOp(OpId(i));
    const Op &op = body_.ops[i];
    if (sums_.root[i]) {
      if (sums_.root[i] == OpId(i))
        wantSummands(OpId(i));
      continue;
    }
    for (uint32_t k = 0; k < op.operands.size(); ++k) {
      bool isFree = op.kind == OpKind::Accumulate;
      RuledLayout want = wantOf(OpId(i), k);
      uses_[op.operands[k].index].push_back({isFree ? Use::Kind::Free : Use::Kind::Operand, op.part, want});
      firstUse(op.operands[k], want, op.where);
    }
  }
}

void BodyPlanner::assignOp(OpId id) {
  const Op &op = body_.op(id);
  OpPlan &plan = plan_.ops[id.index];
  plan.operands.resize(op.operands.size());
  factors_[id.index] = factorsOf(op, body_);
  if (factors_[id.index].empty()) {
    plan.assignment.atoms.resize(numAtoms_);
    return;
  }
  plan.compute.assign(numAtoms_, -1);
  AssignItems items = itemsOf(program_, factors_[id.index]);
  std::string scope = scopeOf(program_, entry_.unitPath, op);
  closeNeighbours(op, scope, items);
  plan.assignment = assigner_.assign(items, scope);
  if (plan.assignment.cut) {
    findings_.cut = plan.assignment.cut;
    return;
  }
  for (size_t atom = 0; atom < numAtoms_; ++atom)
    plan.compute[atom] = static_cast<int16_t>(plan.assignment.atoms[atom].item);
  bool isConstant = op.results.size() == 1 && constant_[op.results[0].index];
  if (!isConstant)
    notice(plan.assignment, items, scope, op.results.empty() ? std::string(mnemonic(op.kind)) : nameOf(op.results[0]));
}

/// What a chain or a halo runs along is not split: neighbours would have to pass on what they have. A rule that would
/// deal it out in zigzag takes the neighbours apart.
void BodyPlanner::closeNeighbours(const Op &op, llvm::StringRef scope, AssignItems &items) {
  if (op.kind != OpKind::Call)
    return;
  const auto &fields = op.get<CallFields>();
  const std::vector<OpFactor> &factors = factors_[value(op.results[0]).def.index];
  llvm::SmallVector<size_t, 2> closed;
  for (uint32_t index = 0; index < fields.factors.size(); ++index) {
    const Factor &factor = fields.factors[index];
    if (factor.kind != FactorKind::Halo && factor.kind != FactorKind::Chain)
      continue;
    for (size_t item = 0; item < items.size(); ++item)
      if (factors[item].callFactor == factor.along.value_or(index) && !llvm::is_contained(closed, item))
        closed.push_back(item);
  }
  if (closed.empty())
    return;
  for (size_t item : closed)
    items[item].open = true;
  noticeCutOffs(op, scope, closed, items);
  for (size_t item : closed)
    items[item].open = false;
}

/// `items` are open: zigzag rules that would get an atom onto one of `along`.
void BodyPlanner::noticeCutOffs(const Op &op, llvm::StringRef scope, llvm::ArrayRef<size_t> along,
                                llvm::ArrayRef<AssignItem> items) {
  for (const AtomPlacement &place : assigner_.assign(items, scope).atoms) {
    if (place.item < 0 || !llvm::is_contained(along, static_cast<size_t>(place.item)))
      continue;
    for (const SplitRule::Target &target : program_.plan.splits[static_cast<size_t>(place.rule)].dims) {
      if (!target.zigzag || !llvm::is_contained(items[static_cast<size_t>(place.item)].names, target.dim))
        continue;
      LayoutFindings::CutOff cutOff{program_.text(op.get<CallFields>().callee).str(), target.dim,
                                    static_cast<uint32_t>(place.rule), op.where};
      bool known = llvm::any_of(findings_.cutOffs, [&](const LayoutFindings::CutOff &other) {
        return other.op == cutOff.op && other.rule == cutOff.rule && other.where == cutOff.where;
      });
      if (!known)
        findings_.cutOffs.push_back(std::move(cutOff));
    }
  }
}

void BodyPlanner::notice(const Assignment &assignment, llvm::ArrayRef<AssignItem> items, const std::string &scope,
                         const std::string &what) {
  for (const Refusal &refusal : assignment.refusals) {
    bool isKnown = llvm::any_of(findings_.refused, [&](const LayoutFindings::Refused &other) {
      return other.refusal.rule == refusal.rule && other.refusal.target == refusal.target;
    });
    if (isKnown)
      continue;
    AtomList taken;
    AtomList before; // the rule's own axes before the one that does not divide
    for (const AtomList &axis : assigner_.axesOf(refusal.rule)) {
      if (llvm::is_contained(axis, refusal.atom))
        break;
      before.append(axis);
    }
    for (uint32_t atom = 0; atom < assignment.atoms.size(); ++atom)
      if (const AtomPlacement &place = assignment.atoms[atom]; place.item == static_cast<int32_t>(refusal.item))
        if (auto rule = static_cast<int32_t>(refusal.rule);
            place.rule < rule || (place.rule == rule && llvm::is_contained(before, atom)))
          taken.push_back(atom);
    findings_.refused.push_back({refusal, items[refusal.item], scope, what, bodyId_, std::move(taken)});
  }
  for (size_t atom = 0; atom < assignment.atoms.size(); ++atom) {
    const AtomPlacement &place = assignment.atoms[atom];
    if (place.rule >= 0)
      findings_.ruleUsed[static_cast<size_t>(place.rule)] = true;
    if (place.item >= 0)
      findings_.atomUsed[atom] = true;
    for (const Loser &loser : place.losers)
      if (!llvm::is_contained(findings_.ruleLostTo[loser.rule], static_cast<uint32_t>(place.rule)))
        findings_.ruleLostTo[loser.rule].push_back(static_cast<uint32_t>(place.rule));
  }
}

RuledLayout BodyPlanner::sumLayout(OpId root) const {
  const OpPlan &plan = plan_.ops[root.index];
  RuledLayout sum{Layout(numAtoms_), AtomRules(numAtoms_, -1)};
  for (size_t atom = 0; atom < plan.compute.size(); ++atom) {
    sum.rules[atom] = plan.assignment.atoms[atom].rule;
    if (plan.compute[atom] >= 0)
      sum.layout.places[atom] =
          Place::split(factors_[root.index][static_cast<size_t>(plan.compute[atom])].resultDims[0]);
  }
  return sum;
}

/// The uses of a sum's operands: its layout, on their dims.
void BodyPlanner::wantSummands(OpId root) {
  const Op &op = body_.op(root);
  RuledLayout sum = sumLayout(root);
  for (const Summand &summand : sums_.summands[root.index]) {
    RuledLayout want = restricted(sum, type(summand.value));
    uses_[summand.value.index].push_back({Use::Kind::Summand, op.part, want});
    firstUse(summand.value, want, op.where);
  }
}

void BodyPlanner::firstUse(ValueId id, const RuledLayout &want, SourceRange where) {
  const Op &def = body_.op(value(id).def);
  if (def.kind != OpKind::Weight && def.kind != OpKind::State)
    return;
  size_t index = def.get<SlotFields>().slot + (def.kind == OpKind::State ? body_.weights.size() : 0);
  if (!firstUses_[index]) {
    firstUses_[index] = want;
    firstUseAt_[index] = where;
  }
}

/// A cotangent lies as its primal does.
RuledLayout BodyPlanner::outputWant(const BodyOutput &output) {
  RuledLayout home = homeOf(output.value);
  return output.cotangentOf && plan_.inputs[*output.cotangentOf] ? inputAt(*output.cotangentOf, std::move(home)) : home;
}

/// The layout of a slot that has one already, with the rules behind it where they are known.
RuledLayout BodyPlanner::inputAt(uint32_t slot, RuledLayout home) const {
  home.layout = *plan_.inputs[slot];
  if (entry_.inputs[slot])
    home.rules = entry_.inputRules[slot];
  return home;
}

void BodyPlanner::addOutputUses() {
  for (uint32_t slot = 0; slot < body_.inputs.size(); ++slot)
    if (body_.inputs[slot].role == SlotRole::Value)
      plan_.inputs[slot] = entry_.inputs[slot];
  for (const BodyOutput &output : body_.outputs) {
    RuledLayout want = outputWant(output);
    uses_[output.value.index].push_back({Use::Kind::Output, body_.op(value(output.value).def).part, want});
  }
  for (ValueId loss : body_.losses)
    uses_[loss.index].push_back({Use::Kind::Free, Part::Forward, homeOf(loss)});
}

void BodyPlanner::placeSlots() {
  for (const Op &op : body_.ops) {
    if (op.kind != OpKind::Input && op.kind != OpKind::Weight && op.kind != OpKind::State)
      continue;
    ValueId id = op.results[0];
    uint32_t slot = op.get<SlotFields>().slot;
    if (op.kind == OpKind::Input) {
      const InputSlot &input = body_.inputs[slot];
      RuledLayout at = homeOf(id);
      if (input.role == SlotRole::Cotangent)
        at = homeOf(body_.outputs[input.of].value);
      else if (uint32_t of = input.role == SlotRole::Accumulator ? input.of : slot; plan_.inputs[of])
        at = inputAt(of, std::move(at));
      if (!fromProgram_[id.index]) {
        plan_.inputs[slot] = at.layout;
        produce(id, at);
      }
      continue;
    }
    bool isWeight = op.kind == OpKind::Weight;
    size_t index = slot + (isWeight ? 0 : body_.weights.size());
    const std::optional<Layout> &given = isWeight ? entry_.weights[slot] : entry_.states[slot];
    RuledLayout at = firstUses_[index].value_or(homeOf(id));
    if (given)
      at = {*given, (isWeight ? entry_.weightRules : entry_.stateRules)[slot]};
    else if (const RuledLayout *pin = pinOf(id))
      at = *pin;
    (isWeight ? plan_.weights : plan_.states)[slot] = at;
    if (isWeight)
      plan_.weightUses[slot] = given ? entry_.weightUses[slot] : firstUseAt_[index];
    produce(id, at);
    if (const RuledLayout *pin = pinOf(id); pin && pin->layout == at.layout)
      rest_[id.index] = plan_.produced[id.index];
  }
}

//===----------------------------------------------------------------------===//
// The walk
//===----------------------------------------------------------------------===//

void BodyPlanner::planOp(OpId id) {
  const Op &op = body_.op(id);
  if (op.kind == OpKind::Input || op.kind == OpKind::Weight || op.kind == OpKind::State)
    return;
  if (op.results.size() == 1 && constant_[op.results[0].index]) {
    plan_.ops[id.index].dropped = true;
    return;
  }
  if (op.kind == OpKind::Accumulate)
    return planAccumulate(id);
  if (op.kind == OpKind::Update || op.kind == OpKind::Assign)
    return planSlotWrite(id);
  if (sums_.root[id.index]) {
    plan_.ops[id.index].sum = sums_.root[id.index];
    if (sums_.root[id.index] == id)
      planSum(id);
    return;
  }
  if (passesPartial(id))
    return planPassing(id);
  for (uint32_t i = 0; i < op.operands.size(); ++i)
    plan_.ops[id.index].operands[i] = get(op.operands[i], wantOf(id, i), {op.part, id});
  produceResults(id, nullptr);
}

void BodyPlanner::planSlotWrite(OpId id) {
  const Op &op = body_.op(id);
  uint32_t slot = op.get<SlotFields>().slot;
  const RuledLayout &want = op.kind == OpKind::Update ? plan_.states[slot] : plan_.weights[slot];
  plan_.ops[id.index].operands[0] = get(op.operands[0], want, {op.part, id});
  computeWhere(id, want.layout);
}

/// The op works on what of its operand is there.
void BodyPlanner::computeWhere(OpId id, const Layout &operand) {
  llvm::SmallVector<int16_t, 4> &compute = plan_.ops[id.index].compute;
  for (size_t atom = 0; atom < compute.size(); ++atom) {
    compute[atom] = -1;
    for (size_t factor = 0; factor < factors_[id.index].size(); ++factor)
      if (operand.places[atom] == Place::split(factors_[id.index][factor].operandDims[0]))
        compute[atom] = static_cast<int16_t>(factor);
  }
}

/// A gradient stays partial in its buffer; elsewhere it lies as the weight does.
void BodyPlanner::planAccumulate(OpId id) {
  const Op &op = body_.op(id);
  uint32_t slot = op.get<SlotFields>().slot;
  ValueId gradient = op.operands[0];
  FormId source = isSupplied(gradient) ? get(gradient, plan_.weights[slot], {op.part, id})
                  : useCount_[gradient.index] == 1 && !pinOf(gradient) ? plan_.produced[gradient.index]
                                                                       : restOf(gradient, phaseOf(op.part));
  RuledLayout target = plan_.weights[slot];
  if (plan_.buffers[slot]) {
    target.layout = *plan_.buffers[slot];
  } else {
    for (size_t atom = 0; atom < numAtoms_; ++atom)
      if (Place place = form(source).at.layout.places[atom]; place.isPartial() && place.fn == ReduceFn::Sum)
        target.layout.places[atom] = place;
  }
  plan_.buffers[slot] = target.layout;
  plan_.ops[id.index].operands[0] = convert(source, target, {op.part, id});
  computeWhere(id, target.layout);
}

/// Views, stops, and casts that do not widen what a collective would carry, take a partial value whose only use they
/// are. What a pin keeps partial goes through sums as well.
bool BodyPlanner::passesPartial(OpId id) {
  const Op &op = body_.op(id);
  bool isCast = op.kind == OpKind::Map && op.get<MapFields>().fn == MapFn::Cast;
  bool isSum = op.kind == OpKind::Reduce && op.get<ReduceFields>().fn == ReduceFn::Sum;
  if (op.kind != OpKind::View && op.kind != OpKind::Stop && !isCast && !isSum)
    return false;
  ValueId source = op.operands[0];
  if (isSupplied(source) || (!pinOf(source) && (isSum || useCount_[source.index] != 1)))
    return false;
  const Layout &at = form(passedForm(id)).at.layout;
  if (!at.isPartial())
    return false;
  RuledLayout want = wantOf(id, 0);
  for (size_t atom = 0; atom < numAtoms_; ++atom)
    if (Place place = at.places[atom];
        place.isPartial() ? place.fn != ReduceFn::Sum && op.kind != OpKind::Stop : place != want.layout.places[atom])
      return false;
  bool widens = isCast && bitWidth(type(op.results[0]).element) > bitWidth(type(source).element);
  return pinOf(source) || !widens ||
         llvm::all_of(uses_[op.results[0].index], [](const Use &use) { return use.kind == Use::Kind::Free; });
}

FormId BodyPlanner::passedForm(OpId id) {
  ValueId source = body_.op(id).operands[0];
  return pinOf(source) ? restOf(source, phaseOf(body_.op(id).part)) : plan_.produced[source.index];
}

void BodyPlanner::planPassing(OpId id) {
  FormId source = passedForm(id);
  require(source, body_.op(id).part);
  RuledLayout pending = form(source).at;
  OpPlan &plan = plan_.ops[id.index];
  plan.operands[0] = source;
  for (size_t atom = 0; atom < plan.compute.size(); ++atom)
    if (pending.layout.places[atom].isPartial())
      plan.compute[atom] = -1;
  produceResults(id, &pending);
}

void BodyPlanner::produce(ValueId id, RuledLayout at) {
  plan_.produced[id.index] = FormId(static_cast<uint32_t>(plan_.forms.size()));
  Form made;
  made.value = id;
  made.at = std::move(at);
  made.part = body_.op(value(id).def).part;
  made.user = value(id).def;
  plan_.forms.push_back(std::move(made));
  formsOf_[id.index].push_back(plan_.produced[id.index]);
}

void BodyPlanner::produceResults(OpId id, const RuledLayout *pending) {
  const Op &op = body_.op(id);
  const OpPlan &plan = plan_.ops[id.index];
  for (size_t result = 0; result < op.results.size(); ++result) {
    RuledLayout at{Layout(numAtoms_), AtomRules(numAtoms_, -1)};
    for (size_t atom = 0; atom < numAtoms_; ++atom) {
      at.rules[atom] = plan.assignment.atoms[atom].rule;
      if (plan.compute.empty() || plan.compute[atom] < 0)
        continue;
      const OpFactor &factor = factors_[id.index][static_cast<size_t>(plan.compute[atom])];
      if (NameId dim = factor.resultDims[result])
        at.layout.places[atom] = Place::split(dim);
      else if (factor.kind == FactorKind::Sum)
        at.layout.places[atom] = Place::partial();
      else if (factor.kind == FactorKind::Max)
        at.layout.places[atom] = Place::partial(ReduceFn::Max);
    }
    for (size_t atom = 0; pending && atom < numAtoms_; ++atom)
      if (Place place = pending->layout.places[atom]; place.isPartial()) {
        at.layout.places[atom] = place;
        at.rules[atom] = pending->rules[atom];
      }
    produce(op.results[result], std::move(at));
  }
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

/// `k[B, S, KV, Dh]`.
std::string BodyPlanner::nameOf(ValueId id) const {
  std::string text = value(id).name ? program_.text(value(id).name).str() : std::string("a value");
  text += "[";
  for (const Dim &dim : type(id).dims)
    text += (text.back() == '[' ? "" : ", ") + program_.text(dim.name).str();
  return text + "]";
}

bool BodyPlanner::isSlot(ValueId id) const {
  OpKind kind = body_.op(value(id).def).kind;
  return kind == OpKind::Weight || kind == OpKind::State;
}

RuledLayout BodyPlanner::homeOf(ValueId id) {
  std::optional<RuledLayout> &home = homes_[id.index];
  if (home)
    return *home;
  std::string scope = scopeOf(program_, entry_.unitPath, body_, value(id));
  AssignItems items = itemsOf(program_, type(id));
  Assignment assignment = assigner_.assign(items, scope);
  if (assignment.cut)
    findings_.cut = assignment.cut;
  notice(assignment, items, scope, nameOf(id));
  home = RuledLayout{layoutOf(assignment, type(id)), AtomRules(numAtoms_, -1)};
  for (size_t atom = 0; atom < numAtoms_; ++atom)
    home->rules[atom] = assignment.atoms[atom].rule;
  if (const RuledLayout *pin = pinOf(id)) {
    *home = *pin;
    for (Place &place : home->layout.places)
      if (place.isPartial())
        place = Place::whole();
  }
  return *home;
}

RuledLayout BodyPlanner::wantOf(OpId id, uint32_t operand) const {
  const OpPlan &plan = plan_.ops[id.index];
  RuledLayout want{Layout(numAtoms_), AtomRules(numAtoms_, -1)};
  for (size_t atom = 0; atom < numAtoms_; ++atom) {
    want.rules[atom] = plan.assignment.atoms[atom].rule;
    if (plan.compute.empty() || plan.compute[atom] < 0)
      continue;
    if (NameId dim = factors_[id.index][static_cast<size_t>(plan.compute[atom])].operandDims[operand])
      want.layout.places[atom] = Place::split(dim);
  }
  return want;
}

RuledLayout BodyPlanner::restricted(const RuledLayout &at, const TensorType &type) const {
  RuledLayout result = at;
  for (Place &place : result.layout.places)
    if (place.isSplit() && !type.has(place.dim))
      place = Place::whole();
  return result;
}

const RuledLayout *BodyPlanner::pinOf(ValueId id) const { return pins_[id.index] ? &*pins_[id.index] : nullptr; }

BodyPlan planBody(const Program &program, BodyId body, const BodyEntry &entry, const Assigner &assigner,
                  LayoutFindings &findings, PassStats &stats) {
  return BodyPlanner(program, body, entry, assigner, findings, stats).run();
}

} // namespace stg
