//===- Elaborate.cpp - walking a model, checking declarations -------------------------------===//
#include "stg/Sema/Elaborate.h"
#include "Elaborator.h"
#include "TrainingChecks.h"
#include "UnusedNames.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace stg;
using llvm::cast;
using llvm::StringRef;

bool Elaborator::model(NamedItem item, llvm::ArrayRef<StaticArgument> arguments, SourceRange call) {
  auto *declaration = cast<ast::LayerItem>(item.item);
  size_t errors = diags_.numErrors();
  overrideUsed_.assign(settings_.overrides.size(), false);
  Frame *frame = frames_.emplace_back(std::make_unique<Frame>()).get();
  frame->item = item;
  modelFrame_ = frame;
  Scope *scope = newScope(nullptr, frame);
  program_.name = program_.context->name(declaration->name.text);
  // Every size parameter becomes a symbol of its own as soon as it is bound, so that formulas speak of D, not of 4096.
  bool ok = bindStatics(declaration->name.text, declaration->signature.statics, arguments, *scope, call);
  for (const ast::StaticParam &param : declaration->signature.statics) {
    StringRef name = param.name.text;
    if (!llvm::isUpper(name.front()))
      continue;
    auto it = scope->dims.find(name);
    if (it == scope->dims.end()) {
      if (ok)
        diags_
            .report(call.valid() ? call : param.range, diag::MissingSize{.layer = declaration->name.text, .dim = name})
            .label("has no default")
            .help(declaration->name.text.str() + "(" + name.str() + " = 1024)");
      ok = false;
    }
  }
  if (!ok)
    return false;
  registerLets(declaration->body, *scope);
  callStack_.push_back(item.item);
  block(declaration->body, *scope);
  callStack_.pop_back();
  if (units_.isOpen()) {
    std::string name = anyUnit_ ? "last" : "all";
    units_.close(name, name, -1);
  }
  if (diags_.numErrors() != errors)
    return false;
  if (settings_.mode == Mode::Train && findLoss(item.item->name))
    planOptimizers();
  if (diags_.numErrors() != errors)
    return false;
  units_.finish();
  checkUnused();
  if (settings_.mode == Mode::Train)
    checkTraining(program_, opItems_, sources_, diags_);
  return diags_.numErrors() == errors;
}

/// Weights that nothing reads (training says W211 instead), and states, which would be written for nobody.
void Elaborator::checkUnused() {
  std::vector<bool> weights(program_.weights.size(), false), states(program_.states.size(), false);
  std::set<std::pair<uint32_t, uint32_t>> ownedWeights, ownedStates; // (body, slot) read through a binding
  // Once per body and slot, however many units there are.
  std::map<std::tuple<const Body *, OpKind, uint32_t>, bool> reads;
  auto read = [&](const Body &body, OpKind kind, uint32_t slot) {
    auto [it, inserted] = reads.insert({{&body, kind, slot}, false});
    if (inserted)
      it->second =
          llvm::any_of(body.ops, [&](const Op &op) { return op.kind == kind && op.get<SlotFields>().slot == slot; });
    return it->second;
  };
  // Marks what the slots of a unit that are not its own name, if its body reads them.
  auto markBound = [&](const Body &body, OpKind kind, const auto &slots, const auto &bindings,
                       std::vector<bool> &globals, std::set<std::pair<uint32_t, uint32_t>> &owned) {
    size_t bound = 0;
    for (uint32_t slot = 0; slot < slots.size(); ++slot) {
      if (slots[slot].owned)
        continue;
      const auto &binding = bindings[bound++];
      if (!read(body, kind, slot))
        continue;
      if (auto *other = std::get_if<UnitSlot>(&binding))
        owned.insert({program_.units[other->unit.index].body.index, other->slot});
      else
        globals[std::get<0>(binding).index] = true;
    }
  };
  std::set<uint32_t> walked;
  for (const Unit &unit : program_.units) {
    if (!walked.insert(unit.body.index).second && unit.weights.empty() && unit.states.empty())
      continue;
    const Body &body = program_.body(unit);
    markBound(body, OpKind::Weight, body.weights, unit.weights, weights, ownedWeights);
    markBound(body, OpKind::State, body.states, unit.states, states, ownedStates);
  }
  auto last = [&](NameId name) {
    StringRef text = program_.text(name);
    return text.contains('.') ? text.rsplit('.').second : text;
  };
  bool training = settings_.mode == Mode::Train;
  auto weightUnused = [&](NameId name, SourceRange where) {
    if (!training)
      diags_.report(where, diag::WeightUnused{.weight = last(name)});
  };
  auto stateUnused = [&](NameId name, SourceRange where) {
    diags_.report(where, diag::StateNeverRead{.state = last(name)}).note("what a step writes to it, no step would see");
  };
  for (size_t i = 0; i < weights.size(); ++i)
    if (!weights[i])
      weightUnused(program_.weights[i].name, program_.weights[i].where);
  for (size_t i = 0; i < states.size(); ++i)
    if (!states[i])
      stateUnused(program_.states[i].name, program_.states[i].where);
  for (uint32_t b = 0; b < program_.bodies.size(); ++b) {
    const Body &body = program_.bodies[b];
    for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
      if (body.weights[slot].owned && !read(body, OpKind::Weight, slot) && !ownedWeights.count({b, slot}))
        weightUnused(body.weights[slot].name, body.weights[slot].where);
    for (uint32_t slot = 0; slot < body.states.size(); ++slot)
      if (body.states[slot].owned && !read(body, OpKind::State, slot) && !ownedStates.count({b, slot}))
        stateUnused(body.states[slot].name, body.states[slot].where);
  }
}

