//===- TwoLevel.cpp -----------------------------------------------------------===//
#include "TwoLevel.h"
#include "stg/IR/LayoutOps.h"
#include "stg/Sharding/Assign.h"
#include "stg/Sharding/Conversion.h"
#include "llvm/ADT/StringSet.h"

namespace stg {

namespace {

class LevelSplitter {
public:
  LevelSplitter(Program &program, Body &body, std::string path, std::vector<bool> &used)
      : program_(program), body_(body), path_(std::move(path)), used_(used), atoms_(program.mesh.atoms()) {
    for (const Value &value : body.values)
      if (value.name)
        names_.insert(program.text(value.name));
    readers_.resize(body.values.size());
    for (uint32_t i = 0; i < body.ops.size(); ++i)
      for (ValueId operand : body.ops[i].operands)
        readers_[operand.index].push_back(OpId(i));
  }

  void run() {
    // Ends are looked up in the ops as they were.
    std::vector<std::optional<Split>> splits;
    for (const Op &op : body_.ops)
      splits.push_back(splitOf(op));
    std::vector<Op> ops;
    std::swap(ops, body_.ops);
    for (size_t i = 0; i < ops.size(); ++i)
      if (splits[i])
        pushBoth(std::move(ops[i]), *splits[i]);
      else
        push(std::move(ops[i]));
  }

private:
  struct Split {
    AtomList first, second;
  };

  std::optional<Split> splitOf(const Op &op) {
    bool moves = op.kind == OpKind::AllToAll || op.kind == OpKind::AllGather || op.kind == OpKind::ReduceScatter;
    if (!moves || op.get<CollectiveFields>().isStorage)
      return std::nullopt;
    for (size_t i = 0; i < program_.plan.runs.size(); ++i) {
      const RunRule &rule = program_.plan.runs[i];
      if (rule.algorithm != RunAlgorithm::TwoLevel)
        continue;
      bool begins = isMadeIn(op.operands[0], rule);
      bool ends = llvm::any_of(op.results, [&](ValueId result) { return isReadIn(result, rule); });
      if (!begins && !ends)
        continue;
      AtomList between, inside;
      for (uint32_t atom : op.get<CollectiveFields>().atoms)
        (atoms_[atom].stride >= rule.node ? between : inside).push_back(atom);
      if (between.empty() || inside.empty())
        return std::nullopt;
      used_[i] = true;
      bool outward = op.kind == OpKind::AllGather || (op.kind == OpKind::AllToAll && ends);
      return outward ? Split{between, inside} : Split{inside, between};
    }
    return std::nullopt;
  }

  /// Whether what made a value, before it was moved, stands in what the rule names. A cotangent is a sum outside of
  /// what several uses inside give.
  bool isMadeIn(ValueId value, const RunRule &rule) const {
    const Op *op = &body_.op(body_.value(value).def);
    while (convertsLayout(op->kind))
      op = &body_.op(body_.value(op->operands[0]).def);
    if (matches(rule.scopes, scopeOf(program_, path_, *op)))
      return true;
    return isBackward(op->part) && op->kind == OpKind::Map &&
           llvm::any_of(op->operands, [&](ValueId operand) { return isMadeIn(operand, rule); });
  }

  bool isReadIn(ValueId value, const RunRule &rule) const {
    return llvm::any_of(readers_[value.index], [&](OpId reader) {
      const Op &op = body_.op(reader);
      if (convertsLayout(op.kind))
        return llvm::any_of(op.results, [&](ValueId result) { return isReadIn(result, rule); });
      return matches(rule.scopes, scopeOf(program_, path_, op));
    });
  }

  void pushBoth(Op op, const Split &split) {
    Op second = op;
    op.get<CollectiveFields>().atoms = split.first;
    second.get<CollectiveFields>().atoms = split.second;
    for (size_t i = 0; i < op.results.size(); ++i) {
      const Layout &from = *body_.value(op.operands[i]).layout;
      op.results[i] = between(second.results[i], *layoutAfter(op.kind, op.get<CollectiveFields>(), from));
      second.operands[i] = op.results[i];
    }
    push(std::move(op));
    push(std::move(second));
  }

  void push(Op op) {
    OpId id(static_cast<uint32_t>(body_.ops.size()));
    for (ValueId result : op.results)
      body_.values[result.index].def = id;
    body_.ops.push_back(std::move(op));
  }

  ValueId between(ValueId last, const Layout &layout) {
    Value value = body_.value(last);
    value.layout = layout;
    std::string base = value.name ? program_.text(value.name).split('\'').first.str() : std::string();
    for (unsigned n = 2; value.name; ++n) {
      std::string text = base + "'" + std::to_string(n);
      if (!names_.insert(text).second)
        continue;
      value.name = program_.context->name(text);
      break;
    }
    body_.values.push_back(std::move(value));
    return ValueId(static_cast<uint32_t>(body_.values.size() - 1));
  }

  Program &program_;
  Body &body_;
  std::string path_;
  std::vector<bool> &used_; ///< by rule
  std::vector<MeshAtom> atoms_;
  llvm::StringSet<> names_;
  std::vector<llvm::SmallVector<OpId, 2>> readers_; ///< by value
};

} // namespace

void splitLevels(Program &program, Diagnostics &diags, PassStats &stats) {
  auto isTwoLevel = [](const RunRule &rule) { return rule.algorithm == RunAlgorithm::TwoLevel; };
  if (llvm::none_of(program.plan.runs, isTwoLevel))
    return;
  std::vector<bool> used(program.plan.runs.size(), false), seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    Body &body = program.bodies[unit.body.index];
    stats.opVisits += body.ops.size();
    LevelSplitter(program, body, program.unitPath(unit), used).run();
  }
  for (size_t i = 0; i < used.size(); ++i)
    if (const RunRule &rule = program.plan.runs[i]; isTwoLevel(rule) && !used[i] && program.mesh.ranks() > rule.node)
      diags.report(rule.where, diag::RuleNeverApplies{})
          .label("no all-to-all, all-gather or reduce-scatter at its edge spans nodes of " + std::to_string(rule.node) +
                 " ranks and more than one rank of each");
}

} // namespace stg
