//===- PlanNames.cpp - what a plan mentions, against the model ------------------------===//
#include "Plan.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace stg;
using llvm::StringRef;

void PlanCompleter::run(const EvaluatedPlan &plan) {
  program_.mesh = plan.mesh;
  collect();
  for (const PlanMention &mention : plan.mentions)
    mention.pattern ? checkSelector(mention) : checkDim(mention);
  if (plan.microbatchAt.valid() &&
      llvm::none_of(program_.sizes, [&](const SizeParameter &size) { return program_.text(size.name) == "B"; }))
    diags_
        .report(plan.microbatchAt, diag::UnknownPlanName{.kind = "size parameter",
                                                         .name = "B",
                                                         .where = "model " + program_.text(program_.name).str()})
        .note("`microbatch` divides the batch, which is called B by convention");
  complete(plan.plan);
}

bool PlanCompleter::has(NameId dim) const { return llvm::is_contained(dims_, dim); }

/// Dims and paths, per distinct body: of its values and of the ops they come from.
void PlanCompleter::collect() {
  auto add = [&](NameId name) {
    if (!has(name))
      dims_.push_back(name);
  };
  for (const SizeParameter &size : program_.sizes)
    add(size.name);
  for (const Factoring &factoring : program_.factorings) {
    add(factoring.whole);
    for (NameId part : factoring.parts)
      add(part);
  }
  std::vector<bool> walked(program_.bodies.size(), false);
  for (const Unit &unit : program_.units) {
    if (walked[unit.body.index])
      continue;
    walked[unit.body.index] = true;
    std::string path = program_.text(unit.path).str();
    paths_.push_back(path);
    const Body &body = program_.body(unit);
    for (const Op &op : body.ops) {
      if (op.scope)
        paths_.push_back(path + "." + program_.text(op.scope).str());
      for (ValueId result : op.results) {
        paths_.push_back(path + "." + program_.text(body.value(result).name).str());
        if (body.value(result).type)
          for (const Dim &dim : body.value(result).type->dims)
            add(dim.name);
      }
    }
    for (const WeightSlot &slot : body.weights)
      for (const Dim &dim : slot.type.dims)
        add(dim.name);
  }
}

void PlanCompleter::checkDim(const PlanMention &mention) {
  StringRef wanted = mention.dim.text;
  std::vector<StringRef> dims;
  std::string listed;
  for (NameId dim : dims_) {
    dims.push_back(program_.text(dim));
    listed += (listed.empty() ? "" : " ") + dims.back().str();
    for (const Factoring &factoring : program_.factorings)
      if (factoring.whole == dim) {
        listed += " (= ";
        for (size_t i = 0; i < factoring.parts.size(); ++i)
          listed += (i ? " x " : "") + program_.text(factoring.parts[i]).str();
        listed += ")";
      }
  }
  if (mention.optional || llvm::is_contained(dims, wanted))
    return;
  auto builder =
      diags_.report(mention.dim.range, diag::UnknownPlanName{.kind = "dimension",
                                                             .name = wanted,
                                                             .where = "model " + program_.text(program_.name).str()});
  builder.label("dimensions of this model: " + listed);
  auto close = closestName(wanted, dims);
  // A plural or a word for it: the dim that it begins with.
  if (!close)
    for (StringRef dim : dims)
      if (wanted.starts_with(dim) && (!close || dim.size() > close->size()))
        close = dim;
  if (close)
    builder.fixit(mention.dim.range, close->str());
  builder.note("write `" + wanted.str() + "?` if the plan is shared and some models have no such dimension");
}

/// `blocks[0..n]` with n = 0.
static bool asksForNone(const PathPattern &pattern) {
  return llvm::any_of(pattern.parts,
                      [](const PatternPart &part) { return part.range && part.range->first == part.range->last; });
}

/// Whether iterations that the pattern numbers exist.
bool PlanCompleter::namesIteration(const PathPattern &pattern) const {
  if (asksForNone(pattern) || !pattern.hasIndex())
    return true;
  return llvm::any_of(program_.units, [&](const Unit &unit) {
    std::string path = program_.unitPath(unit);
    const Body &body = program_.body(unit);
    return pattern.matches(path) || llvm::any_of(body.ops, [&](const Op &op) {
             return (op.scope && pattern.matches(path + "." + program_.text(op.scope).str())) ||
                    llvm::any_of(op.results, [&](ValueId result) {
                      return pattern.matches(path + "." + program_.text(body.value(result).name).str());
                    });
           });
  });
}

