//===- Calls.cpp - calling layers -------------------------------------------------===//
// A call binds the dims of the callee's tensor parameters to the dims of the tensors it gets (BindDims.cpp), then its
// static parameters, then walks the body. Nothing of the caller's scope is visible inside.
//===----------------------------------------------------------------------===//
#include "Elaborator.h"
#include "SharedInstance.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

static constexpr unsigned kMaxCallDepth = 128;

static bool isDimParam(const ast::StaticParam &param) {
  return param.type.text == "dim" || llvm::isUpper(param.name.text.front());
}

/// What a path names that can be called. Nothing, without a message, if it is no such thing.
std::optional<LayerValue> Elaborator::calleeOf(llvm::ArrayRef<ast::Name> path, Context &context) {
  LayerValue layer;
  if (path.size() == 1) {
    Scope *where = nullptr;
    if (Variable *variable = findVariable(context.scope, path[0].text, &where)) {
      auto *value = std::get_if<StaticValue>(variable);
      auto *known = value ? value->getIf<LayerPtr>() : nullptr;
      if (!known)
        return std::nullopt;
      if (where->perIteration.contains(path[0].text))
        touchedIndex_ = true;
      return **known;
    }
  }
  NamedItem item = context.scope->frame->item.module->find(path);
  if (item && (item.item->kind == ast::ItemKind::Layer || item.item->kind == ast::ItemKind::Op)) {
    layer.item = item;
    return layer;
  }
  if (item || path.size() != 1)
    return std::nullopt;
  if (auto fn = mapFnFrom(path[0].text); fn && path[0].text != "cast") {
    layer.fn = fn;
    return layer;
  }
  if (auto builtin = builtinFrom(path[0].text)) {
    layer.builtin = builtin;
    return layer;
  }
  return std::nullopt;
}

bool Elaborator::mayCall(SourceRange where) {
  constexpr uint64_t kMaxCalls = 50'000;
  if (tooLarge_)
    return false;
  // A declaration is walked for its own names; what it calls a thousand times over is checked by itself.
  constexpr uint64_t kMaxCallsOfDeclaration = 1'000;
  if (++calls_ <= (abstract_ ? kMaxCallsOfDeclaration : kMaxCalls))
    return true;
  tooLarge_ = true;
  if (!abstract_)
    diags_.report(where, diag::ModelTooLarge{.limit = kMaxCalls})
        .note("`repeat` walks iterations that come out alike once; calls written out are walked each time");
  return false;
}

static const ast::Signature &signatureOf(const ast::Item *item) {
  if (auto *op = llvm::dyn_cast<ast::OpItem>(item))
    return op->signature;
  return cast<ast::LayerItem>(item)->signature;
}

/// Whether an expression denotes tensors, decided without evaluating it.
bool Elaborator::isTensorExpr(const ast::Expr *expr, Scope *scope) {
  switch (expr->kind) {
  case ast::ExprKind::Path: {
    auto *path = cast<ast::PathExpr>(expr);
    if (path->parts.size() != 1)
      return false;
    Variable *variable = findVariable(scope, path->parts[0].text);
    return variable && (std::holds_alternative<Tensor>(*variable) || std::holds_alternative<Stored>(*variable) ||
                        std::holds_alternative<std::vector<Tensor>>(*variable));
  }
  case ast::ExprKind::Call: {
    auto *call = cast<ast::CallExpr>(expr);
    if (call->callee.size() == 1) {
      if (auto builtin = builtinFrom(call->callee[0].text);
          builtin && !findVariable(scope, call->callee[0].text) && !scope->frame->item.module->find(call->callee)) {
        switch (*builtin) {
        case Builtin::Ceil:
        case Builtin::Floor:
        case Builtin::Pairs:
        case Builtin::Size:
        case Builtin::Width:
        case Builtin::Full:
        case Builtin::Causal:
        case Builtin::Window:
        case Builtin::Chunk:
        case Builtin::Prefix:
        case Builtin::Documents:
        case Builtin::Requests:
          return false;
        case Builtin::Iota:
          return true;
        default:
          break;
        }
      }
    }
    return llvm::any_of(call->args,
                        [&](const ast::Arg &arg) { return !arg.afterSemicolon && isTensorExpr(arg.value, scope); });
  }
  case ast::ExprKind::Reduce: {
    auto *reduce = cast<ast::ReduceExpr>(expr);
    return reduce->op != ast::Reduction::Each || isTensorExpr(reduce->operand, scope);
  }
  case ast::ExprKind::Chain:
    return llvm::any_of(cast<ast::ChainExpr>(expr)->terms,
                        [&](const ast::ChainTerm &term) { return isTensorExpr(term.value, scope); });
  case ast::ExprKind::View:
    return isTensorExpr(cast<ast::ViewExpr>(expr)->base, scope);
  case ast::ExprKind::Unary:
    return isTensorExpr(cast<ast::UnaryExpr>(expr)->operand, scope);
  case ast::ExprKind::If: {
    auto *choice = cast<ast::IfExpr>(expr);
    return isTensorExpr(choice->thenValue, scope) || isTensorExpr(choice->elseValue, scope);
  }
  case ast::ExprKind::Index: {
    auto *path = llvm::dyn_cast<ast::PathExpr>(cast<ast::IndexExpr>(expr)->base);
    if (!path || path->parts.size() != 1)
      return false;
    Variable *variable = findVariable(scope, path->parts[0].text);
    return variable && std::holds_alternative<std::shared_ptr<RepeatIterations>>(*variable);
  }
  default:
    return false;
  }
}