StaticValue Elaborator::unknownStatic(const ast::StaticParam &param, Scope &scope) {
  StaticValue unknown{UnknownStatic()};
  if (!param.value || param.value->kind == ast::ExprKind::None || param.value->kind == ast::ExprKind::Bool)
    return unknown;
  Context context;
  context.scope = &scope;
  EvalResult value = eval(param.value, context);
  if (!value.isStatic())
    return unknown;
  // A number may be any other; a layer or a mask by default shows what is expected.
  if (value.value.getIf<double>() || value.value.getIf<LayerPtr>() || value.value.getIf<MaskValue>())
    return value.value;
  if (value.value.asSize(program_.context->dims))
    return StaticValue{program_.context->dims.symbol(param.name.text, std::nullopt)};
  return unknown;
}

void Elaborator::declaration(NamedItem item) {
  abstract_ = true;
  Frame *frame = frames_.emplace_back(std::make_unique<Frame>()).get();
  frame->item = item;
  Scope *scope = newScope(nullptr, frame);
  units_.open("", -1);
  callStack_.push_back(item.item);
  auto *op = llvm::dyn_cast<ast::OpItem>(item.item);
  const ast::Signature &signature = op ? op->signature : cast<ast::LayerItem>(item.item)->signature;

  // Sizes are symbols without values; tensors have the dims of the signature.
  llvm::StringSet<> names;
  auto unique = [&](const ast::Name &name) {
    if (!names.insert(name.text).second)
      diags_.report(name.range, diag::NameTwice{.name = name.text});
  };
  for (const ast::StaticParam &param : signature.statics) {
    unique(param.name);
    StringRef name = param.name.text;
    if (llvm::isUpper(name.front()) || param.type.text == "dim") {
      NameId id = program_.context->name(name);
      scope->dims[name] = {id, {{id, program_.context->dims.symbol(name, std::nullopt)}}};
    }
  }
  for (const ast::TensorParam &param : signature.tensors) {
    unique(param.name);
    std::map<std::string, bool> seen;
    for (const ast::Dim &dim : param.dims.dims)
      for (const ast::DimPart &part : dim.parts)
        if (!seen.insert({part.name.text.str(), true}).second)
          diags_.report(part.name.range, diag::DuplicateDim{.dim = part.name.text});
    TensorType type = unknownType(param.dims, param.dtype, *scope);
    if (param.optional) {
      scope->values[param.name.text] = Tensor::makeUnknown();
      continue;
    }
    Op input;
    input.kind = OpKind::Input;
    input.fields = SlotFields{0};
    scope->values[param.name.text] = units_.add(std::move(input), type, param.name.text.str())[0];
  }
  for (const ast::StaticParam &param : signature.statics)
    if (!scope->dims.count(param.name.text))
      scope->values[param.name.text] = unknownStatic(param, *scope);
    else if (param.value) {
      Context context;
      context.scope = scope;
      eval(param.value, context);
    }

  if (!op) {
    auto *declaration = cast<ast::LayerItem>(item.item);
    registerLets(declaration->body, *scope);
    block(declaration->body, *scope);
    bool faulty = llvm::any_of(diags_.sorted(), [&](const Diagnostic *known) {
      return known->range.file == item.item->range.file && known->range.begin >= item.item->range.begin &&
             known->range.end <= item.item->range.end;
    });
    if (item.item->kind == ast::ItemKind::Layer && frame->returns.empty() && !faulty)
      diags_.report(declaration->name.range, diag::NoReturn{.layer = declaration->name.text})
          .note("the last statement of a layer is `return e`");
    return;
  }

  for (const ast::LetStmt *let : op->lets)
    for (const ast::Bind &bind : let->binds)
      scope->values.insert({bind.name.text, LazyLet{&bind}});
  auto dimsKnown = [&](llvm::ArrayRef<ast::Name> dims) {
    for (const ast::Name &dim : dims)
      if (!findDim(scope, dim.text))
        reportUnknownDim(dim, scope);
  };
  for (const ast::Out &out : signature.outs) {
    for (const ast::Dim &dim : out.dims.dims)
      for (const ast::DimPart &part : dim.parts)
        dimsKnown({part.name});
    if (!out.dtype.empty())
      elementOf(out.dtype);
    TensorType type = unknownType(out.dims, out.dtype, *scope);
    if (!out.name.empty())
      frame->outputTypes[out.name.text] = type;
  }
  Context context;
  context.scope = scope;
  for (const ast::KindOf &kind : op->kinds) {
    dimsKnown(kind.dims);
    auto parsed = factorKindFrom(kind.kind.text);
    if (!kind.along.empty())
      dimsKnown({kind.along});
    for (const ast::Expr *arg : kind.args)
      if (!(parsed == FactorKind::Stream && arg->kind == ast::ExprKind::Path))
        eval(arg, context);
  }
  for (const ast::Expr *formula : {op->flops, op->other, op->bytes, op->where})
    if (formula)
      eval(formula, context);
  for (const ast::Name &saved : op->save) {
    bool known =
        frame->outputTypes.count(saved.text) ||
        llvm::any_of(signature.tensors, [&](const ast::TensorParam &param) { return param.name.text == saved.text; });
    if (!known)
      reportUnknownName(saved, scope);
  }
  if (op->hasDefine) {
    Scope *inner = newScope(scope, frame);
    registerLets(op->define, *inner);
    block(op->define, *inner);
    for (const ast::Out &out : signature.outs)
      if (!inner->values.count(out.name.text))
        diags_.report(op->define.range, diag::DefineIncomplete{.op = op->name.text, .output = out.name.text});
  }
  if (op->gradKind == ast::OpItem::Grad::Block) {
    Scope *inner = newScope(scope, frame);
    if (op->gradParams.size() != signature.outs.size() && op->gradParams.size() > signature.outs.size())
      diags_.report(op->gradParams.back().range,
                    diag::TooManyTensors{.callee = "grad", .count = signature.outs.size()});
    for (size_t i = 0; i < op->gradParams.size() && i < signature.outs.size(); ++i) {
      Op input;
      input.kind = OpKind::Input;
      input.fields = SlotFields{0};
      inner->values[op->gradParams[i].text] =
          units_.add(std::move(input), unknownType(signature.outs[i].dims, signature.outs[i].dtype, *scope),
                     op->gradParams[i].text.str())[0];
    }
    for (const ast::Out &out : signature.outs)
      if (!out.name.empty() && !inner->values.count(out.name.text)) {
        Op input;
        input.kind = OpKind::Input;
        input.fields = SlotFields{0};
        inner->values[out.name.text] =
            units_.add(std::move(input), frame->outputTypes[out.name.text], out.name.text.str())[0];
      }
    // Not on the call stack: the gradient of a rotation is a rotation.
    callStack_.pop_back();
    frame->inGrad = true;
    registerLets(op->grad, *inner);
    block(op->grad, *inner);
    callStack_.push_back(op);
  }
}

