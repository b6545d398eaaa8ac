//===- ChooseAlgorithms.cpp - what `run … as` says of collectives -------------===//
#include "stg/Sharding/ChooseAlgorithms.h"
#include "TwoLevel.h"
#include "stg/Analysis/AxesText.h"
#include "stg/Analysis/Factors.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/Sharding/Assign.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace stg {

namespace {

class AlgorithmChooser {
public:
  AlgorithmChooser(Program &program, Diagnostics &diags, PassStats &stats)
      : program_(program), diags_(diags), stats_(stats), uses_(program.plan.runs.size()) {}

  Outcome run() {
    size_t errors = diags_.numErrors();
    std::vector<bool> seen(program_.bodies.size(), false);
    for (const Unit &unit : program_.units) {
      if (seen[unit.body.index])
        continue;
      seen[unit.body.index] = true;
      visit(program_.bodies[unit.body.index], program_.unitPath(unit));
    }
    for (size_t rule = 0; rule < uses_.size(); ++rule)
      if (program_.plan.runs[rule].algorithm != RunAlgorithm::TwoLevel)
        reportUse(rule);
    return diags_.numErrors() == errors ? Outcome::Done : Outcome::Failed;
  }

private:
  struct RuleUse {
    std::string op;               ///< the first call that it names
    bool isFaulty = false;        ///< reported
    bool runs = false;            ///< some collective has its algorithm
    bool isNoted = false;         ///< some call keeps its collectives
    std::optional<size_t> shadow; ///< an earlier rule that names what this one does
  };

  void visit(Body &body, const std::string &path) {
    readers_.clear();
    for (uint32_t i = 0; i < body.ops.size(); ++i) {
      ++stats_.opVisits;
      for (ValueId operand : body.ops[i].operands)
        readers_[operand.index].push_back(OpId(i));
    }
    for (const BodyOutput &output : body.outputs)
      readers_[output.value.index].push_back(OpId());
    for (uint32_t i = 0; i < body.ops.size(); ++i)
      if (body.ops[i].kind == OpKind::Call)
        visitCall(body, OpId(i), scopeOf(program_, path, body.ops[i]));
  }

  void visitCall(Body &body, OpId call, const std::string &scope) {
    std::optional<size_t> first;
    for (size_t i = 0; i < uses_.size(); ++i) {
      const RunRule &rule = program_.plan.runs[i];
      if (rule.algorithm == RunAlgorithm::TwoLevel ||
          llvm::none_of(rule.scopes, [&](const PathPattern &pattern) { return pattern.names(scope); }))
        continue;
      if (first) {
        uses_[i].shadow = first;
        continue;
      }
      first = i;
      if (uses_[i].op.empty())
        uses_[i].op = program_.text(body.op(call).get<CallFields>().callee).str();
    }
    if (first && program_.plan.runs[*first].algorithm != RunAlgorithm::Gather)
      choose(body, call, *first);
  }

  //===--------------------------------------------------------------------===//
  // One call
  //===--------------------------------------------------------------------===//

  llvm::StringRef algorithmText(size_t rule) const { return spelling(program_.plan.runs[rule].algorithm); }

  /// E328, once per rule.
  void refuse(size_t rule, llvm::StringRef op, const std::string &reason, const std::string &help) {
    if (!std::exchange(uses_[rule].isFaulty, true))
      diags_
          .report(program_.plan.runs[rule].where,
                  diag::CannotRunAs{.op = op, .algorithm = algorithmText(rule), .reason = reason})
          .help(help);
  }

  /// N330, once per rule.
  void keepWhole(size_t rule, const Body &body, ValueId value, const std::string &reason) {
    if (!std::exchange(uses_[rule].isNoted, true))
      diags_.report(program_.plan.runs[rule].where, diag::GatheredWhole{.value = labelOf(program_, body, value),
                                                                        .algorithm = algorithmText(rule),
                                                                        .reason = reason});
  }

  static bool lists(const Factor &factor, llvm::StringRef algorithm) {
    return factor.kind == FactorKind::Stream && llvm::any_of(factor.args, [&](const StaticArg &arg) {
             const auto *text = std::get_if<std::string>(&arg);
             return text && *text == algorithm;
           });
  }