std::optional<StaticArgument> Elaborator::evalStaticArg(const ast::Arg &arg, Context &context) {
  StaticArgument result;
  result.name = arg.name.text;
  result.range = arg.range;
  if (auto *path = llvm::dyn_cast<ast::PathExpr>(arg.value); path && path->parts.size() == 1 && arg.name.empty())
    result.bareName = path->parts[0].text;
  Context below = context.below();
  EvalResult value = decide(arg.value, below);
  if (value.isFailed())
    return std::nullopt;
  if (value.isTensors()) {
    if (!value.tensors[0].unknown)
      withInstances(diags_
                        .report(arg.range, diag::NotUsableHere{.expression = sourceText(arg.value->range),
                                                               .actual = "a tensor",
                                                               .expected = "a static argument"})
                        .note("tensors stand before the `;`, static arguments after it"),
                    context.scope->frame);
    return std::nullopt;
  }
  result.value = value.value;
  return result;
}

EvalResult Elaborator::evalCall(const ast::CallExpr *expr, Context &context, llvm::ArrayRef<DimGroup> each) {
  Scope *scope = context.scope;
  auto callee = calleeOf(expr->callee, context);
  if (!callee) {
    // Something unknown while a declaration is checked: its arguments are checked all the same.
    Variable *variable = expr->callee.size() == 1 ? findVariable(scope, expr->callee[0].text) : nullptr;
    auto *value = variable ? std::get_if<StaticValue>(variable) : nullptr;
    if (value && value->isUnknown()) {
      bool tensors = false;
      for (const ast::Arg &arg : expr->args) {
        Context below = context.below();
        tensors |= !arg.afterSemicolon && isTensorExpr(arg.value, scope);
        eval(arg.value, below);
      }
      return tensors ? EvalResult::of(Tensor::makeUnknown()) : EvalResult::of(StaticValue{UnknownStatic()});
    }
    SourceRange where = expr->callee.front().range.upTo(expr->callee.back().range);
    if (variable || scope->frame->item.module->find(expr->callee)) {
      std::string actual = value ? value->kindName() : variable ? "a tensor" : "a declaration of another kind";
      auto builder = diags_.report(
          where,
          diag::NotUsableHere{.expression = sourceText(where), .actual = actual, .expected = "a layer or an op"});
      if (value && value->isNone())
        builder.note("it is `none` here; ask `" + sourceText(where) + " != none` first");
      withInstances(builder, scope->frame);
    } else {
      ast::Name name{sourceText(where).empty() ? expr->callee[0].text : sources_.text(where), where};
      reportUnknownName(name, scope);
    }
    return EvalResult::failed();
  }
  if (callee->fn)
    return callMapFn(*callee->fn, expr, context, callee->arguments);
  if (callee->builtin)
    return callBuiltin(*callee->builtin, expr, context, callee->arguments);

  const ast::Signature &signature = signatureOf(callee->item.item);
  llvm::SmallVector<const ast::Arg *, 4> tensorArgs, staticArgs;
  auto namesTensor = [&](const ast::Arg &arg) {
    return llvm::any_of(signature.tensors,
                        [&](const ast::TensorParam &param) { return param.name.text == arg.name.text; });
  };
  bool anyTensor = expr->hasSemicolon || llvm::any_of(expr->args, [&](const ast::Arg &arg) {
                     return isTensorExpr(arg.value, scope) || (!arg.name.empty() && namesTensor(arg));
                   });
  for (const ast::Arg &arg : expr->args) {
    bool tensor = !arg.afterSemicolon && (arg.name.empty() ? expr->hasSemicolon || isTensorExpr(arg.value, scope) ||
                                                                 (anyTensor && arg.value->kind == ast::ExprKind::None)
                                                           : namesTensor(arg));
    (tensor ? tensorArgs : staticArgs).push_back(&arg);
  }
  std::vector<StaticArgument> statics;
  bool ok = true;
  for (const ast::Arg *arg : staticArgs) {
    auto value = evalStaticArg(*arg, context);
    if (!value) {
      ok = false;
      continue;
    }
    statics.push_back(*value);
  }
  // What a call says wins over what the configured layer was given.
  auto nameOf = [](const StaticArgument &argument) {
    return argument.name.empty() ? argument.bareName : argument.name;
  };
  for (const StaticArgument &configured : callee->arguments)
    if (nameOf(configured).empty() ||
        llvm::none_of(statics, [&](const StaticArgument &own) { return nameOf(own) == nameOf(configured); }))
      statics.push_back(configured);
  if (tensorArgs.empty() && !signature.tensors.empty()) {
    if (!ok)
      return EvalResult::failed();
    LayerValue configured = *callee;
    configured.arguments = std::move(statics);
    return EvalResult::of(StaticValue{LayerPtr(std::make_shared<LayerValue>(std::move(configured)))});
  }
  llvm::SmallVector<EvalResult, 4> tensors;
  for (const ast::Arg *arg : tensorArgs) {
    Context below = context.below();
    EvalResult value = eval(arg->value, below);
    if (value.isStatic() && !value.value.isNone() && !value.value.isUnknown()) {
      auto tensor = tensorOf(value, arg->value, below); // reports what it is instead
      value = tensor ? EvalResult::of(*tensor) : EvalResult::failed();
    }
    if (value.isStatic() && value.value.isUnknown())
      value = EvalResult::of(Tensor::makeUnknown());
    ok &= !value.isFailed();
    // `f(g(x))` where g has several results hands on all of them.
    if (value.isTensors() && value.tensors.size() > 1) {
      auto tensor = tensorOf(value, arg->value, below);
      ok = false;
    }
    tensors.push_back(std::move(value));
  }
  if (!ok) {
    EvalResult result;
    result.kind = EvalResult::Kind::Tensors;
    size_t count = std::max<size_t>(1, signature.outs.size());
    for (size_t i = 0; i < count; ++i)
      result.tensors.push_back(Tensor::makeUnknown());
    return result;
  }
  if (callee->item.item->kind == ast::ItemKind::Op)
    return callOp(*callee, expr, tensors, tensorArgs, std::move(statics), context);
  return callLayer(*callee, expr, tensors, tensorArgs, std::move(statics), context, each);
}

