//===- Workload.cpp --------------------------------------------------------------------===//
#include "stg/Sema/Workload.h"
#include "Plan.h"
#include "RoutingRules.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

std::vector<WorkloadSource> stg::workloadsOf(const Module &module) {
  std::vector<WorkloadSource> found;
  for (ast::ItemKind kind : {ast::ItemKind::Workload, ast::ItemKind::Model})
    if (found.empty())
      for (const ast::Item *item : module.declared(kind))
        found.push_back({{&module, item}});
  return found;
}

namespace {

/// A line that does not parse leaves a rule or an axis out, which is no second error.
bool hasSyntaxError(const ast::Item &item, const Diagnostics &diags) {
  constexpr unsigned kFirstOther = 200;
  return diags.hasErrors() && llvm::any_of(diags.sorted(), [&](const Diagnostic *known) {
           return known->info.number < kFirstOther && known->range.file == item.range.file &&
                  known->range.begin >= item.range.begin && known->range.end <= item.range.end;
         });
}

/// What the statements of a workload come to, before the model is walked.
struct Request {
  NamedItem model;
  std::vector<StaticArgument> arguments;
  SourceRange call;
  ElaborateSettings settings;
  EvaluatedPlan plan;
  int64_t ranks = 0;
  SourceRange ranksAt;
  std::vector<std::function<void(Diagnostics &)>> refusals;
  Routing routing;
  std::string outputFolder;
  std::vector<OptimizerChoice> lastOptimizer; ///< `train { optimizer = f }`, if it is there
};

class WorkloadResolver {
public:
  WorkloadResolver(SourceManager &sources, Diagnostics &diags, IRContext &context, Elaborator &elaborator)
      : sources_(sources), diags_(diags), context_(context), elaborator_(elaborator),
        plans_(elaborator, sources, diags, context) {}

  /// Evaluates every statement; false if the model or the plan cannot be told.
  bool resolve(NamedItem workload, llvm::ArrayRef<CommandLineSetting> settings, Request &request);

private:
  void modelOf(const ast::WorkUse *use, Scope &scope, Request &request);
  void configModel(const ast::WorkUse *use, Scope &scope, Request &request);
  void planOf(const ast::WorkUse *use, Scope &scope);
  void mode(const ast::WorkMode *mode, Scope &scope, Request &request);
  void train(const ast::WorkMode *mode, Scope &scope, Request &request);
  void clip(const ast::KeyValue &item, Scope &scope, Request &request);
  void optimizerOf(const ast::Expr *value, Scopes scopes, SourceRange where, Scope &scope,
                   std::vector<OptimizerChoice> &choices);
  std::optional<int64_t> wholeNumber(const ast::KeyValue &item, int64_t least, Scope &scope);
  std::optional<Override> overrideOf(const ast::Selector &target, const ast::Expr *value, Scope &scope,
                                     SourceRange where, std::string text);
  /// The item that `m.x` or `m.x(...)` names, of the wanted kind.
  NamedItem find(const ast::Expr *value, ast::ItemKind kind, StringRef kindName, const Module &module,
                 llvm::ArrayRef<ast::Arg> &args);

