//===- AssignLayouts.cpp - where everything lives -----------------------------===//
// Units are walked in program order, and a body is planned once for each set of layouts in which values and shared
// weights reach it: so a unit finds the layouts of its inputs decided by the units before it. What flows back
// (cotangents) lies as its primal does, which is known by then. Rules with `or replicate` may cut an atom of the mesh;
// then all is planned anew on the finer mesh.
//===----------------------------------------------------------------------===//
#include "stg/Sharding/AssignLayouts.h"
#include "LayoutFindings.h"
#include "RewriteBody.h"
#include <map>

namespace stg {

namespace {

/// A body with one set of layouts at its borders.
struct Variant {
  BodyId body;
  BodyEntry entry;
  BodyPlan plan;
};

class LayoutAssigner {
public:
  LayoutAssigner(Program &program, Diagnostics &diags, PassStats &stats)
      : program_(program), diags_(diags), stats_(stats), assigner_(program) {
    findings_.ruleUsed.assign(program.plan.splits.size(), false);
    findings_.ruleLostTo.resize(program.plan.splits.size());
    findings_.atomUsed.assign(assigner_.atoms().size(), false);
    if (program_.plan.pipeline)
      for (uint32_t atom : program_.mesh.atomsOf(program_.plan.pipeline->axis))
        findings_.atomUsed[atom] = true;
  }

  /// The cut that is needed before anything can be planned.
  std::optional<AtomCut> plan() {
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      planUnit(UnitId(u));
      if (findings_.cut)
        return findings_.cut;
    }
    return std::nullopt;
  }

  Outcome apply() {
    size_t errors = diags_.numErrors();
    reportFindings(program_, assigner_, findings_, diags_);
    if (diags_.numErrors() != errors)
      return Outcome::Failed;
    rewriteBodies();
    program_.level = Level::Laid;
    checkJointDivisibility(program_, diags_);
    return diags_.numErrors() == errors ? Outcome::Done : Outcome::Failed;
  }

private:
  using StoredKey = std::pair<uint32_t, uint32_t>; // (unit, slot), or (kGlobal, id)
  static constexpr uint32_t kGlobal = ~0u;