bool Elaborator::bindStatic(const ast::StaticParam &param, const StaticValue &value, Scope &scope, SourceRange where) {
  StringRef name = param.name.text;
  auto wrong = [&](StringRef expected) {
    auto builder =
        diags_.report(where, diag::WrongArgument{.parameter = name, .expected = expected, .actual = value.kindName()});
    withInstances(builder, scope.frame);
    return false;
  };
  if (value.isUnknown()) {
    if (isDimParam(param))
      scope.dims[name] = {program_.context->name(name),
                          {{program_.context->name(name), program_.context->dims.symbol(name, std::nullopt)}}};
    else
      scope.values[name] = value;
    return true;
  }
  if (llvm::isUpper(name.front())) {
    DimExpr size = value.asSize(program_.context->dims);
    if (!size)
      return wrong("a size");
    auto number = size.rational();
    if (number && (!number->isInteger() || number->numerator < 1 || !size.size())) {
      diags_.report(where, diag::SizeOutOfRange{.what = name,
                                                .value = size.str() + (size.isConstant() || !size.integer()
                                                                           ? ""
                                                                           : " = " + toString(*size.integer()))});
      return false;
    }
    NameId id = program_.context->name(name);
    // A size parameter of the model is a symbol of its own, so that formulas speak of D, not of 4096.
    if (scope.frame == modelFrame_ && number) {
      if (name == "B" && settings_.microBatching) {
        size = microBatchOf(size);
        if (!size)
          return false;
      }
      size = program_.context->dims.symbol(name, *size.size());
      program_.sizes.push_back({id, size});
    }
    scope.dims[name] = {id, {{id, size}}};
    return true;
  }
  if (param.type.text == "dim") {
    auto *group = value.getIf<DimGroup>();
    if (!group)
      return wrong("a dimension");
    scope.dims[name] = *group;
    return true;
  }
  StringRef type = param.type.text;
  // A default shows what is meant where no type is written.
  if (type.empty() && param.value) {
    if (param.value->kind == ast::ExprKind::Bool)
      type = "bool";
    else if (param.value->kind == ast::ExprKind::Float)
      type = "float";
    else if (param.value->kind == ast::ExprKind::Int)
      type = "int";
  }
  bool fits = type.empty() || (type == "int" && value.asSize(program_.context->dims)) ||
              (type == "float" && (value.getIf<double>() || value.asSize(program_.context->dims))) ||
              (type == "bool" && value.getIf<bool>()) || (type == "string" && value.getIf<std::string>()) ||
              (type == "dtype" && value.getIf<ElementType>()) || (type == "mask" && value.getIf<MaskValue>()) ||
              (type == "layer" && (value.getIf<LayerPtr>() || value.isNone())) ||
              (type == "list" && value.getIf<ListPtr>());
  static constexpr StringRef kTypes[] = {"dim", "int", "float", "bool", "string", "dtype", "mask", "layer", "list"};
  if (!llvm::is_contained(kTypes, type) && !type.empty()) {
    auto builder = diags_.report(param.type.range, diag::UnknownStaticType{.name = type});
    builder.note("static types: " + llvm::join(llvm::ArrayRef(kTypes), " "));
    return false;
  }
  if (!fits)
    return wrong(type == "layer" ? "a layer" : type == "dtype" ? "an element type" : ("a " + type).str());
  scope.values[name] = value;
  return true;
}