  SourceManager &sources_;
  Diagnostics &diags_;
  IRContext &context_;
  Elaborator &elaborator_;
  PlanEvaluator plans_;
  NamedItem plan_;
  NamedItem configPlan_; ///< what the files of a config's model store in fewer bits
  llvm::ArrayRef<ast::Arg> noArguments_;
  std::vector<StaticArgument> planArguments_;
  SourceRange planCall_;
};

NamedItem WorkloadResolver::find(const ast::Expr *value, ast::ItemKind kind, StringRef kindName, const Module &module,
                                 llvm::ArrayRef<ast::Arg> &args) {
  llvm::ArrayRef<ast::Name> path;
  if (auto *call = llvm::dyn_cast<ast::CallExpr>(value)) {
    path = call->callee;
    args = call->args;
  } else if (auto *name = llvm::dyn_cast<ast::PathExpr>(value)) {
    path = name->parts;
  }
  SourceRange where = path.empty() ? value->range : path.front().range.upTo(path.back().range);
  NamedItem item = path.empty() ? NamedItem() : module.find(path);
  if (item && item.item->kind == kind)
    return item;
  if (!path.empty() && module.lacks(path[0].text))
    return {};
  const Module *searched = &module;
  if (path.size() == 2)
    if (auto alias = module.aliases.find(path[0].text); alias != module.aliases.end())
      searched = alias->second;
  std::vector<StringRef> candidates;
  for (auto &[name, known] : searched->names)
    if (known.item->kind == kind)
      candidates.push_back(name);
  auto builder = diags_.report(where, diag::NoSuchItem{.kind = kindName, .name = sources_.text(where)});
  if (!candidates.empty())
    builder.note(kindName.str() + "s here: " + llvm::join(candidates, " "));
  if (!path.empty())
    if (auto close = closestName(path.back().text, candidates))
      builder.fixit(path.back().range, close->str());
  return {};
}

/// `hf("config.json", B = 8)`: the model and sizes of the config's workload, and over them what is given here.
void WorkloadResolver::configModel(const ast::WorkUse *use, Scope &scope, Request &request) {
  const ast::StringLit *path = configOf(use->value);
  if (!path) {
    diags_.report(use->value->range,
                  diag::NotUsableHere{.expression = sources_.text(use->value->range),
                                      .actual = "a model without its config",
                                      .expected = "the config's path first: hf(\"config.json\", B = 8)"});
    return;
  }
  const Module *config = scope.frame->item.module->configs.lookup(path->value);
  if (!config)
    return; // reported where it was read
  const ast::Item *imported = config->declared(ast::ItemKind::Workload).front();
  Frame frame;
  frame.item = {config, imported};
  Scope inner;
  inner.frame = &frame;
  for (const ast::WorkItem *item : cast<ast::WorkloadItem>(imported)->items)
    if (item->kind == ast::WorkItemKind::Model)
      modelOf(cast<ast::WorkUse>(item), inner, request);
    else if (item->kind == ast::WorkItemKind::Plan)
      configPlan_ = find(cast<ast::WorkUse>(item)->value, ast::ItemKind::Plan, "plan", *config, noArguments_);
  request.call = use->value->range;
  auto own = elaborator_.evalArguments(cast<ast::CallExpr>(use->value)->args.drop_front(), scope);
  for (StaticArgument &argument : own) {
    StringRef name = argument.name.empty() ? argument.bareName : argument.name;
    llvm::erase_if(request.arguments, [&](const StaticArgument &known) { return known.name == name; });
    request.arguments.push_back(std::move(argument));
  }
}

void WorkloadResolver::modelOf(const ast::WorkUse *use, Scope &scope, Request &request) {
  if (namesConfig(use->value) && !scope.frame->item.module->find("hf"))
    return configModel(use, scope, request);
  llvm::ArrayRef<ast::Arg> args;
  request.model = find(use->value, ast::ItemKind::Model, "model", *scope.frame->item.module, args);
  request.call = use->value->range;
  if (request.model)
    request.arguments = elaborator_.evalArguments(args, scope);
}

void WorkloadResolver::planOf(const ast::WorkUse *use, Scope &scope) {
  llvm::ArrayRef<ast::Arg> args;
  plan_ = find(use->value, ast::ItemKind::Plan, "plan", *scope.frame->item.module, args);
  planCall_ = use->value->range;
  if (plan_)
    planArguments_ = elaborator_.evalArguments(args, scope);
}

/// The value of a key that takes a whole number of at least `least`; nothing, reported, if it is none.
std::optional<int64_t> WorkloadResolver::wholeNumber(const ast::KeyValue &item, int64_t least, Scope &scope) {
  EvalResult value = elaborator_.evalStatic(item.value, scope);
  DimExpr size = value.isStatic() ? value.value.asSize(context_.dims) : DimExpr();
  auto number = size ? size.integer() : std::nullopt;
  if (number && *number >= least && size.size())
    return size.size();
  if (number)
    diags_.report(item.value->range,
                  diag::OptionOutOfRange{.key = item.key.text, .value = toString(*number), .least = least});
  else if (value.isStatic() && !value.value.isUnknown())
    diags_.report(item.value->range, diag::NotUsableHere{.expression = sources_.text(item.value->range),
                                                         .actual = value.value.kindName(),
                                                         .expected = "a whole number"});
  return std::nullopt;
}

/// `adamw(lr = 1e-4)`, or a null expression for `none`. Names and arguments are checked even where nothing trains.
void WorkloadResolver::optimizerOf(const ast::Expr *value, Scopes scopes, SourceRange where, Scope &scope,
                                   std::vector<OptimizerChoice> &choices) {
  OptimizerChoice choice;
  choice.scopes = std::move(scopes);
  choice.where = where;
  if (value && value->kind != ast::ExprKind::None) {
    llvm::ArrayRef<ast::Arg> args;
    choice.item = find(value, ast::ItemKind::Optimizer, "optimizer", *scope.frame->item.module, args);
    if (!choice.item)
      return;
    choice.arguments = elaborator_.evalArguments(args, scope);
    Scope inner;
    Frame frame;
    frame.item = choice.item;
    inner.frame = &frame;
    if (!elaborator_.bindStatics(choice.item.item->name.text, cast<ast::LayerItem>(choice.item.item)->signature.statics,
                                 choice.arguments, inner, value->range))
      return;
  }
  choices.push_back(std::move(choice));
}

void WorkloadResolver::train(const ast::WorkMode *mode, Scope &scope, Request &request) {
  request.settings.mode = Mode::Train;
  request.settings.trainAt = mode->range;
  for (const ast::KeyValue &item : mode->options.items) {
    checkKey(item, "train", {"optimizer", "clip", "steps"}, diags_);
    if (item.key.text == "optimizer") {
      optimizerOf(item.value, {}, item.range, scope, request.lastOptimizer);
    } else if (item.key.text == "steps") {
      if (auto steps = wholeNumber(item, 1, scope); steps && *steps > 1)
        diags_.report(item.value->range, diag::NotUsableHere{.expression = sources_.text(item.value->range),
                                                             .actual = "more than one step",
                                                             .expected = "`steps = 1`: a trace is one step"});
    } else if (item.key.text == "clip") {
      clip(item, scope, request);
    }
  }
}

void WorkloadResolver::clip(const ast::KeyValue &item, Scope &scope, Request &request) {
  EvalResult value = elaborator_.evalStatic(item.value, scope);
  if (!value.isStatic() || value.value.isUnknown())
    return;
  auto number = value.value.asNumber(context_.dims);
  if (number && *number > 0)
    request.plan.plan.clip = *number;
  else
    diags_.report(item.value->range,
                  diag::NotUsableHere{.expression = sources_.text(item.value->range),
                                      .actual = number ? "no positive number" : value.value.kindName(),
                                      .expected = "the largest norm of the gradients, such as 1.0"});
}

void WorkloadResolver::mode(const ast::WorkMode *mode, Scope &scope, Request &request) {
  switch (mode->mode) {
  case ast::RunMode::Train:
    return train(mode, scope, request);
  case ast::RunMode::Prefill:
    request.settings.mode = Mode::Prefill;
    for (const ast::KeyValue &item : mode->options.items) {
      checkKey(item, "prefill", {"past"}, diags_);
      if (auto past = wholeNumber(item, 0, scope))
        request.settings.past = *past;
    }
    return;
  case ast::RunMode::Decode:
    request.settings.mode = Mode::Decode;
    for (const ast::KeyValue &item : mode->options.items) {
      checkKey(item, "decode", {"past", "steps"}, diags_);
      auto value = wholeNumber(item, item.key.text == "steps" ? 1 : 0, scope);
      if (!value)
        continue;
      if (item.key.text == "past")
        request.settings.past = *value;
      else if (item.key.text == "steps" && *value > 1) {
        SourceRange at = item.range;
        request.refusals.push_back([at](Diagnostics &diags) { diags.report(at, diag::DecodeStepsNotYet{}); });
      }
    }
    return;
  case ast::RunMode::Forward:
    return;
  }
}

std::optional<Override> WorkloadResolver::overrideOf(const ast::Selector &target, const ast::Expr *value, Scope &scope,
                                                     SourceRange where, std::string text) {
  auto pattern = evaluateSelector(target, elaborator_, scope, context_, diags_, text);
  if (!pattern)
    return std::nullopt;
  Override result;
  result.parameter = pattern->parts.back().name;
  pattern->parts.pop_back();
  result.pattern = std::move(*pattern);
  result.value = value;
  result.where = where;
  result.text = std::move(text);
  return result;
}

bool WorkloadResolver::resolve(NamedItem workload, llvm::ArrayRef<CommandLineSetting> settings, Request &request) {
  Frame frame;
  frame.item = workload;
  Scope scope;
  scope.frame = &frame;
  std::vector<CommandLineSetting> planSettings;
  for (const CommandLineSetting &setting : settings) {
    StringRef first = setting.target.parts[0].name.text;
    if (first == "plan" && setting.target.parts.size() == 2) {
      planSettings.push_back(setting);
      continue;
    }
    ast::Selector target = setting.target;
    if (first == "model")
      target.parts = target.parts.drop_front();
    if (target.parts.empty()) {
      diags_.report(setting.where, diag::SettingMalformed{.setting = setting.text});
      continue;
    }
    if (auto one = overrideOf(target, setting.value, scope, setting.where, setting.text)) {
      one->fromCommandLine = true;
      request.settings.overrides.push_back(std::move(*one));
    }
  }

  auto *declaration = llvm::dyn_cast<ast::WorkloadItem>(workload.item);
  if (!declaration) {
    request.model = workload;
    if (!planSettings.empty())
      diags_
          .report(planSettings[0].where, diag::UnknownOverride{.setting = planSettings[0].text,
                                                               .model = "this workload",
                                                               .parameter = planSettings[0].target.parts[1].name.text})
          .note("it has no plan");
    return true;
  }
  if (!elaborator_.bindStatics(declaration->name.text, declaration->statics, {}, scope, declaration->name.range))
    return false;
  // `model`, `plan`, … in whatever order they stand.
  const ast::WorkItem *seen[16] = {};
  for (const ast::WorkItem *item : declaration->items) {
    bool once = item->kind == ast::WorkItemKind::Model || item->kind == ast::WorkItemKind::Plan ||
                item->kind == ast::WorkItemKind::Mode || item->kind == ast::WorkItemKind::Ranks ||
                item->kind == ast::WorkItemKind::Routing;
    const ast::WorkItem *&other = seen[static_cast<size_t>(item->kind)];
    if (once && other) {
      diags_.report(item->range, diag::StatementTwice{}).noteAt(other->range, "the other one is here");
      continue;
    }
    other = item;
    SourceRange range = item->range;
    switch (item->kind) {
    case ast::WorkItemKind::Let:
      for (const ast::Bind &bind : cast<ast::WorkLet>(item)->binds) {
        EvalResult value = elaborator_.evalStatic(bind.value, scope);
        scope.values[bind.name.text] = value.isStatic() ? value.value : StaticValue{UnknownStatic()};
      }
      break;
    case ast::WorkItemKind::Model:
      modelOf(cast<ast::WorkUse>(item), scope, request);
      break;
    case ast::WorkItemKind::Plan:
      planOf(cast<ast::WorkUse>(item), scope);
      break;
    case ast::WorkItemKind::Mode:
      mode(cast<ast::WorkMode>(item), scope, request);
      break;
    case ast::WorkItemKind::Sweep: {
      auto *sweep = cast<ast::WorkSweep>(item);
      for (const ast::SweepVar &var : sweep->vars) {
        elaborator_.evalStatic(var.values, scope);
        scope.values[var.name.text] = StaticValue{UnknownStatic()};
      }
      if (sweep->where)
        elaborator_.evalStatic(sweep->where, scope);
      request.refusals.push_back([range](Diagnostics &diags) { diags.report(range, diag::SweepNotYet{}); });
      break;
    }
    case ast::WorkItemKind::Ranks: {
      auto *ranks = cast<ast::WorkRanks>(item);
      EvalResult value = elaborator_.evalStatic(ranks->count, scope);
      DimExpr size = value.isStatic() ? value.value.asSize(context_.dims) : DimExpr();
      request.ranksAt = range;
      auto number = size ? size.integer() : std::nullopt;
      if (number && *number >= 1 && *number <= (Int128(1) << 31))
        request.ranks = *size.size();
      else if (number)
        diags_.report(ranks->count->range, diag::SizeOutOfRange{.what = "ranks", .value = toString(*number)});
      break;
    }
    case ast::WorkItemKind::Routing:
      request.routing = RoutingEvaluator(elaborator_, sources_, diags_, context_, request.refusals)
                            .evaluate(*cast<ast::WorkRouting>(item), scope);
      break;
    case ast::WorkItemKind::Set: {
      auto *set = cast<ast::WorkSet>(item);
      if (auto one = overrideOf(set->target, set->value, scope, range, sources_.text(range).str()))
        request.settings.overrides.push_back(std::move(*one));
      break;
    }
    case ast::WorkItemKind::Optimizer: {
      auto *optimizer = cast<ast::WorkOptimizer>(item);
      Scopes scopes;
      for (const ast::Selector &selector : optimizer->in)
        if (auto pattern =
                evaluateSelector(selector, elaborator_, scope, context_, diags_, sources_.text(selector.range))) {
          request.plan.mentions.push_back({{}, false, *pattern, selector.range});
          scopes.push_back(std::move(*pattern));
        }
      optimizerOf(optimizer->value, std::move(scopes), range, scope, request.settings.optimizers);
      break;
    }
    case ast::WorkItemKind::Emit: {
      auto *emit = cast<ast::WorkEmit>(item);
      static constexpr StringRef kFormats[] = {"chakra", "json", "dot", "bundle"};
      if (!llvm::is_contained(kFormats, emit->format.text)) {
        auto builder = diags_.report(emit->format.range, diag::UnknownKey{.where = "emit", .key = emit->format.text});
        builder.note("formats: " + llvm::join(llvm::ArrayRef(kFormats), " "));
      } else if (emit->format.text != "chakra") {
        std::string format = emit->format.text.str();
        request.refusals.push_back(
            [range, format](Diagnostics &diags) { diags.report(range, diag::EmitNotYet{.format = format}); });
      }
      for (const ast::KeyValue &option : emit->options.items) {
        checkKey(option, "emit", {"dir"}, diags_);
        auto *text = llvm::dyn_cast<ast::StringLit>(option.value);
        if (!text || text->value.empty() || text->value.starts_with("/") || text->value.contains(".."))
          diags_.report(option.value->range, diag::NotUsableHere{.expression = sources_.text(option.value->range),
                                                                 .actual = "no folder below the output",
                                                                 .expected = "a relative path such as \"llama3\""});
        else
          request.outputFolder = text->value.str();
      }
      break;
    }
    }
  }
  if (!seen[static_cast<size_t>(ast::WorkItemKind::Model)])
    diags_.report(declaration->name.range, diag::WorkloadWithoutModel{.workload = declaration->name.text})
        .help("model llama3_8b(B = 8)");
  if (plan_ && hasSyntaxError(*plan_.item, diags_))
    return false;
  if (plan_) {
    for (const CommandLineSetting &setting : planSettings) {
      EvalResult value = elaborator_.evalStatic(setting.value, scope);
      StringRef name = setting.target.parts[1].name.text;
      auto &statics = cast<ast::PlanItemDecl>(plan_.item)->statics;
      if (llvm::none_of(statics, [&](const ast::StaticParam &param) { return param.name.text == name; })) {
        std::vector<StringRef> names;
        for (const ast::StaticParam &param : statics)
          names.push_back(param.name.text);
        auto builder = diags_.report(
            setting.where,
            diag::UnknownOverride{.setting = setting.text, .model = plan_.item->name.text, .parameter = name});
        builder.note("parameters: " + llvm::join(names, " "));
        continue;
      }
      llvm::erase_if(planArguments_,
                     [&](const StaticArgument &known) { return known.name == name || known.bareName == name; });
      planArguments_.push_back({name, {}, value.value, setting.where});
    }
    plans_.evaluate(plan_, planArguments_, planCall_, request.ranks, request.ranksAt, PlanEvaluator::Check::WithSizes,
                    request.plan);
  } else if (request.ranks > 1 && !seen[static_cast<size_t>(ast::WorkItemKind::Plan)]) {
    diags_.report(request.ranksAt, diag::RanksWithoutPlan{.ranks = request.ranks})
        .help("plan p, with `plan p { mesh dp = * }` in this file");
  }
  if (configPlan_) {
    // Behind the plan's own rules, which win.
    EvaluatedPlan stored;
    plans_.evaluate(configPlan_, {}, {}, 0, {}, PlanEvaluator::Check::NamesOnly, stored);
    llvm::append_range(request.plan.precision.rules, stored.precision.rules);
  }
  return bool(request.model);
}

/// What the plan says beyond elaboration, in the program's own names.
void completeProgram(Program &program, const Request &request, const SourceManager &sources, Diagnostics &diags) {
  PlanCompleter(program, sources, diags).run(request.plan);
  program.routing = request.routing;
  checkRouting(program, diags);
  forgetTypes(program);
  bool cached = program.mode == Mode::Prefill || program.mode == Mode::Decode;
  if (cached && program.plan.microBatches != 1)
    diags.report(request.plan.microbatchAt, diag::MicrobatchNotYet{});
  if (program.mode != Mode::Train)
    return;
  program.plan.clip = request.plan.plan.clip;
  program.scalars.push_back(program.context->name("loss"));
  if (program.plan.clip > 0)
    for (StringRef name : {"grad_norm", "clip_scale"})
      program.scalars.push_back(program.context->name(name));
}

} // namespace

