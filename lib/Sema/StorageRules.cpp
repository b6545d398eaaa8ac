//===- StorageRules.cpp - what a plan keeps, and in which form ------------------===//
#include "Plan.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::StringRef;

/// What a plan can offload.
static constexpr StringRef kOffloaded[] = {"weight", "optimizer", "moment", "master", "act"};

/// One of the words; nothing, reported (E505), if the value is none of them.
std::optional<StringRef> PlanEvaluator::choice(const ast::KeyValue &item, llvm::ArrayRef<StringRef> choices) {
  StringRef text = sources_.text(item.value->range);
  if (llvm::is_contained(choices, text))
    return text;
  diags_.report(item.value->range,
                diag::OptionNotOneOf{.key = item.key.text, .choices = llvm::join(choices, " or "), .value = text});
  return std::nullopt;
}

/// `true` or `false`; nothing where the value is unknown, and, reported, where it is neither.
std::optional<bool> PlanEvaluator::flag(const ast::KeyValue &item, Scope &scope) {
  EvalResult value = elaborator_.evalStatic(item.value, scope);
  if (auto *known = value.isStatic() ? value.value.getIf<bool>() : nullptr)
    return *known;
  if (value.isStatic() && !value.value.isUnknown())
    diags_.report(item.value->range, diag::OptionNotOneOf{.key = item.key.text,
                                                          .choices = "true or false",
                                                          .value = sources_.text(item.value->range)});
  return std::nullopt;
}

void PlanEvaluator::zero(const ast::PlanZero *zero, Scope &scope, EvaluatedPlan &result) {
  StorageRule rule;
  rule.axes = useAxes(zero->axes);
  rule.scopes = scopes(zero->in, scope, result);
  rule.where = zero->range;
  if (auto stage = zero->stage->value; stage && *stage >= 1 && *stage <= 3)
    rule.stage = static_cast<uint32_t>(*stage);
  else
    diags_.report(zero->stage->range, diag::ZeroStage{.stage = sources_.text(zero->stage->range)});
  addStorage(std::move(rule), zero->options, "zero", scope, result);
}

void PlanEvaluator::store(const ast::PlanStore *store, Scope &scope, EvaluatedPlan &result) {
  std::vector<std::string> axes = useAxes(store->axes);
  Scopes in = scopes(store->in, scope, result);
  if (store->what == ast::StoreWhat::Gathered) {
    options(store->options, "store gathered", {}, scope);
    result.plan.keepGathered.push_back({std::move(axes), std::move(in), store->range});
    return;
  }
  StorageRule rule;
  rule.stage = store->what == ast::StoreWhat::Optimizer ? 1 : store->what == ast::StoreWhat::Grads ? 2 : 3;
  rule.axes = std::move(axes);
  rule.scopes = std::move(in);
  rule.where = store->range;
  addStorage(std::move(rule), store->options, "store", scope, result);
}

void PlanEvaluator::addStorage(StorageRule rule, const ast::Options &options, StringRef name, Scope &scope,
                               EvaluatedPlan &result) {
  rule.sync = rule.stage == 1 ? GradientSync::Step : GradientSync::MicroBatch;
  for (const ast::KeyValue &item : options.items)
    readStorageOption(item, name, scope, rule, result);
  result.plan.storage.push_back(std::move(rule));
}

void PlanEvaluator::readStorageOption(const ast::KeyValue &item, StringRef name, Scope &scope, StorageRule &rule,
                                      EvaluatedPlan &result) {
  static constexpr StringRef kKeys[] = {"regather", "regather_last", "gather_unread", "prefetch",  "unit",
                                        "sync",     "reduce",        "gather",        "secondary", "hierarchical"};
  checkKey(item, name, kKeys, diags_);
  StringRef key = item.key.text;
  auto notYet = [&] {
    SourceRange range = item.range;
    result.refusals.push_back({[range, rule = name.str(), key = key.str()](Diagnostics &diags) {
                                 diags.report(range, diag::StorageOptionNotYet{.rule = rule, .key = key});
                               },
                               {}});
  };
  auto isElementType = [&] { return elementTypeFrom(sources_.text(item.value->range)).has_value(); };
  if (key == "regather") {
    rule.regather = flag(item, scope).value_or(rule.regather);
  } else if (key == "regather_last") {
    rule.regatherLast = flag(item, scope).value_or(rule.regatherLast);
  } else if (key == "gather_unread") {
    rule.gatherUnread = flag(item, scope).value_or(rule.gatherUnread);
  } else if (key == "prefetch") {
    if (auto units = number(item.value, scope, key, 0))
      rule.prefetch = static_cast<uint32_t>(std::min<int64_t>(*units, UINT32_MAX));
  } else if (key == "unit") {
    if (auto chosen = choice(item, {"unit", "weight"}))
      rule.unit = *chosen == "unit" ? StorageUnit::Unit : StorageUnit::Weight;
  } else if (key == "sync") {
    if (auto chosen = choice(item, {"step", "micro_batch"}))
      rule.sync = *chosen == "step" ? GradientSync::Step : GradientSync::MicroBatch;
  } else if (key == "reduce" && !isElementType()) {
    if (auto chosen = choice(item, {"reduce_scatter", "all_reduce"}))
      rule.allReduces = *chosen == "all_reduce";
  } else if (key == "gather" && !isElementType()) {
    if (auto chosen = choice(item, {"after_step", "before_forward"}))
      rule.gathersLate = *chosen == "before_forward";
  } else if (llvm::is_contained(kKeys, key)) {
    notYet();
  }
}

void PlanEvaluator::recompute(const ast::PlanRecompute *recompute, Scope &scope, EvaluatedPlan &result) {
  RecomputeRule rule;
  rule.recomputes = recompute->what != ast::RecomputeWhat::None;
  rule.scopes = scopes(recompute->selectors, scope, result);
  rule.where = recompute->range;
  for (const ast::KeyValue &item : recompute->options.items) {
    checkKey(item, "recompute", {"comm", "early_stop"}, diags_);
    if (item.key.text == "early_stop")
      rule.stopsEarly = flag(item, scope).value_or(true);
    else if (item.key.text == "comm")
      rule.keepsCommunication = choice(item, {"keep"}).has_value();
  }
  result.plan.recompute.push_back(std::move(rule));
}

void PlanEvaluator::offload(const ast::PlanOffload *offload, Scope &scope, EvaluatedPlan &result) {
  OffloadRule rule;
  rule.where = offload->range;
  for (const ast::Name &what : offload->what) {
    bool isOptimizer = what.text == "optimizer";
    rule.weights |= what.text == "weight";
    rule.masters |= isOptimizer || what.text == "master";
    rule.moments |= isOptimizer || what.text == "moment";
    rule.activations |= what.text == "act";
    if (!llvm::is_contained(kOffloaded, what.text))
      diags_.report(what.range, diag::OffloadUnknown{.what = what.text});
  }
  if (offload->to.text != "host")
    diags_.report(offload->to.range, diag::OptionNotOneOf{.key = "to", .choices = "host", .value = offload->to.text});
  rule.scopes = scopes(offload->in, scope, result);
  for (const ast::KeyValue &item : offload->options.items) {
    checkKey(item, "offload", {"overlap", "prefetch"}, diags_);
    if (item.key.text == "overlap")
      rule.overlaps = flag(item, scope).value_or(true);
    else if (item.key.text == "prefetch")
      if (auto units = number(item.value, scope, item.key.text, 0))
        rule.prefetch = static_cast<uint32_t>(std::min<int64_t>(*units, UINT32_MAX));
  }
  result.plan.offload.push_back(std::move(rule));
}
