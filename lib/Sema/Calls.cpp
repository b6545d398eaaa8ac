//===- Calls.cpp - calling layers -------------------------------------------------===//
// A call binds the dims of the callee's tensor parameters to the dims of the tensors it gets (BindDims.cpp), then its
// static parameters (BindStatics.cpp), then walks the body. Nothing of the caller's scope is visible inside.
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
                                                                 (anyTensor && isNoneExpr(arg.value, scope))
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
    if (ok && anyTensor && !arg->afterSemicolon && !value->value.isUnknown()) {
      reportBeforeSemicolon(*expr, *arg, value->value, callee->item.item->name.text, scope);
      ok = false;
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
