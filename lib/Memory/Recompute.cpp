//===- Recompute.cpp - what backward computes again ---------------------------===//
// The graph of the cut has an edge through each forward value, whose capacity is what keeping it costs, and edges from
// what an op reads to what it makes. Ways begin at values that cannot be computed again: they are there after the
// forward, but are kept only if something reads them. Inputs and weights of the unit live anyway, so no way begins
// there. Ways end at what backward reads. A view costs nothing to compute and is never kept itself: what it shows is.
//
// Example: q = sum(D) n * wq; o, lse = attend(q, k, v), with `recompute attend`. Backward reads q, k, v, o and lse; q,
// k and v begin ways that end at once, so they are kept, and with them o and lse can be computed again.
//===----------------------------------------------------------------------===//
#include "stg/Memory/Recompute.h"
#include "MinCut.h"
#include "stg/Analysis/Kernels.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <algorithm>
#include <map>

namespace stg {

namespace {

/// Another form of what is there: nothing is computed, and no memory is taken.
bool isView(OpKind kind) {
  return kind == OpKind::View || kind == OpKind::Stop || kind == OpKind::Broadcast || kind == OpKind::Shard ||
         kind == OpKind::Demote;
}

/// Lives as long as the step, or is no data.
bool isThereAnyway(OpKind kind) {
  return kind == OpKind::Input || kind == OpKind::Weight || kind == OpKind::Constant || kind == OpKind::Iota;
}

/// Reads or changes what outlives the micro-batch.
bool runsOnce(OpKind kind) {
  switch (kind) {
  case OpKind::State:
  case OpKind::Update:
  case OpKind::Append:
  case OpKind::Accumulate:
  case OpKind::Gradient:
  case OpKind::Assign:
  case OpKind::Tally:
  case OpKind::Total:
    return true;
  default:
    return false;
  }
}

/// `attn.q` for `attn.q'2`, which a pass made of it.
llvm::StringRef asWritten(llvm::StringRef name) {
  size_t quote = name.rfind('\'');
  return quote == llvm::StringRef::npos ? name : name.take_front(quote);
}

/// What became of the rules, over all bodies.
struct RuleUse {
  bool names = false;             ///< some op is named by this rule and by none before it
  bool computes = false;          ///< something is computed again by this rule
  std::optional<uint32_t> behind; ///< a rule that names what this one names too, and stands before it
};

class BodyRecomputation {
public:
  BodyRecomputation(const Program &program, Body &body, std::vector<RuleUse> &uses)
      : program_(program), context_(*program.context), rules_(program.plan.recompute), body_(body), uses_(uses),
        share_(program) {
    auto backward = llvm::find_if(body.ops, [](const Op &op) { return isBackward(op.part); });
    end_ = static_cast<uint32_t>(backward - body.ops.begin());
    ruleOfOp_.assign(end_, kNoRule);
    isKept_.assign(body.values.size(), false);
    isNeeded_.assign(body.values.size(), false);
    isCloned_.assign(end_, false);
  }

  void run(llvm::StringRef unitPath) {
    findRules(unitPath);
    if (end_ == body_.ops.size() || llvm::none_of(ruleOfOp_, [](uint32_t rule) { return rule != kNoRule; }))
      return;
    cut();
    findNeeded();
    insertClones();
  }

private:
  static constexpr uint32_t kNoRule = ~0u;

  const Op &definition(ValueId value) const { return body_.op(body_.value(value).def); }
  bool isForward(ValueId value) const { return body_.value(value).def.index < end_; }

  //===--------------------------------------------------------------------===//
  // Rules
  //===--------------------------------------------------------------------===//

  void findRules(llvm::StringRef unitPath) {
    std::vector<bool> isNamed(end_, false);
    for (uint32_t i = 0; i < end_; ++i) {
      const Op &op = body_.ops[i];
      std::optional<uint32_t> first;
      for (uint32_t rule = 0; rule < rules_.size(); ++rule)
        if (names(rules_[rule], op, unitPath)) {
          if (first && !uses_[rule].behind)
            uses_[rule].behind = first;
          first = first.value_or(rule);
        }
      if (!first)
        continue;
      isNamed[i] = true;
      uses_[*first].names = true;
      const RecomputeRule &rule = rules_[*first];
      bool runsAgain = !isThereAnyway(op.kind) && !runsOnce(op.kind) && !isView(op.kind) && !op.results.empty() &&
                       !(rule.keepsCommunication && isCollective(op.kind));
      if (rule.recomputes && runsAgain)
        ruleOfOp_[i] = *first;
    }
    spreadToConversions(isNamed);
  }