  template <class GlobalId, class Slot, class Bindings>
  static std::vector<StoredKey> keysOf(UnitId unit, const std::vector<Slot> &slots, const Bindings &bindings) {
    std::vector<StoredKey> keys;
    size_t next = 0;
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].owned) {
        keys.push_back({unit.index, slot});
        continue;
      }
      const auto &binding = bindings[next++];
      if (const auto *global = std::get_if<GlobalId>(&binding))
        keys.push_back({kGlobal, global->index});
      else
        keys.push_back({std::get<UnitSlot>(binding).unit.index, std::get<UnitSlot>(binding).slot});
    }
    return keys;
  }

  template <class Slot>
  static void findKnown(const std::vector<StoredKey> &keys, const std::vector<Slot> &slots,
                        const std::map<StoredKey, RuledLayout> &layouts, std::vector<std::optional<Layout>> &known,
                        std::vector<AtomRules> &rules) {
    known.resize(keys.size());
    rules.resize(keys.size());
    for (size_t i = 0; i < keys.size(); ++i)
      if (auto found = layouts.find(keys[i]); !slots[i].owned && found != layouts.end()) {
        known[i] = found->second.layout;
        rules[i] = found->second.rules;
      }
  }

  void planUnit(UnitId id) {
    const Unit &unit = program_.units[id.index];
    const Body &body = program_.body(unit);
    std::vector<StoredKey> weights = keysOf<WeightId>(id, body.weights, unit.weights);
    std::vector<StoredKey> states = keysOf<StateId>(id, body.states, unit.states);
    BodyEntry entry;
    findKnown(weights, body.weights, weightLayouts_, entry.weights, entry.weightRules);
    for (const StoredKey &key : weights)
      entry.weightUses.push_back(weightUses_[key]);
    findKnown(states, body.states, stateLayouts_, entry.states, entry.stateRules);
    entry.inputs.resize(body.inputs.size());
    entry.inputRules.resize(body.inputs.size());
    // On one rank all layouts are alike, and units that read the program's inputs share bodies with others.
    bool isOneRank = program_.mesh.ranks() == 1;
    for (size_t slot = 0; slot < body.inputs.size() && !isOneRank; ++slot)
      if (const auto *from = std::get_if<UnitValue>(&unit.inputs[slot]);
          from && body.inputs[slot].role == SlotRole::Value) {
        const RuledLayout &at = outputLayout(*from);
        entry.inputs[slot] = at.layout;
        entry.inputRules[slot] = at.rules;
      }
    size_t variant = variantOf(unit, std::move(entry));
    if (findings_.cut)
      return;
    unitVariants_.push_back(variant);
    const BodyPlan &plan = variants_[variant].plan;
    // Owned ones are looked up only by units that share them.
    for (size_t i = 0; i < weights.size(); ++i)
      if (weightLayouts_.try_emplace(weights[i], plan.weights[i]).second)
        weightUses_[weights[i]] = plan.weightUses[i];
    for (size_t i = 0; i < states.size(); ++i)
      stateLayouts_.try_emplace(states[i], plan.states[i]);
  }

  const RuledLayout &outputLayout(UnitValue from) const {
    const BodyPlan &plan = variants_[unitVariants_[from.unit.index]].plan;
    return plan.form(plan.outputs[from.output]).at;
  }

  size_t variantOf(const Unit &unit, BodyEntry entry) {
    for (size_t i = 0; i < variants_.size(); ++i)
      if (variants_[i].body == unit.body && variants_[i].entry == entry)
        return i;
    entry.unitPath = program_.unitPath(unit);
    Variant &made = variants_.emplace_back(Variant{unit.body, std::move(entry), {}});
    made.plan = planBody(program_, unit.body, made.entry, assigner_, findings_, stats_);
    return variants_.size() - 1;
  }

  void rewriteBodies() {
    std::vector<BodyId> bodies(variants_.size());
    std::vector<std::vector<uint32_t>> added(variants_.size());
    std::vector<bool> replaced(program_.bodies.size(), false);
    std::vector<Body> originals = program_.bodies;
    for (size_t i = 0; i < variants_.size(); ++i) {
      uint32_t index = variants_[i].body.index;
      RewrittenBody rewritten = rewriteBody(program_, originals[index], variants_[i].plan);
      added[i] = std::move(rewritten.addedInputs);
      if (!replaced[index]) {
        replaced[index] = true;
        bodies[i] = variants_[i].body;
        program_.bodies[index] = std::move(rewritten.body);
        continue;
      }
      rewritten.body.name = freshBodyName(rewritten.body.name);
      bodies[i] = BodyId(static_cast<uint32_t>(program_.bodies.size()));
      program_.bodies.push_back(std::move(rewritten.body));
    }
    for (size_t u = 0; u < program_.units.size(); ++u) {
      Unit &unit = program_.units[u];
      unit.body = bodies[unitVariants_[u]];
      for (uint32_t slot : added[unitVariants_[u]])
        unit.inputs.push_back(InputBinding(unit.inputs[slot]));
    }
  }

  NameId freshBodyName(NameId name) {
    for (unsigned n = 1;; ++n) {
      NameId fresh = program_.context->name(program_.text(name).str() + "'" + std::to_string(n));
      if (llvm::none_of(program_.bodies, [&](const Body &body) { return body.name == fresh; }))
        return fresh;
    }
  }

  Program &program_;
  Diagnostics &diags_;
  PassStats &stats_;
  Assigner assigner_;
  LayoutFindings findings_;
  std::vector<Variant> variants_;
  std::vector<size_t> unitVariants_;
  std::map<StoredKey, RuledLayout> weightLayouts_, stateLayouts_;
  std::map<StoredKey, SourceRange> weightUses_;
};

} // namespace

/// E331, with what would do.
static void reportNodes(const Program &program, const RunRule &rule, Diagnostics &diags) {
  std::string mesh, sizes;
  for (const MeshAxis &axis : program.mesh.axes)
    mesh += (mesh.empty() ? "" : ", ") + axis.name + " = " + std::to_string(axis.size);
  int64_t inside = 1;
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  for (const MeshAtom &atom : llvm::reverse(atoms))
    if (int64_t next = atom.stride * atom.size; inside < rule.node)
      sizes += (sizes.empty() ? "" : ", ") + std::to_string(inside = next);
  diags.report(rule.where, diag::NodeCutsUnevenly{.node = rule.node, .mesh = mesh})
      .note("a node is that many consecutive ranks: the last axes, and a part of one that divides it")
      .help("for instance " + sizes);
}

Outcome assignLayouts(Program &program, Diagnostics &diags, PassStats &stats) {
  size_t errors = diags.numErrors();
  checkPins(program, diags);
  if (diags.numErrors() != errors)
    return Outcome::Failed;
  for (const RunRule &rule : program.plan.runs)
    if (rule.node && !program.mesh.cutAtStride(rule.node))
      reportNodes(program, rule, diags);
  if (diags.numErrors() != errors)
    return Outcome::Failed;
  while (true) { // each cut makes the mesh finer
    LayoutAssigner assigner(program, diags, stats);
    std::optional<AtomCut> cut = assigner.plan();
    if (!cut)
      return assigner.apply();
    program.mesh.cutAtom(cut->atom, cut->major);
  }
}

} // namespace stg