void PlanCompleter::checkSelector(const PlanMention &mention) {
  PathPattern loose = anyIteration(*mention.pattern);
  bool isNamed = llvm::any_of(paths_, [&](const std::string &path) { return loose.matches(path); });
  if (isNamed && namesIteration(*mention.pattern))
    return;
  std::vector<std::pair<std::string, int64_t>> units;
  for (const Unit &unit : program_.units) {
    std::string path = program_.text(unit.path).str();
    if (units.empty() || units.back().first != path)
      units.push_back({path, 0});
    units.back().second = unit.index + 1;
  }
  std::string listed;
  for (auto &[path, count] : units)
    listed += (listed.empty() ? "" : ", ") + path + (count ? "[0.." + std::to_string(count) + ")" : "");
  auto builder = diags_.report(mention.where, diag::SelectorMatchesNothing{.selector = sources_.text(mention.where)});
  builder.label("units here: " + listed);
  if (isNamed)
    return;
  // Names inside units, for the last part.
  std::vector<std::string> inside;
  for (const std::string &path : paths_)
    if (auto rest = StringRef(path).split('.').second; !rest.empty()) {
      std::string name = rest.split('.').first.split('\'').first.str();
      if (!llvm::is_contained(inside, name))
        inside.push_back(name);
    }
  std::vector<StringRef> candidates(inside.begin(), inside.end());
  for (auto &[path, count] : units)
    candidates.push_back(path);
  for (const PatternPart &part : loose.parts)
    if (!llvm::is_contained(candidates, StringRef(part.name)))
      if (auto close = closestName(part.name, candidates))
        builder.help("did you mean `" + close->str() + "`?");
  builder.note("inside: " + llvm::join(inside, " "));
}

llvm::SmallVector<NameId, 4> PlanCompleter::withFactors(NameId dim) const {
  llvm::SmallVector<NameId, 4> list{dim};
  for (size_t i = 0; i < list.size(); ++i)
    for (const Factoring &factoring : program_.factorings)
      if (factoring.whole == list[i])
        for (NameId part : factoring.parts)
          if (!llvm::is_contained(list, part))
            list.push_back(part);
  return list;
}

void PlanCompleter::complete(const Plan &plan) {
  Plan &result = program_.plan;
  for (const SplitRule &rule : plan.splits) {
    if (!rule.scopes.empty() && llvm::all_of(rule.scopes, asksForNone))
      continue;
    SplitRule expanded = rule;
    expanded.dims.clear();
    for (const SplitRule::Target &target : rule.dims)
      for (NameId dim : withFactors(target.dim)) {
        bool known = llvm::any_of(expanded.dims, [&](const SplitRule::Target &other) { return other.dim == dim; });
        if (known || !has(dim))
          continue;
        expanded.dims.push_back(target);
        expanded.dims.back().dim = dim;
      }
    if (!expanded.dims.empty()) // else: dims of other models only
      result.splits.push_back(std::move(expanded));
  }
  for (const KeepRule &rule : plan.keeps)
    for (NameId dim : withFactors(rule.dim)) {
      result.keeps.push_back(rule);
      result.keeps.back().dim = dim;
    }
  for (size_t i = 0; i < plan.pins.size(); ++i) {
    completePin(plan.pins[i]);
    checkPinApplies(plan.pins[i], llvm::ArrayRef(plan.pins).take_front(i));
  }
  result.keepGathered = plan.keepGathered;
  completeStorage(plan);
  result.gemms = plan.gemms;
  result.runs = plan.runs;
  result.recompute = plan.recompute;
  result.offload = plan.offload;
  if (plan.pipeline)
    completePipeline(*plan.pipeline);
}

/// Rules over axes of one rank only say nothing. Ranks of the pipeline hold different weights.
void PlanCompleter::completeStorage(const Plan &plan) {
  for (const StorageRule &rule : plan.storage) {
    bool isIdle = llvm::all_of(rule.axes, [&](const std::string &axis) { return program_.mesh.atomsOf(axis).empty(); });
    if (isIdle || (!rule.scopes.empty() && llvm::all_of(rule.scopes, asksForNone)))
      continue;
    if (plan.pipeline && llvm::is_contained(rule.axes, plan.pipeline->axis)) {
      diags_.report(rule.where, diag::StorageOverPipeline{.axis = plan.pipeline->axis})
          .help("name the axes over which weights are copied, such as those that split B");
      continue;
    }
    program_.plan.storage.push_back(rule);
  }
}