bool Elaborator::bindStatics(StringRef callee, llvm::ArrayRef<ast::StaticParam> statics,
                             llvm::ArrayRef<StaticArgument> arguments, Scope &scope, SourceRange call) {
  std::vector<const StaticArgument *> given(statics.size(), nullptr);
  bool ok = true;
  std::vector<StringRef> names;
  for (const ast::StaticParam &param : statics)
    names.push_back(param.name.text);
  auto place = [&](size_t i, const StaticArgument &argument) {
    if (given[i]) {
      diags_.report(argument.range, diag::ArgumentTwice{.callee = callee, .parameter = names[i]});
      ok = false;
    }
    given[i] = &argument;
  };
  std::vector<const StaticArgument *> bare;
  for (const StaticArgument &argument : arguments) {
    StringRef name = !argument.name.empty() ? argument.name : argument.bareName;
    auto found = name.empty() ? names.end() : llvm::find(names, name);
    if (found != names.end()) {
      place(static_cast<size_t>(found - names.begin()), argument);
    } else if (argument.name.empty()) {
      bare.push_back(&argument);
    } else {
      auto builder = diags_.report(argument.range, diag::UnknownParameter{.callee = callee, .parameter = name});
      builder.note("parameters: " + llvm::join(names, " "));
      if (auto close = closestName(name, names)) {
        SourceRange written{argument.range.file, argument.range.begin,
                            argument.range.begin + static_cast<uint32_t>(name.size())};
        builder.help("did you mean `" + close->str() + "`?");
        if (sources_.text(written) == name)
          builder.fixit(written, close->str());
      }
      withInstances(builder, scope.frame);
      ok = false;
    }
  }
  // Remaining bare ones fill the `: dim` parameters in order.
  for (const StaticArgument *argument : bare) {
    size_t i = 0;
    while (i < statics.size() && (given[i] || statics[i].type.text != "dim"))
      ++i;
    if (i < statics.size()) {
      place(i, *argument);
      continue;
    }
    std::string text = argument->range.valid() ? sourceText(argument->range) : argument->bareName.str();
    auto builder = diags_.report(argument->range, diag::ArgumentFitsNothing{.callee = callee, .argument = text});
    builder.note("a bare argument fills the parameter of its own name, then the `: dim` parameters in order");
    for (size_t k = 0; k < statics.size(); ++k)
      if (!given[k] && argument->value.getIf<LayerPtr>() && !isDimParam(statics[k]) && statics[k].value &&
          statics[k].value->kind == ast::ExprKind::Path) {
        builder.help("say which: " + names[k].str() + " = " + text)
            .fixit(argument->range, names[k].str() + " = " + text);
        break;
      }
    builder.note("parameters: " + llvm::join(names, " "));
    withInstances(builder, scope.frame);
    ok = false;
  }
  // In order, so that a default may use the parameters before it; a dim bound by a tensor needs no value.
  for (size_t i = 0; i < statics.size(); ++i) {
    const ast::StaticParam &param = statics[i];
    const Override *override_ = nullptr;
    std::string instance = instancePath(scope.frame);
    // Parameters of the model and of instances in it; plans have settings of their own.
    bool overridable = !abstract_ && (scope.frame == modelFrame_ || scope.frame->caller);
    for (size_t k = 0; k < settings_.overrides.size() && overridable; ++k) {
      const Override &candidate = settings_.overrides[k];
      if (candidate.parameter != names[i] || !scope.frame->caller == !candidate.pattern.parts.empty())
        continue;
      if (candidate.pattern.parts.empty() || candidate.pattern.names(instance)) {
        override_ = &candidate;
        overrideUsed_[k] = true;
        if (candidate.pattern.hasIndex() && iteration_)
          reusable_ = false;
      }
    }
    StaticValue value;
    SourceRange where = given[i] ? given[i]->range : param.range;
    if (override_) {
      Context context;
      context.scope = modelFrame_ ? newScope(nullptr, modelFrame_) : &scope;
      EvalResult result = eval(override_->value, context);
      if (!result.isStatic()) {
        ok = false;
        continue;
      }
      value = result.value;
      where = override_->where;
      scope.frame->overridden.push_back((names[i] + " was set by " + override_->text).str());
    } else if (given[i]) {
      value = given[i]->value;
    } else if (llvm::isUpper(names[i].front()) && scope.dims.count(names[i])) {
      continue;
    } else if (!param.value) {
      if (isDimParam(param) && llvm::isUpper(names[i].front()))
        continue; // reported where it is needed (E201), with its place
      auto builder = diags_.report(call, diag::MissingArgument{.callee = callee, .parameter = names[i]});
      builder.note("parameters: " + llvm::join(names, " "));
      withInstances(builder, scope.frame->caller);
      ok = false;
      continue;
    } else if (llvm::isUpper(names[i].front()) && scope.frame->caller) {
      // When first used: `factor H = (KV, R)` is to speak before the default `Dh = D / H` does.
      defaults_.push_back({param.name, param.value, {}, param.range});
      scope.values[names[i]] = LazyLet{&defaults_.back()};
      continue;
    } else {
      Context context;
      context.scope = &scope;
      EvalResult result = eval(param.value, context);
      if (!result.isStatic()) {
        ok = false;
        continue;
      }
      value = result.value;
    }
    ok &= bindStatic(param, value, scope, where);
  }
  return ok;
}

