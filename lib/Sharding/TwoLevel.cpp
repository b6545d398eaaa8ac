//===- TwoLevel.cpp -----------------------------------------------------------===//
#include "TwoLevel.h"
#include "OpWriter.h"
#include "stg/IR/LayoutOps.h"
#include "stg/Sharding/Assign.h"
#include "stg/Sharding/Conversion.h"

namespace stg {

namespace {

class LevelSplitter {
public:
  LevelSplitter(Program &program, Body &body, std::string path, std::vector<bool> &used)
      : program_(program), body_(body), writer_(*program.context, body), path_(std::move(path)), used_(used),
        atoms_(program.mesh.atoms()) {
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
        writer_.push(std::move(ops[i]));
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
    return isBackward(op->part) && op->kind == OpKind::Map && op->get<MapFields>().fn == MapFn::Add &&
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
      op.results[i] = writer_.between(second.results[i], *layoutAfter(op.kind, op.get<CollectiveFields>(), from));
      second.operands[i] = op.results[i];
    }
    writer_.push(std::move(op));
    writer_.push(std::move(second));
  }

  Program &program_;
  Body &body_;
  OpWriter writer_;
  std::string path_;
  std::vector<bool> &used_; ///< by rule
  std::vector<MeshAtom> atoms_;
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