ResolvedWorkload stg::resolveWorkload(const WorkloadSource &source, llvm::ArrayRef<CommandLineSetting> settings,
                                      SourceManager &sources, Diagnostics &diags, int64_t maxUnits) {
  ResolvedWorkload result;
  result.name = source.name();
  result.context = std::make_shared<IRContext>();
  Program scratch(result.context);
  Request request;
  Elaborator statics(sources, diags, scratch, request.settings);
  WorkloadResolver resolver(sources, diags, *result.context, statics);
  size_t errors = diags.numErrors();
  bool resolved = resolver.resolve(source.item, settings, request);
  request.settings.precision = request.plan.precision;
  llvm::append_range(request.settings.optimizers, request.lastOptimizer);
  if (request.plan.microbatch)
    request.settings.microBatching = microBatching(request.plan, *result.context);
  request.settings.maxUnits = maxUnits;
  result.outputFolder = request.outputFolder;
  if (resolved && diags.numErrors() == errors) {
    result.program = elaborateModel(request.model, request.arguments, request.call, request.settings, result.context,
                                    sources, diags, result.stats);
    if (result.program) {
      completeProgram(*result.program, request, sources, diags);
    }
  }
  // Last, so that everything a statement mentions has been checked before it is refused.
  for (const EvaluatedPlan::Refusal &refusal : request.plan.refusals) {
    auto oneRank = [&](const std::string &name) {
      const MeshAxis *axis = request.plan.mesh.findAxis(name);
      return axis && axis->size == 1;
    };
    if (refusal.axes.empty() || !llvm::all_of(refusal.axes, oneRank))
      refusal.report(diags);
  }
  for (auto &refuse : request.refusals)
    refuse(diags);
  if (diags.numErrors() != errors)
    result.program.reset();
  return result;
}

void stg::checkPlans(const Module &module, SourceManager &sources, Diagnostics &diags) {
  for (const ast::Item *item : module.declared(ast::ItemKind::Plan)) {
    if (hasSyntaxError(*item, diags))
      continue;
    auto context = std::make_shared<IRContext>();
    Program scratch(context);
    ElaborateSettings settings;
    Elaborator elaborator(sources, diags, scratch, settings);
    EvaluatedPlan plan;
    PlanEvaluator(elaborator, sources, diags, *context)
        .evaluate({&module, item}, {}, item->name.range, 0, {}, PlanEvaluator::Check::NamesOnly, plan);
  }
}