  /// A collective that no rule names belongs to what it brings an operand for: that cannot run again without it.
  void spreadToConversions(const std::vector<bool> &isNamed) {
    std::vector<uint32_t> ruleOfReader(body_.values.size(), kNoRule);
    for (uint32_t i = end_; i-- > 0;) {
      const Op &op = body_.ops[i];
      uint32_t rule = ruleOfOp_[i];
      if (isView(op.kind) || (isCollective(op.kind) && (!isNamed[i] || isStreamed(op))))
        for (ValueId result : op.results)
          rule = std::min(rule, ruleOfReader[result.index]);
      if (isCollective(op.kind))
        ruleOfOp_[i] = rule;
      if (rule == kNoRule)
        continue;
      for (ValueId operand : op.operands)
        if (!rules_[rule].keepsCommunication || isStreamed(definition(operand)))
          ruleOfReader[operand.index] = std::min(ruleOfReader[operand.index], rule);
    }
  }

  /// Blocks that pass by are never there as a whole: they come again with the call.
  static bool isStreamed(const Op &op) {
    return isCollective(op.kind) && op.get<CollectiveFields>().algorithm != RunAlgorithm::Gather;
  }

  /// By the path of its instance, or by that of a value that it makes.
  bool names(const RecomputeRule &rule, const Op &op, llvm::StringRef unitPath) const {
    auto isNamed = [&](llvm::StringRef inner) {
      return matches(rule.scopes, inner.empty() ? unitPath.str() : unitPath.str() + "." + inner.str());
    };
    if (rule.scopes.empty() || isNamed(op.scope ? program_.text(op.scope) : llvm::StringRef()))
      return true;
    return llvm::any_of(op.results, [&](ValueId result) {
      NameId name = body_.value(result).name;
      return name && (isNamed(program_.text(name)) || isNamed(asWritten(program_.text(name))));
    });
  }

  /// Whether the op runs again although nothing may need it.
  bool runsAnyway(uint32_t op) const { return ruleOfOp_[op] != kNoRule && !rules_[ruleOfOp_[op]].stopsEarly; }

  //===--------------------------------------------------------------------===//
  // What is kept
  //===--------------------------------------------------------------------===//

  /// In bits, as elements may have four of them; 1 PiB at most, so that no sum overflows.
  int64_t costOf(ValueId value) const {
    constexpr Int128 kMost = Int128(1) << 53;
    std::optional<Rational> bytes = share_.bytesOf(body_.value(value)).rational();
    Int128 bits = bytes ? bytes->numerator * 8 / bytes->denominator : kMost;
    return static_cast<int64_t>(std::clamp<Int128>(bits, 1, kMost));
  }

  /// Reads of forward values from outside the forward: by backward ops, and by ops that run again in any case.
  template <class Fn> void forEachRead(Fn fn) const {
    for (uint32_t i = 0; i < body_.ops.size(); ++i)
      if (i >= end_ ? isBackward(body_.ops[i].part) : runsAnyway(i))
        for (ValueId operand : body_.ops[i].operands)
          if (isForward(operand))
            fn(operand);
  }

  void cut() {
    auto count = static_cast<uint32_t>(body_.values.size());
    uint32_t source = 2 * count, sink = source + 1;
    auto in = [](ValueId value) { return 2 * value.index; };
    auto out = [](ValueId value) { return 2 * value.index + 1; };
    FlowGraph graph(sink + 1);
    for (uint32_t i = 0; i < end_; ++i) {
      const Op &op = body_.ops[i];
      if (isThereAnyway(op.kind))
        continue;
      bool isAgain = isView(op.kind) || ruleOfOp_[i] != kNoRule;
      for (uint32_t r = 0; r < op.results.size(); ++r) {
        ValueId result = op.results[r];
        graph.addEdge(in(result), out(result),
                      isView(op.kind) || runsAnyway(i) || isStreamed(op) ? FlowGraph::kUnbounded : costOf(result));
        if (!isAgain)
          graph.addEdge(source, in(result), FlowGraph::kUnbounded);
        else if (isView(op.kind)) // of several operands one for each result
          graph.addEdge(out(op.operands[r]), in(result), FlowGraph::kUnbounded);
        else
          for (ValueId operand : op.operands)
            graph.addEdge(out(operand), in(result), FlowGraph::kUnbounded);
      }
    }
    forEachRead([&](ValueId value) { graph.addEdge(out(value), sink, FlowGraph::kUnbounded); });
    std::vector<bool> needed = graph.sinkSide(source, sink);
    if (needed.empty())
      internalError(program_.text(body_.name), "has a value that can be neither kept nor computed again");
    for (uint32_t i = 0; i < count; ++i)
      isKept_[i] = needed[out(ValueId(i))] && !needed[in(ValueId(i))];
  }

  /// Whether backward finds the value as the forward left it.
  bool isThere(ValueId value) const {
    while (true) {
      const Op &op = definition(value);
      if (isKept_[value.index] || isThereAnyway(op.kind) || !isForward(value))
        return true;
      if (!isView(op.kind))
        return false;
      value = op.operands[body_.value(value).result];
    }
  }