/// E602; `parameters`: of the instances that the override names but for their iterations.
static void reportUnusedOverride(const Override &setting, const std::set<StringRef> &parameters, Diagnostics &diags) {
  auto builder = diags.report(setting.where, diag::OverrideMatchesNothing{.setting = setting.text});
  PathPattern named = anyIteration(setting.pattern);
  if (parameters.empty()) {
    builder.note("no instance here is called `" + named.str() + "`");
  } else if (parameters.count(setting.parameter)) {
    builder.note("no iteration of that number has `" + named.str() + "`");
  } else {
    std::vector<StringRef> names(parameters.begin(), parameters.end());
    builder.note("`" + named.str() + "` has no parameter `" + setting.parameter + "`, but: " + llvm::join(names, " "));
    if (auto close = closestName(setting.parameter, names))
      builder.help("did you mean `" + close->str() + "`?");
  }
}

void stg::reportUnknownOverride(const Override &override_, NamedItem model, Diagnostics &diags) {
  auto *declaration = cast<ast::LayerItem>(model.item);
  std::vector<StringRef> names;
  for (const ast::StaticParam &param : declaration->signature.statics)
    names.push_back(param.name.text);
  StringRef text = override_.text;
  auto builder = diags.report(
      override_.where,
      diag::UnknownOverride{.setting = text, .model = declaration->name.text, .parameter = override_.parameter});
  std::string note = "parameters: " + llvm::join(names, " ");
  // `layers` for L: sizes are called by their first letter.
  auto close = closestName(override_.parameter, names);
  if (!close && !override_.parameter.empty())
    for (StringRef name : names)
      if (name.size() == 1 && llvm::toUpper(override_.parameter[0]) == name[0])
        close = name;
  if (close)
    note += ".  help: --set model." + close->str() + "=" + text.split('=').second.str();
  builder.note(note);
}