  void choose(Body &body, OpId call, size_t rule) {
    const Op &op = body.op(call);
    const auto &fields = op.get<CallFields>();
    llvm::StringRef callee = program_.text(fields.callee);
    std::vector<OpFactor> factors = factorsOf(op, body);
    const OpFactor *streamed = nullptr;
    for (const OpFactor &factor : factors)
      if (factor.callFactor && lists(fields.factors[*factor.callFactor], algorithmText(rule)))
        streamed = &factor;
    if (!streamed)
      return refuse(rule, callee, "it has no factor of kind `stream(" + algorithmText(rule).str() + ")`",
                    "name an op that has one, such as `attend`, or take the rule out");
    llvm::SmallVector<OpId, 2> gathers;
    for (size_t i = 0; i < op.operands.size(); ++i)
      if (NameId dim = streamed->operandDims[i]; dim && !findGather(body, op.operands[i], dim, rule, gathers))
        return;
    if (gathers.empty())
      return;
    if (program_.plan.runs[rule].algorithm == RunAlgorithm::Halo && !haloApplies(body, op, gathers, rule))
      return;
    const AtomList atoms = body.op(gathers.front()).get<CollectiveFields>().atoms;
    for (OpId gather : gathers)
      mark(body, gather, rule);
    for (size_t i = 0; i < op.results.size(); ++i)
      if (NameId dim = streamed->resultDims[i])
        markScatter(body, op.results[i], dim, atoms, rule);
  }

  void mark(Body &body, OpId collective, size_t rule) {
    body.ops[collective.index].get<CollectiveFields>().algorithm = program_.plan.runs[rule].algorithm;
    uses_[rule].runs = true;
  }

  /// Adds the gather along `dim` behind an operand, if there is one; false if all stay whole.
  bool findGather(const Body &body, ValueId operand, NameId dim, size_t rule, llvm::SmallVectorImpl<OpId> &gathers) {
    OpId def = body.value(operand).def;
    auto isAlong = [&](const Op &op) {
      return op.kind == OpKind::AllGather && op.get<CollectiveFields>().from == dim &&
             !op.get<CollectiveFields>().isStorage;
    };
    const Op &last = body.op(def);
    if (!isAlong(last)) {
      // Behind another gather, blocks would not be what the op reads.
      bool isBehind = last.kind == OpKind::AllGather && isAlong(body.op(body.value(last.operands[0]).def));
      if (isBehind)
        keepWhole(rule, body, operand,
                  "it is gathered along " + program_.text(last.get<CollectiveFields>().from).str() + " as well");
      return !isBehind;
    }
    if (readers_[operand.index].size() != 1) {
      keepWhole(rule, body, last.operands[0], "something else reads it gathered");
      return false;
    }
    if (!gathers.empty() &&
        body.op(gathers.front()).get<CollectiveFields>().atoms != last.get<CollectiveFields>().atoms) {
      keepWhole(rule, body, last.operands[0], "operands of the call come over different axes");
      return false;
    }
    gathers.push_back(def);
    return true;
  }

  /// A result that one reduce-scatter over the same ranks takes.
  void markScatter(Body &body, ValueId result, NameId dim, llvm::ArrayRef<uint32_t> atoms, size_t rule) {
    const std::vector<OpId> &readers = readers_[result.index];
    if (readers.size() != 1 || !readers.front().valid())
      return;
    const Op &reader = body.op(readers.front());
    if (reader.kind != OpKind::ReduceScatter)
      return;
    const auto &fields = reader.get<CollectiveFields>();
    if (fields.to == dim && llvm::ArrayRef(fields.atoms) == atoms && fields.fn == ReduceFn::Sum && !fields.isStorage)
      mark(body, readers.front(), rule);
  }

