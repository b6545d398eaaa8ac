//===- Optimizers.cpp - what trains, and how ----------------------------------------===//
// Each weight belongs to the first `optimizer` statement whose scope matches its path. A statement's optimizer becomes
// a body for each type of weight that it trains: elaborated on the weight's own dims, so that the plan's rules see
// them.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>
#include <set>

using namespace stg;
using llvm::cast;
using llvm::StringRef;

namespace {

bool within(SourceRange inner, SourceRange outer) {
  return inner.file == outer.file && inner.begin >= outer.begin && inner.end <= outer.end;
}

/// Weights of a program that is still made of pending units, each with its path; equal ones once where no scope tells
/// iterations apart.
template <class Visit>
void forEachWeight(const UnitBuilder &units, const Program &program, bool byIteration, Visit visit) {
  for (const ProgramWeight &weight : program.weights) {
    const WeightSlot *slot = nullptr; // a reader knows its precision
    for (uint32_t u = 0; u < units.numUnits() && !slot; ++u)
      for (size_t i = 0, bound = 0; i < units.bodyOf(UnitId(u)).weights.size(); ++i) {
        const WeightSlot &candidate = units.bodyOf(UnitId(u)).weights[i];
        if (candidate.owned)
          continue;
        auto *global = std::get_if<WeightId>(&units.unit(UnitId(u)).weights[bound++]);
        if (global && program.weights[global->index].name == weight.name)
          slot = &candidate;
      }
    if (slot)
      visit(program.text(weight.name).str(), *slot);
  }
  std::set<std::pair<uint32_t, std::string>> seen;
  for (uint32_t u = 0; u < units.numUnits(); ++u) {
    const PendingUnit &unit = units.unit(UnitId(u));
    if (!byIteration && !seen.insert({unit.body, unit.path}).second)
      continue;
    std::string path = unit.path + (unit.index < 0 ? "" : "[" + std::to_string(unit.index) + "]") + ".";
    for (const WeightSlot &slot : units.bodyOf(UnitId(u)).weights)
      if (slot.owned)
        visit(path + program.text(slot.name).str(), slot);
  }
}

} // namespace

bool Elaborator::findLoss(const ast::Name &model) {
  for (uint32_t u = 0; u < units_.numUnits(); ++u)
    if (!units_.bodyOf(UnitId(u)).losses.empty())
      return true;
  diags_
      .report(settings_.trainAt, diag::NotUsableHere{.expression = model.text,
                                                     .actual = "a model without a loss",
                                                     .expected = "one with a loss: training is its gradient"})
      .noteAt(model.range, "nothing in this model says `loss`")
      .help("end the model with a loss, such as `loss xent(logits, target)` with `use std.loss`");
  return false;
}

void Elaborator::planOptimizers() {
  std::vector<OptimizerRule> &rules = program_.plan.optimizers;
  bool byIteration = false;
  for (const OptimizerChoice &choice : settings_.optimizers) {
    OptimizerRule rule;
    if (choice.item)
      rule.name = program_.context->name(choice.item.item->name.text);
    rule.scopes = choice.scopes;
    rule.where = choice.where;
    byIteration |= llvm::any_of(rule.scopes, [](const PathPattern &scope) { return scope.hasIndex(); });
    rules.push_back(std::move(rule));
  }
  std::set<size_t> faulty;
  std::map<size_t, std::vector<Misfit>> misfits;
  bool any = false;
  std::set<size_t> used;
  std::map<size_t, size_t> lostTo; ///< rules to the first that has one of their weights
  forEachWeight(units_, program_, byIteration, [&](const std::string &path, const WeightSlot &slot) {
    const OptimizerRule *rule = optimizerOf(program_.plan, path);
    if (rule) {
      size_t first = static_cast<size_t>(rule - rules.data());
      used.insert(first);
      for (size_t later = first + 1; later < rules.size(); ++later)
        if (matches(rules[later].scopes, path))
          lostTo.insert({later, first});
    }
    if (!rule || !rule->name || !isFloat(slot.type.element))
      return;
    any = true;
    size_t index = static_cast<size_t>(rule - rules.data());
    const OptimizerChoice &choice = settings_.optimizers[index];
    if (!takesWeight(choice, slot.type)) {
      misfits[index].push_back({path, slot.type});
      return;
    }
    WeightPrecision precision{slot.gradient, slot.master, slot.moment};
    bool known =
        faulty.count(index) || llvm::any_of(rules[index].bodies, [&](const OptimizerBody &each) {
          return each.weight == slot.type && WeightPrecision{each.gradient, each.master, each.moment} == precision;
        });
    if (known)
      return;
    BodyId body = optimizerBody(choice, slot.type, precision);
    if (!body.valid()) {
      faulty.insert(index); // one message for each statement
      return;
    }
    rules[index].bodies.push_back({slot.type, slot.gradient, slot.master, slot.moment, body});
  });
  for (const auto &[index, weights] : misfits)
    reportMisfits(settings_.optimizers[index], weights);
  if (!any)
    return reportNothingTrains();
  // That of `train` is for the rest, which may be nothing.
  for (auto [later, first] : lostTo)
    if (SourceRange where = rules[later].where; !used.count(later) && !within(where, settings_.trainAt))
      diags_.report(rules[later].where, diag::RuleNeverApplies{})
          .label("every weight that it names has an optimizer by an earlier line")
          .noteAt(rules[first].where, "the first line that names a weight counts");
}