  //===--------------------------------------------------------------------===//
  // Clones
  //===--------------------------------------------------------------------===//

  void need(ValueId value) {
    if (!isThere(value))
      isNeeded_[value.index] = true;
  }

  void findNeeded() {
    forEachRead([&](ValueId value) { need(value); });
    for (uint32_t i = end_; i-- > 0;) {
      const Op &op = body_.ops[i];
      isCloned_[i] = runsAnyway(i) || llvm::any_of(op.results, [&](ValueId result) { return isNeeded_[result.index]; });
      if (!isCloned_[i])
        continue;
      if (!isView(op.kind) && ruleOfOp_[i] == kNoRule)
        internalError(program_.text(body_.name), "computes again what no rule names");
      for (ValueId operand : op.operands)
        need(operand);
      if (ruleOfOp_[i] != kNoRule)
        uses_[ruleOfOp_[i]].computes = true;
    }
  }

  void insertClones() {
    for (const Value &value : body_.values)
      if (value.name)
        names_.insert(program_.text(value.name));
    for (const Op &op : body_.ops)
      nextKernel_ = std::max(nextKernel_, op.kernel + 1);
    std::vector<ValueId> again(body_.values.size());
    auto current = [&](ValueId value) { return isThere(value) ? value : again[value.index]; };
    std::vector<Op> clones;
    for (uint32_t i = 0; i < end_; ++i) {
      if (!isCloned_[i])
        continue;
      Op clone = body_.ops[i];
      clone.part = Part::Recompute;
      clone.kernel = kernelOf(clone.kernel);
      for (ValueId &operand : clone.operands)
        operand = current(operand);
      for (ValueId &result : clone.results)
        result = again[result.index] = cloneOf(result);
      clones.push_back(std::move(clone));
    }
    for (uint32_t i = end_; i < body_.ops.size(); ++i)
      if (isBackward(body_.ops[i].part))
        for (ValueId &operand : body_.ops[i].operands)
          operand = current(operand);
    insert(std::move(clones));
  }

  /// Clones of one kernel's ops are one kernel.
  uint32_t kernelOf(uint32_t original) {
    auto [entry, isNew] = kernels_.try_emplace(original, nextKernel_);
    nextKernel_ += isNew;
    return entry->second;
  }

  ValueId cloneOf(ValueId original) {
    Value value = body_.value(original);
    if (value.name) {
      std::string name = program_.text(value.name).str() + "'r";
      while (!names_.insert(name).second)
        name += "'";
      value.name = context_.name(name);
    }
    body_.values.push_back(std::move(value));
    return ValueId(static_cast<uint32_t>(body_.values.size() - 1));
  }

  void insert(std::vector<Op> clones) {
    body_.ops.insert(body_.ops.begin() + end_, std::make_move_iterator(clones.begin()),
                     std::make_move_iterator(clones.end()));
    for (uint32_t i = end_; i < body_.ops.size(); ++i)
      for (ValueId result : body_.ops[i].results)
        body_.values[result.index].def = OpId(i);
  }

  const Program &program_;
  IRContext &context_;
  const std::vector<RecomputeRule> &rules_;
  Body &body_;
  std::vector<RuleUse> &uses_;
  RankShare share_;
  uint32_t end_ = 0; ///< of the forward: the first op of the backward
  // Per forward op.
  std::vector<uint32_t> ruleOfOp_; ///< by which it is computed again, or kNoRule
  std::vector<bool> isCloned_;
  // Per value.
  std::vector<bool> isKept_, isNeeded_;
  llvm::StringSet<> names_;
  std::map<uint32_t, uint32_t> kernels_; ///< of the forward, and of its clones
  uint32_t nextKernel_ = 0;
};

void reportUnused(const Program &program, llvm::ArrayRef<RuleUse> uses, Diagnostics &diags) {
  llvm::ArrayRef<RecomputeRule> rules = program.plan.recompute;
  for (size_t i = 0; i < uses.size(); ++i) {
    if (!rules[i].recomputes || uses[i].computes)
      continue;
    if (uses[i].names)
      diags.report(rules[i].where, diag::RecomputesNothing{});
    else if (uses[i].behind) // else it is for iterations that are not there: blocks[0..n] with n = 0
      diags.report(rules[i].where, diag::RuleNeverApplies{})
          .noteAt(rules[*uses[i].behind].where, "what it names is named here too, and the first one counts");
  }
}

} // namespace

void recompute(Program &program, Diagnostics &diags, PassStats &stats) {
  if (program.mode != Mode::Train || program.plan.recompute.empty())
    return;
  std::vector<RuleUse> uses(program.plan.recompute.size());
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    Body &body = program.bodies[unit.body.index];
    stats.opVisits += body.ops.size();
    // No rule tells two units of one body apart.
    BodyRecomputation(program, body, uses).run(program.unitPath(unit));
  }
  reportUnused(program, uses, diags);
}

} // namespace stg
