//===- ExplainLayouts.cpp - which rule put what where -------------------------===//
#include "stg/Sharding/ExplainLayouts.h"

namespace stg {

const PinRule *findPin(const Program &program, llvm::StringRef unitPath, const Value &value) {
  if (!value.name || program.plan.pins.empty())
    return nullptr;
  std::string path = unitPath.str() + "." + program.text(value.name).str();
  for (const PinRule &pin : program.plan.pins)
    if (pin.value.names(path))
      return &pin;
  return nullptr;
}

Layout layoutOf(const PinRule &pin, const TensorType &type, const Mesh &mesh) {
  Layout layout(mesh.atoms().size());
  for (const auto &[dim, axes] : pin.dims)
    for (const std::string &axis : axes)
      for (uint32_t atom : mesh.atomsOf(axis))
        if (type.has(dim))
          layout.places[atom] = Place::split(dim);
  for (const std::string &axis : pin.partial)
    for (uint32_t atom : mesh.atomsOf(axis))
      layout.places[atom] = Place::partial();
  return layout;
}

HomeExplanation explainHome(const Program &program, UnitId unit, ValueId id) {
  const Body &body = program.body(program.units[unit.index]);
  const Value &value = body.value(id);
  std::string unitPath = program.unitPath(program.units[unit.index]);
  HomeExplanation result;
  result.scope = scopeOf(program, unitPath, body, value);
  result.assignment = Assigner(program).assign(itemsOf(program, *value.type), result.scope);
  result.pin = findPin(program, unitPath, value);
  result.home =
      result.pin ? layoutOf(*result.pin, *value.type, program.mesh) : layoutOf(result.assignment, *value.type);
  return result;
}

Assignment explainCompute(const Program &program, UnitId unit, OpId id) {
  const Body &body = program.body(program.units[unit.index]);
  const Op &op = body.op(id);
  std::string unitPath = program.unitPath(program.units[unit.index]);
  return Assigner(program).assign(itemsOf(program, factorsOf(op, body)), scopeOf(program, unitPath, op));
}

namespace {

/// Judges the rules over one atom one by one.
class Judge {
public:
  Judge(const Plan &plan, llvm::ArrayRef<AssignItem> items, llvm::StringRef scope, const AtomPlacement &place)
      : plan_(plan), items_(items), scope_(scope), place_(place) {}

  RuleVerdict judge(uint32_t index) const {
    using Kind = RuleVerdict::Kind;
    RuleVerdict verdict{.rule = index};
    const SplitRule &rule = plan_.splits[index];
    if (!matches(rule.scopes, scope_)) {
      verdict.kind = Kind::Elsewhere;
    } else if (place_.rule == static_cast<int32_t>(index)) {
      verdict.kind = place_.item >= 0 ? Kind::Placed : Kind::Copied;
      verdict.item = place_.item;
      collectIndivisible(rule, verdict);
    } else if (auto lost = llvm::find_if(place_.losers, [&](const Loser &loser) { return loser.rule == index; });
               lost != place_.losers.end()) {
      verdict.kind = Kind::Late;
      verdict.item = static_cast<int32_t>(lost->item);
    } else {
      findKept(rule, verdict);
    }
    return verdict;
  }

private:
  bool answers(uint32_t item, NameId dim) const { return llvm::is_contained(items_[item].names, dim); }

  const KeepRule *keepOf(uint32_t item) const {
    auto keep = llvm::find_if(
        plan_.keeps, [&](const KeepRule &rule) { return answers(item, rule.dim) && matches(rule.scopes, scope_); });
    return keep == plan_.keeps.end() ? nullptr : &*keep;
  }

  /// All that the rule names before what it chose: it takes the first that divides.
  void collectIndivisible(const SplitRule &rule, RuleVerdict &verdict) const {
    for (const SplitRule::Target &target : rule.dims)
      for (uint32_t item = 0; item < items_.size(); ++item) {
        if (!answers(item, target.dim) || !items_[item].open || keepOf(item))
          continue;
        if (static_cast<int32_t>(item) == verdict.item)
          return;
        if (!llvm::is_contained(verdict.indivisible, item))
          verdict.indivisible.push_back(item);
      }
  }

  void findKept(const SplitRule &rule, RuleVerdict &verdict) const {
    for (const SplitRule::Target &target : rule.dims)
      for (uint32_t item = 0; item < items_.size(); ++item)
        if (const KeepRule *keep = answers(item, target.dim) ? keepOf(item) : nullptr) {
          verdict.kind = RuleVerdict::Kind::Kept;
          verdict.item = static_cast<int32_t>(item);
          verdict.keep = static_cast<uint32_t>(keep - plan_.keeps.data());
          return;
        }
  }

  const Plan &plan_;
  llvm::ArrayRef<AssignItem> items_;
  llvm::StringRef scope_;
  const AtomPlacement &place_;
};

} // namespace

std::vector<RuleVerdict> verdictsOf(const Program &program, llvm::ArrayRef<AssignItem> items, llvm::StringRef scope,
                                    uint32_t atom, const Assignment &assignment) {
  std::vector<RuleVerdict> verdicts;
  Judge judge(program.plan, items, scope, assignment.atoms[atom]);
  for (uint32_t rule = 0; rule < program.plan.splits.size(); ++rule)
    if (llvm::any_of(program.plan.splits[rule].axes,
                     [&](const std::string &axis) { return llvm::is_contained(program.mesh.atomsOf(axis), atom); }))
      verdicts.push_back(judge.judge(rule));
  return verdicts;
}

} // namespace stg