void Elaborator::reportNothingTrains() {
  auto builder = diags_.report(settings_.trainAt, diag::NothingTrains{});
  for (const OptimizerChoice &choice : settings_.optimizers)
    if (!choice.item && choice.scopes.empty()) {
      builder.noteAt(choice.where, "`none` without `in` is for every weight that no line before it names")
          .help("give it the weights to freeze, `optimizer none in ...`, or take it out");
      return;
    }
  builder.help(settings_.optimizers.empty() ? "train { optimizer = adamw }"
                                            : "an `optimizer` without `in` trains the rest");
}

/// E623, once for all weights that the optimizer cannot take.
void Elaborator::reportMisfits(const OptimizerChoice &choice, llvm::ArrayRef<Misfit> weights) {
  constexpr size_t kMaxListed = 8;
  const ast::Signature &signature = cast<ast::LayerItem>(choice.item.item)->signature;
  const ast::TensorParam *first = signature.tensors.empty() ? nullptr : &signature.tensors[0];
  std::string takes = first ? first->name.text.str() + sourceText(first->dims.range) : "no tensors";
  std::vector<std::string> patterns, others;
  for (const Misfit &weight : weights) {
    std::string pattern;
    for (StringRef rest = weight.path; !rest.empty();) { // `blocks[3].wq`: every iteration of it
      auto [before, after] = rest.split('[');
      pattern += before;
      rest = before.size() == rest.size() ? StringRef() : after.split(']').second;
    }
    if (llvm::is_contained(patterns, pattern))
      continue;
    if (!patterns.empty())
      others.push_back(pattern + " " + describe(weight.type, nullptr));
    patterns.push_back(std::move(pattern));
  }
  auto builder =
      diags_.report(choice.where, diag::OptimizerDoesNotFit{.optimizer = choice.item.item->name.text,
                                                            .takes = takes,
                                                            .weight = weights.front().path,
                                                            .dims = describe(weights.front().type, nullptr)});
  auto listed = [&](const std::vector<std::string> &list, size_t most) {
    return llvm::join(llvm::ArrayRef(list).take_front(most), ", ") + (list.size() > most ? ", ..." : "");
  };
  if (!others.empty())
    builder.note("and " + std::to_string(others.size()) + " more: " + listed(others, kMaxListed));
  builder.help("write before it: optimizer adamw() in " + llvm::join(patterns, ", "));
}

/// Binds the dims of `f(w[...], g[...])` to those of the weight; false if they do not fit.
bool Elaborator::bindWeight(const OptimizerChoice &choice, const TensorType &type, Scope &scope) {
  const ast::Signature &signature = cast<ast::LayerItem>(choice.item.item)->signature;
  if (signature.tensors.size() != 2)
    return false;
  for (const ast::TensorParam &param : signature.tensors) {
    llvm::ArrayRef<ast::Dim> dims = param.dims.dims;
    bool rest = llvm::any_of(dims, [](const ast::Dim &dim) { return dim.ellipsis; });
    size_t written = dims.size() - (rest ? 1 : 0);
    if (rest ? written > type.dims.size() : written != type.dims.size())
      return false;
    size_t next = 0;
    for (const ast::Dim &dim : dims) {
      DimGroup group;
      StringRef name = dim.ellipsis ? "..." : dim.parts[0].name.text;
      for (size_t count = dim.ellipsis ? type.dims.size() - written : 1; count > 0; --count)
        group.parts.push_back(type.dims[next++]);
      group.name = group.parts.size() == 1 ? group.parts[0].name : program_.context->name(name);
      bool named = !dim.ellipsis && llvm::isUpper(name.front());
      if ((!dim.ellipsis && dim.composite) || (named && program_.text(group.name) != name) ||
          !bindVariable(name, group, scope))
        return false;
    }
  }
  return true;
}