  /// A halo needs a window and neighbours.
  bool haloApplies(const Body &body, const Op &call, llvm::ArrayRef<OpId> gathers, size_t rule) {
    const auto &fields = call.get<CallFields>();
    llvm::StringRef callee = program_.text(fields.callee);
    const MaskValue *mask = nullptr;
    for (const auto &[name, value] : fields.statics)
      if (const auto *found = std::get_if<MaskValue>(&value))
        mask = found;
    if (!mask || mask->kind != MaskKind::Window) {
      refuse(rule, callee,
             mask ? "its mask `" + spelling(mask->kind).str() + "` is no window, so it needs all keys"
                  : "it has no mask that says what it needs",
             "use `as ring`, or give the layer a window, such as `sliding = 4Ki`");
      return false;
    }
    if (mask->parameters[0].size().value_or(0) < 2) {
      refuse(rule, callee, "its window is the position itself", "take the rule out");
      return false;
    }
    for (OpId id : gathers) {
      const Op &gather = body.op(id);
      const auto &moved = gather.get<CollectiveFields>();
      if (const SplitRule *zigzag = zigzagOf(moved)) {
        if (!std::exchange(uses_[rule].isFaulty, true))
          diags_
              .report(zigzag->where, diag::NeighboursApart{.op = callee,
                                                           .dim = program_.text(moved.from),
                                                           .axes = axesText(moved.atoms, program_.mesh)})
              .noteAt(program_.plan.runs[rule].where, "`halo` brings the entries before a rank's own")
              .help("split " + program_.text(moved.from).str() + " without `zigzag`: a window is balanced as it is");
        return false;
      }
      const Op &before = body.op(body.value(gather.operands[0]).def);
      if (before.kind != OpKind::AllToAll || before.get<CollectiveFields>().from != moved.from)
        continue;
      const AtomList &exchanged = before.get<CollectiveFields>().atoms;
      if (llvm::any_of(exchanged, [&](uint32_t atom) { return atom < moved.atoms.back(); })) {
        refuse(rule, callee,
               "a rank's part of " + program_.text(moved.from).str() + " is in pieces, as " +
                   axesText(exchanged, program_.mesh) + " stands before " + axesText(moved.atoms, program_.mesh) +
                   " in the mesh",
               "let " + axesText(exchanged, program_.mesh) + " be the later axis of the mesh");
        return false;
      }
    }
    return true;
  }

  const SplitRule *zigzagOf(const CollectiveFields &gather) const {
    if (gather.cause.had < 0)
      return nullptr;
    const SplitRule &rule = program_.plan.splits[static_cast<size_t>(gather.cause.had)];
    bool isZigzag = llvm::any_of(
        rule.dims, [&](const SplitRule::Target &target) { return target.zigzag && target.dim == gather.from; });
    return isZigzag ? &rule : nullptr;
  }

  //===--------------------------------------------------------------------===//
  // Rules
  //===--------------------------------------------------------------------===//

  void reportUse(size_t number) {
    const RunRule &rule = program_.plan.runs[number];
    const RuleUse &use = uses_[number];
    if (use.isFaulty || use.isNoted)
      return;
    if (use.op.empty() && use.shadow) {
      diags_.report(rule.where, diag::RuleNeverApplies{})
          .noteAt(program_.plan.runs[*use.shadow].where, "an earlier rule names the same ops");
      return;
    }
    if (use.op.empty()) {
      refuse(number, rule.scopes.front().str(), "no call of an op has this path",
             "the last part of the path is the name of the op, such as `attend`");
      return;
    }
    if (rule.algorithm != RunAlgorithm::Gather && !use.runs && program_.mesh.ranks() > 1)
      diags_.report(rule.where, diag::NothingToRun{.algorithm = algorithmText(number), .op = use.op});
  }

  Program &program_;
  Diagnostics &diags_;
  PassStats &stats_;
  std::vector<RuleUse> uses_;
  std::map<uint32_t, std::vector<OpId>> readers_; ///< by value; an invalid op: the body's outputs
};

} // namespace

Outcome chooseAlgorithms(Program &program, Diagnostics &diags, PassStats &stats) {
  if (program.plan.runs.empty())
    return Outcome::Done;
  splitLevels(program, diags, stats);
  return AlgorithmChooser(program, diags, stats).run();
}

} // namespace stg