PathPattern stg::anyIteration(PathPattern pattern) {
  for (PatternPart &part : pattern.parts)
    part.range.reset();
  return pattern;
}

void Elaborator::reportUnusedOverrides(NamedItem model) const {
  for (size_t i = 0; i < settings_.overrides.size(); ++i) {
    const Override &setting = settings_.overrides[i];
    if (overrideUsed_[i])
      continue;
    auto parameters = overrideParameters_.find(i);
    if (setting.pattern.parts.empty())
      reportUnknownOverride(setting, model, diags_);
    else
      reportUnusedOverride(
          setting, parameters == overrideParameters_.end() ? std::set<StringRef>() : parameters->second, diags_);
  }
}

EvalResult Elaborator::evalStatic(const ast::Expr *expr, Scope &scope) {
  Context context;
  context.scope = &scope;
  return eval(expr, context);
}

std::vector<StaticArgument> Elaborator::evalArguments(llvm::ArrayRef<ast::Arg> args, Scope &scope) {
  std::vector<StaticArgument> arguments;
  Context context;
  context.scope = &scope;
  for (const ast::Arg &arg : args)
    if (auto value = evalStaticArg(arg, context))
      arguments.push_back(std::move(*value));
  return arguments;
}

void stg::checkDeclarations(const Module &module, const SourceManager &sources, Diagnostics &diags) {
  ElaborateSettings settings;
  bool trains = llvm::any_of(module.declared(ast::ItemKind::Workload), [](const ast::Item *item) {
    return llvm::any_of(cast<ast::WorkloadItem>(item)->items, [](const ast::WorkItem *line) {
      auto *mode = llvm::dyn_cast<ast::WorkMode>(line);
      return mode && mode->mode == ast::RunMode::Train;
    });
  });
  UnusedValues unusedValues = trains ? UnusedValues::LeaveToTraining : UnusedValues::Report;
  for (const ast::Item *item : module.ast->items) {
    switch (item->kind) {
    case ast::ItemKind::Layer:
    case ast::ItemKind::Op:
    case ast::ItemKind::Optimizer:
    case ast::ItemKind::Model: {
      Program scratch(std::make_shared<IRContext>());
      size_t errors = diags.numErrors();
      Elaborator(sources, diags, scratch, settings).declaration({&module, item});
      // What a fault is about often looks unused.
      if ((item->kind == ast::ItemKind::Layer || item->kind == ast::ItemKind::Model) && diags.numErrors() == errors)
        checkUnusedNames(*cast<ast::LayerItem>(item), unusedValues, diags);
      break;
    }
    default:
      break;
    }
  }
}

std::optional<Program> stg::elaborateModel(NamedItem item, llvm::ArrayRef<StaticArgument> arguments, SourceRange call,
                                           const ElaborateSettings &settings, std::shared_ptr<IRContext> context,
                                           const SourceManager &sources, Diagnostics &diags, PassStats &stats) {
  Program program(std::move(context));
  program.mode = settings.mode;
  Elaborator elaborator(sources, diags, program, settings);
  bool done = elaborator.model(item, arguments, call);
  stats.opVisits += elaborator.opsMade();
  if (!done)
    return std::nullopt;
  elaborator.reportUnusedOverrides(item);
  program.level = Level::Elaborated;
  return program;
}

void stg::forgetTypes(Program &program) {
  for (Body &body : program.bodies)
    for (Value &value : body.values) {
      OpKind kind = body.op(value.def).kind;
      if (kind != OpKind::Input && kind != OpKind::Weight && kind != OpKind::State)
        value.type.reset();
    }
}