bool Elaborator::takesWeight(const OptimizerChoice &choice, const TensorType &type) {
  Scope scope;
  return bindWeight(choice, type, scope);
}

BodyId Elaborator::optimizerBody(const OptimizerChoice &choice, const TensorType &type,
                                 const WeightPrecision &precision) {
  auto *item = cast<ast::LayerItem>(choice.item.item);
  const ast::Signature &signature = item->signature;
  Frame *frame = frames_.emplace_back(std::make_unique<Frame>()).get();
  frame->item = choice.item;
  frame->call = choice.where;
  Scope *scope = newScope(nullptr, frame);
  size_t errors = diags_.numErrors();
  if (!bindWeight(choice, type, *scope) ||
      !bindStatics(item->name.text, signature.statics, choice.arguments, *scope, choice.where))
    return {};

  TensorType master = type, gradient = type;
  master.element = precision.master;
  gradient.element = precision.gradient;
  std::vector<Tensor> inputs;
  auto outer = units_.detach({master, gradient}, {"w", "g"}, inputs);
  scope->values[signature.tensors[0].name.text] = inputs[0];
  scope->values[signature.tensors[1].name.text] = inputs[1];
  // The states are owned by whatever the body trains, as in a unit; each body writes its own once.
  auto written = std::exchange(writtenStates_, {});
  auto instances = std::exchange(stretch_.instances, {});
  bool outerGrad = std::exchange(inGrad_, true);
  inOptimizer_ = precision;
  ++unitDepth_;
  registerLets(item->body, *scope);
  block(item->body, *scope);
  Context context;
  context.scope = scope;
  context.name = "w";
  auto *result = std::get_if<Tensor>(&scope->values[signature.tensors[0].name.text]);
  if (result && !result->unknown && result->value == inputs[0].value && diags_.numErrors() == errors) {
    StringRef name = signature.tensors[0].name.text;
    diags_
        .report(item->name.range, diag::NotUsableHere{.expression = item->name.text,
                                                      .actual = "an optimizer that never assigns its weight",
                                                      .expected = "one that gives `" + name.str() + "` a new value"})
        .help(name.str() + " = " + name.str() + " - lr * " + signature.tensors[1].name.text.str());
  }
  Tensor updated = result ? *result : Tensor::makeUnknown();
  if (!updated.unknown) {
    llvm::SmallVector<NameId, 6> order;
    for (const Dim &dim : master.dims)
      order.push_back(dim.name);
    updated = reorder(updated, order, context, item->range);
    if (updated.type.element != master.element)
      updated = emit(OpKind::Map, {updated}, MapFields{MapFn::Cast, master.element}, context, item->range,
                     {valueName(context)})[0];
  }
  --unitDepth_;
  inOptimizer_.reset();
  inGrad_ = outerGrad;
  stretch_.instances = std::move(instances);
  writtenStates_ = std::move(written);
  if (updated.unknown || diags_.numErrors() != errors) {
    units_.abandon(std::move(outer));
    return {};
  }
  return units_.attach(std::move(outer), item->name.text, {{"w", updated}});
}

DimExpr Elaborator::microBatchOf(DimExpr batch) {
  const MicroBatching &micro = *settings_.microBatching;
  int64_t total = *batch.size();
  Int128 size = Int128(micro.perRank) * micro.ranks;
  if (total % size == 0) {
    program_.plan.microBatches = static_cast<int64_t>(total / size);
    return program_.context->dims.constant(static_cast<int64_t>(size));
  }
  std::string sum = "microbatch " + std::to_string(micro.perRank);
  if (micro.ranks > 1)
    sum += " x " + micro.axes;
  auto builder = diags_.report(micro.where, diag::BatchNotInMicroBatches{.batch = total, .size = toString(size)});
  builder.note(sum + " = " + toString(size) + " sequences in a micro-batch");
  Int128 below = total / size;
  std::string nearest = below > 0 ? "B = " + toString(below * size) + " gives " + toString(below) + ", " : "";
  builder.note(nearest + "B = " + toString((below + 1) * size) + " gives " + toString(below + 1));
  return {};
}