/// The layout in the dims of a tensor: a composite dim is what the tensor has of it, and its axes go to the factors in
/// order, each to the first that it divides. Nothing if the layout speaks of other dims.
std::optional<PinRule> PlanCompleter::pinFor(const PinRule &pin, const TensorType &type) const {
  PinRule rule = pin;
  rule.dims.clear();
  for (const auto &[dim, axes] : pin.dims) {
    size_t first = rule.dims.size();
    for (NameId part : withFactors(dim))
      if (type.has(part))
        rule.dims.push_back({part, {}});
    if (rule.dims.size() == first)
      return std::nullopt;
    llvm::SmallVector<int64_t, 4> ranks(rule.dims.size() - first, 1);
    for (const std::string &axis : axes)
      for (size_t i = first; i < rule.dims.size(); ++i) {
        int64_t product = ranks[i - first] * program_.mesh.findAxis(axis)->size;
        auto size = type.find(rule.dims[i].first)->size.size();
        if (i + 1 < rule.dims.size() && size && *size % product != 0)
          continue;
        rule.dims[i].second.push_back(axis);
        ranks[i - first] = product;
        break;
      }
  }
  return rule.dims.size() == type.dims.size() ? std::optional(std::move(rule)) : std::nullopt;
}

/// Axes of two views of the mesh may share ranks (E308).
bool PlanCompleter::sharesRanks(const PinRule &pin) {
  std::vector<std::string> axes = pin.partial;
  for (const auto &[dim, on] : pin.dims)
    axes.insert(axes.end(), on.begin(), on.end());
  std::set<uint32_t> taken;
  for (const std::string &axis : axes)
    for (uint32_t atom : program_.mesh.atomsOf(axis))
      if (!taken.insert(atom).second) {
        diags_.report(pin.where, diag::AxisTwiceInPin{.axis = axis})
            .note("another axis of this layout spans some of its ranks");
        return true;
      }
  return false;
}

/// W303 for a pin whose values all have an earlier one.
void PlanCompleter::checkPinApplies(const PinRule &pin, llvm::ArrayRef<PinRule> earlier) {
  const PinRule *first = nullptr;
  std::set<std::pair<uint32_t, NameId>> walked;
  bool byIteration =
      pin.value.hasIndex() || llvm::any_of(earlier, [](const PinRule &other) { return other.value.hasIndex(); });
  for (const Unit &unit : program_.units) {
    if (!byIteration && !walked.insert({unit.body.index, unit.path}).second)
      continue;
    std::string path = program_.unitPath(unit) + ".";
    for (const Value &value : program_.body(unit).values) {
      std::string name = path + program_.text(value.name).str();
      if (!value.type || !pin.value.names(name))
        continue;
      auto *other = llvm::find_if(earlier, [&](const PinRule &each) { return each.value.names(name); });
      if (other == earlier.end())
        return;
      first = first ? first : other;
    }
  }
  if (first)
    diags_.report(pin.where, diag::RuleNeverApplies{})
        .label("`" + pin.value.str() + "` has a layout by an earlier `pin`")
        .noteAt(first->where, "the first one counts");
}

void PlanCompleter::completePin(const PinRule &pin) {
  if (sharesRanks(pin))
    return;
  std::set<std::pair<uint32_t, NameId>> walked;
  std::vector<decltype(pin.dims)> made;
  for (const Unit &unit : program_.units) {
    if (!pin.value.hasIndex() && !walked.insert({unit.body.index, unit.path}).second)
      continue;
    std::string path = program_.unitPath(unit) + ".";
    for (const Value &value : program_.body(unit).values) {
      if (!value.type || !pin.value.names(path + program_.text(value.name).str()))
        continue;
      std::optional<PinRule> rule = pinFor(pin, *value.type);
      if (!rule) {
        std::string layout;
        for (const auto &[dim, axes] : pin.dims)
          layout += (layout.empty() ? "" : ", ") + program_.text(dim).str();
        diags_.report(pin.where, diag::PinDimsDiffer{.value = program_.text(value.name),
                                                     .actual = toString(*value.type, *program_.context),
                                                     .pinned = "[" + layout + "]"});
        return;
      }
      if (llvm::is_contained(made, rule->dims))
        continue;
      made.push_back(rule->dims);
      program_.plan.pins.push_back(std::move(*rule));
    }
  }
}