/// E201: the first place in the body that needs a size the call did not give.
static void findUse(StringRef dim, const ast::Block &block, const ast::Decl *&use) {
  for (const ast::Stmt *stmt : block.stmts)
    if (auto *decl = llvm::dyn_cast<ast::DeclStmt>(stmt))
      for (const ast::Decl &one : decl->decls)
        for (const ast::Dim &d : one.dims.dims)
          for (const ast::DimPart &part : d.parts)
            if (part.name.text == dim && !use)
              use = &one;
}

EvalResult Elaborator::callLayer(const LayerValue &layer, const ast::CallExpr *expr, llvm::ArrayRef<EvalResult> tensors,
                                 llvm::ArrayRef<const ast::Arg *> tensorArgs, std::vector<StaticArgument> statics,
                                 Context &context, llvm::ArrayRef<DimGroup> each) {
  const ast::Item *item = layer.item.item;
  StringRef name = item->name.text;
  auto *declaration = cast<ast::LayerItem>(item);
  const ast::Signature &signature = declaration->signature;
  EvalResult failed;
  failed.kind = EvalResult::Kind::Tensors;
  for (size_t i = 0; i < std::max<size_t>(1, signature.outs.size()); ++i)
    failed.tensors.push_back(Tensor::makeUnknown());

  if (llvm::is_contained(callStack_, item)) {
    withInstances(diags_.report(expr->range, diag::RecursiveLayer{.layer = name}), context.scope->frame);
    return failed;
  }
  if (callStack_.size() >= kMaxCallDepth) {
    // Said once, where a model needs it; declarations by themselves are walked as far as it goes.
    if (abstract_)
      return failed;
    withInstances(diags_.report(expr->range, diag::CallsTooDeep{.limit = kMaxCallDepth}), context.scope->frame);
    return failed;
  }
  if (!mayCall(expr->range))
    return failed;
  ensureOpen();
  Frame *frame = frames_.emplace_back(std::make_unique<Frame>()).get();
  frame->caller = context.scope->frame;
  frame->item = layer.item;
  frame->call = expr->range;
  std::string label = expr->label.empty() ? expr->callee.back().text.str() : expr->label.text.str();
  SourceRange calleeRange = expr->callee.front().range.upTo(expr->callee.back().range);
  frame->callText = (expr->label.empty() ? "" : label + ": ") + sourceText(calleeRange) + "(...)";
  frame->path =
      unitBase_ +
      uniqueName(
          stretch_.instances,
          StringRef(frame->caller->path).drop_front(std::min(unitBase_.size(), frame->caller->path.size())).str() +
              label) +
      ".";
  frame->each = frame->caller->each;
  frame->each.append(each.begin(), each.end());
  if (!signature.outs.empty() && !signature.outs[0].dtype.empty())
    frame->returnElement = elementOf(signature.outs[0].dtype);
  if (layer.shared)
    frame->shared = layer.shared.get();
  else if (frame->caller->shared)
    frame->shared = frame->caller->shared->child(StringRef(frame->path).drop_back().rsplit('.').second.str());

  Scope *scope = newScope(nullptr, frame);
  Frame *outerWalk = walking_;
  walking_ = frame;
  callStack_.push_back(item);
  bool ok = bindTensors(signature, name, tensors, tensorArgs, *scope, context, expr->range, *frame, nullptr);
  ok = ok && bindStatics(name, signature.statics, statics, *scope, expr->range);
  // A size that nothing gave: say so at the call, with the place that needs it.
  if (ok)
    for (const ast::StaticParam &param : signature.statics)
      if (llvm::isUpper(param.name.text.front()) && !scope->dims.count(param.name.text) &&
          !scope->values.count(param.name.text)) {
        std::string dim = param.name.text.str();
        auto builder = diags_.report(calleeRange, diag::MissingSize{.layer = name, .dim = dim});
        std::string of;
        for (size_t i = 0; i < tensors.size() && i < signature.tensors.size(); ++i)
          if (tensors[i].isTensors() && !tensors[i].tensors[0].unknown)
            of += (of.empty() ? "" : ", ") + signature.tensors[i].name.text.str() +
                  describe(tensors[i].tensors[0].type, context.scope);
        builder.label(dim + " is not a dimension of " + of + " and has no default");
        const ast::Decl *use = nullptr;
        findUse(dim, declaration->body, use);
        if (use) {
          std::string place = sources_.describe(use->range);
          builder.note(dim + " is used by `weight " + sourceText(use->range) + "` at " +
                       StringRef(place).rsplit(':').first.str());
        }
        std::string text = sourceText(expr->range);
        std::string fixed = text.substr(0, text.size() - 1) + (expr->hasSemicolon ? ", " : "; ") + dim + " = 4 * D)";
        builder.help(fixed).fixit(expr->range, fixed);
        withInstances(builder, context.scope->frame);
        ok = false;
      }
  if (ok) {
    registerLets(declaration->body, *scope);
    block(declaration->body, *scope);
  }
  callStack_.pop_back();
  walking_ = outerWalk;
  if (!ok || frame->failed)
    return failed;

  if (frame->returns.empty()) {
    diags_.report(item->name.range, diag::NoReturn{.layer = name}).note("the last statement of a layer is `return e`");
    return failed;
  }
  const std::vector<EvalResult> &values = frame->returns.front();
  if (!signature.outs.empty() && values.size() != signature.outs.size())
    return failed; // reported at the return
  EvalResult result;
  result.kind = EvalResult::Kind::Tensors;
  bool unknown = frame->returns.size() > 1;
  for (const EvalResult &value : values) {
    if (!value.isTensors() || value.tensors.size() != 1 || value.tensors[0].unknown || unknown) {
      result.tensors.push_back(Tensor::makeUnknown());
      continue;
    }
    bool guessed = llvm::any_of(frame->guessedDims.keys(),
                                [&](StringRef dim) { return value.tensors[0].type.has(program_.context->name(dim)); });
    if (guessed) {
      result.tensors.push_back(Tensor::makeUnknown());
      continue;
    }
    result.tensors.push_back(mergeForCaller(value.tensors[0], scope, context.scope, context, expr->range));
  }
  // What is unknown inside may be declared outside.
  for (size_t i = 0; i < result.tensors.size() && i < signature.outs.size(); ++i)
    if (result.tensors[i].unknown)
      result.tensors[i] = declaredOut(signature.outs[i], *scope, context);
  return result;
}
