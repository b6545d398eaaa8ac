//===- Statements.cpp - blocks and their statements ------------------------------------===//
#include "Elaborator.h"
#include "SharedInstance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

void Elaborator::block(const ast::Block &block, Scope &scope) {
  const ast::Stmt *before = nullptr;
  for (const ast::Stmt *stmt : block.stmts) {
    if (before && before->kind == ast::StmtKind::Return) {
      diags_.report(stmt->range, diag::Unreachable{}).note("the statement above returns");
      return;
    }
    // An `if` that was taken has returned.
    if (scope.frame->returned)
      return;
    statement(stmt, scope);
    before = stmt;
  }
}

void Elaborator::statement(const ast::Stmt *stmt, Scope &scope) {
  switch (stmt->kind) {
  case ast::StmtKind::Let:
    return letStatement(cast<ast::LetStmt>(stmt), scope);
  case ast::StmtKind::Factor:
    return factorStatement(cast<ast::FactorStmt>(stmt), scope);
  case ast::StmtKind::Require:
    return requireStatement(cast<ast::RequireStmt>(stmt), scope);
  case ast::StmtKind::Input:
  case ast::StmtKind::Weight:
  case ast::StmtKind::State:
    return declStatement(cast<ast::DeclStmt>(stmt), scope);
  case ast::StmtKind::Share:
    return shareStatement(cast<ast::ShareStmt>(stmt), scope);
  case ast::StmtKind::Repeat:
    return repeatStatement(cast<ast::RepeatStmt>(stmt), scope);
  case ast::StmtKind::Unit:
    return unitStatement(cast<ast::UnitStmt>(stmt), scope);
  case ast::StmtKind::If:
    return ifStatement(cast<ast::IfStmt>(stmt), scope);
  case ast::StmtKind::Return:
    return returnStatement(cast<ast::ReturnStmt>(stmt), scope);
  case ast::StmtKind::Loss:
    return lossStatement(cast<ast::LossStmt>(stmt), scope);
  case ast::StmtKind::Output:
    return outputStatement(cast<ast::OutputStmt>(stmt), scope);
  case ast::StmtKind::Assign:
    return assignStatement(cast<ast::AssignStmt>(stmt), scope);
  }
}

void Elaborator::letStatement(const ast::LetStmt *stmt, Scope &scope) {
  for (const ast::Bind &bind : stmt->binds) {
    auto it = scope.values.find(bind.name.text);
    auto *lazy = it == scope.values.end() ? nullptr : std::get_if<LazyLet>(&it->second);
    if (lazy && lazy->bind == &bind)
      requireLet(&scope, &scope, bind.name.text);
  }
}

/// Evaluates one binding; the name becomes a dim (upper case) or a static.
void Elaborator::bindLet(const ast::Bind &bind, Scope &scope) {
  StringRef name = bind.name.text;
  Context context;
  context.scope = &scope;
  bool outer = touchedIndex_;
  touchedIndex_ = false;
  EvalResult result = eval(bind.value, context);
  if (touchedIndex_) {
    scope.perIteration.insert(name);
    if (&scope == iteration_ && result.isStatic()) {
      observations_.push_back({bind.value, name, result.value});
      touchedIndex_ = false;
    }
  }
  touchedIndex_ |= outer;
  StaticValue value{UnknownStatic()};
  if (result.isStatic())
    value = result.value;
  else if (result.isTensors() && !result.tensors[0].unknown)
    withInstances(diags_
                      .report(bind.value->range, diag::NotUsableHere{.expression = sourceText(bind.value->range),
                                                                     .actual = "a tensor",
                                                                     .expected = "a static value after `let`"})
                      .help(name.str() + " = " + sourceText(bind.value->range)),
                  scope.frame);
  scope.values.erase(name);
  if (!llvm::isUpper(name.front())) {
    scope.values[name] = value;
    return;
  }
  NameId id = program_.context->name(name);
  DimExpr size = value.asSize(program_.context->dims);
  if (value.isUnknown() || (value.getIf<DimGroup>() && value.getIf<DimGroup>()->parts.empty()))
    size = program_.context->dims.symbol(name, std::nullopt);
  if (!size) {
    auto builder = diags_.report(bind.range, diag::NotUsableHere{.expression = sourceText(bind.value->range),
                                                                 .actual = value.kindName(),
                                                                 .expected = "a size"});
    builder.note("uppercase names are dimensions; use lowercase for other values");
    scope.dims[name] = {id, {{id, program_.context->dims.symbol(name, std::nullopt)}}};
    return;
  }
  auto number = size.rational();
  if (number && (!number->isInteger() || number->numerator < 1 || !size.size())) {
    std::string shown = number->isInteger() ? toString(number->numerator)
                                            : toString(number->numerator) + "/" + toString(number->denominator);
    withInstances(diags_.report(bind.range, diag::SizeOutOfRange{.what = name, .value = shown}), scope.frame);
    size = program_.context->dims.symbol(name, std::nullopt);
  }
  scope.dims[name] = {id, {{id, size}}};
  enumerate(id, bind.from, scope);
}

/// `from (B, S)`, by the caller's names. Where two layers give one name, what either says holds.
void Elaborator::enumerate(NameId dim, llvm::ArrayRef<ast::Name> from, Scope &scope) {
  llvm::SmallVector<NameId, 2> sources;
  for (const ast::Name &source : from)
    if (const DimGroup *group = findDim(&scope, source.text))
      for (const Dim &part : group->parts)
        sources.push_back(part.name);
    else
      reportUnknownDim(source, &scope);
  if (sources.empty())
    return;
  auto known = llvm::find_if(program_.enumerations, [&](const Enumeration &each) { return each.dim == dim; });
  if (known == program_.enumerations.end()) {
    program_.enumerations.push_back({dim, {}});
    known = std::prev(program_.enumerations.end());
  }
  for (NameId source : sources)
    if (source != dim && !llvm::is_contained(known->sources, source))
      known->sources.push_back(source);
}

void Elaborator::factorStatement(const ast::FactorStmt *stmt, Scope &scope) {
  const DimGroup *found = findDim(&scope, stmt->dim.text);
  if (!found)
    return reportUnknownDim(stmt->dim, &scope);
  DimGroup whole = *found;
  if (!scope.frame->factored.insert(stmt->dim.text).second) {
    withInstances(diags_.report(stmt->range, diag::NameTwice{.name = stmt->dim.text}).note("it is factored already"),
                  scope.frame);
    return;
  }
  DimContext &dims = program_.context->dims;
  DimExpr total = whole.size(dims), known = dims.constant(1);
  DimGroup result{whole.name, {}};
  const ast::Name *derived = nullptr;
  std::string knownText;
  for (const ast::Name &part : stmt->parts) {
    if (const DimGroup *declared = findDim(&scope, part.text)) {
      if (declared->parts.empty())
        continue;
      known = known * declared->size(dims);
      knownText += (knownText.empty() ? "" : " * ") + part.text.str();
      // A part may be factored itself: the whole is then its parts.
      result.parts.append(declared->parts.begin(), declared->parts.end());
    } else if (derived) {
      return reportUnknownDim(part, &scope);
    } else {
      derived = &part;
      result.parts.push_back({program_.context->name(part.text), {}});
    }
  }
  DimExpr rest = total / known;
  auto value = rest.rational();
  bool exact = derived ? !value || value->isInteger() : !value || (value->isInteger() && value->numerator == 1);
  if (!exact) {
    auto builder = diags_.report(stmt->range, diag::NotAMultiple{.dim = stmt->dim.text,
                                                                 .size = toString(*total.integer()),
                                                                 .divisor = knownText,
                                                                 .divisorSize = toString(*known.integer())});
    builder.snippet(Snippet::Inline);
    withInstances(builder, scope.frame);
    Int128 divisor = *known.integer(), below = *total.integer() / divisor * divisor;
    std::string nearest =
        derived ? (below > 0 ? toString(below) + ", " : "") + toString(below + divisor) : toString(divisor);
    std::string why;
    for (Frame *at = scope.frame; at; at = at->caller)
      for (const std::string &text : at->overridden)
        if (StringRef(text).starts_with((stmt->dim.text + " ").str()))
          why = text + ".  ";
    builder.note(why + (derived ? "Nearest that work: " : "What works: ") + nearest);
    // What follows in this instance would only say it again.
    scope.frame->returned = scope.frame->failed = true;
    return;
  }
  for (Dim &part : result.parts)
    if (!part.size)
      part.size = rest;
  if (derived)
    scope.dims[derived->text] = {
        program_.context->name(derived->text),
        {result.parts[static_cast<size_t>(
            llvm::find_if(result.parts, [&](const Dim &d) { return d.name == program_.context->name(derived->text); }) -
            result.parts.begin())]}};
  scope.dims[stmt->dim.text] = result;
  if (result.parts.size() > 1 && result.name == whole.name) {
    Factoring factoring;
    factoring.whole = result.name;
    for (const Dim &part : result.parts)
      factoring.parts.push_back(part.name);
    if (!llvm::is_contained(program_.factorings, factoring))
      program_.factorings.push_back(std::move(factoring));
  }
}

void Elaborator::requireStatement(const ast::RequireStmt *stmt, Scope &scope) {
  Context context;
  context.scope = &scope;
  EvalResult holds = decide(stmt->cond, context);
  if (!holds.isStatic() || holds.value.isUnknown())
    return;
  auto *flag = holds.value.getIf<bool>();
  if (!flag) {
    diags_.report(stmt->cond->range, diag::NotUsableHere{.expression = sourceText(stmt->cond->range),
                                                         .actual = holds.value.kindName(),
                                                         .expected = "true or false"});
    return;
  }
  if (*flag)
    return;
  auto builder = diags_.report(stmt->range, diag::RequireFailed{.condition = sourceText(stmt->cond->range)});
  builder.snippet(Snippet::Inline);
  if (stmt->message) {
    // `{top}` in the message is the value of `top`.
    std::string text;
    StringRef rest = stmt->message->value;
    while (!rest.empty()) {
      auto [before, after] = rest.split('{');
      text += before;
      if (before.size() == rest.size())
        break;
      auto [name, tail] = after.split('}');
      DimExpr size;
      if (const DimGroup *group = findDim(&scope, name))
        size = group->size(program_.context->dims);
      else if (Variable *variable = findVariable(&scope, name))
        if (auto *value = std::get_if<StaticValue>(variable))
          size = value->asSize(program_.context->dims);
      auto number = size ? size.integer() : std::nullopt;
      text += number ? toString(*number) : "{" + name.str() + "}";
      rest = tail;
    }
    builder.note(text);
  }
  withInstances(builder, scope.frame);
  for (Frame *at = scope.frame; at; at = at->caller)
    for (const std::string &text : at->overridden)
      builder.note(text);
}

/// A tensor of 2^63 elements or more is a slip of the sizes: said where it is made or declared.
bool Elaborator::checkElements(const TensorType &type, SourceRange where, Scope *scope) {
  DimExpr elements = program_.context->dims.constant(1);
  for (const Dim &dim : type.dims)
    elements = elements * dim.size;
  auto value = elements.integer();
  if (!elements.overflowed() && (!value || elements.size()))
    return true;
  auto builder = diags_.report(
      where, diag::SizeOutOfRange{.what = describe(type, scope), .value = value ? toString(*value) : "past 2^127"});
  builder.note("a tensor has at most 2^63 - 1 elements");
  withInstances(builder, scope->frame);
  return false;
}

void Elaborator::declStatement(const ast::DeclStmt *stmt, Scope &scope) {
  Frame *frame = scope.frame;
  for (const ast::Decl &decl : stmt->decls) {
    StringRef name = decl.name.text;
    std::string path =
        StringRef(frame->path).drop_front(std::min(unitBase_.size(), frame->path.size())).str() + name.str();
    TensorClass cls = stmt->kind == ast::StmtKind::Weight  ? TensorClass::Weight
                      : stmt->kind == ast::StmtKind::State ? TensorClass::Cache
                                                           : TensorClass::Act;
    std::string instance = instancePath(frame);
    auto type = typeOf(decl.dims, decl.dtype, cls, &scope, instance.empty() ? name.str() : instance + "." + name.str());
    if (auto known = scope.values.find(name);
        known != scope.values.end() && !std::holds_alternative<StaticValue>(known->second)) {
      diags_.report(decl.name.range, diag::NameTwice{.name = name});
      continue;
    }
    if (!type) {
      scope.values[name] = Tensor::makeUnknown();
      continue;
    }
    if (stmt->kind == ast::StmtKind::Input) {
      if (frame->item.item->kind != ast::ItemKind::Model) {
        diags_.report(stmt->range, diag::InputOutsideModel{})
            .help("a layer gets its tensors as parameters: layer f(" + name.str() + sourceText(decl.dims.range) + ")");
        scope.values[name] = Tensor::makeUnknown();
        continue;
      }
      if (!checkElements(*type, decl.range, &scope)) {
        scope.values[name] = Tensor::makeUnknown();
        continue;
      }
      Tensor tensor;
      tensor.type = *type;
      tensor.input = InputId(static_cast<uint32_t>(program_.inputs.size()));
      program_.inputs.push_back({program_.context->name(name), *type, decl.range});
      scope.values[name] = tensor;
      continue;
    }
    for (const DimGroup &each : llvm::reverse(frame->each))
      for (const Dim &part : llvm::reverse(each.parts)) {
        if (type->has(part.name)) {
          auto builder = diags_.report(decl.dims.range, diag::DuplicateDim{.dim = program_.text(part.name)});
          builder.note("`each(" + program_.text(part.name).str() + ")` gives every weight inside this dimension");
          withInstances(builder, frame);
          continue;
        }
        type->dims.insert(type->dims.begin(), part);
      }
    if (!checkElements(*type, decl.range, &scope)) {
      scope.values[name] = Tensor::makeUnknown();
      continue;
    }
    bool isState = stmt->kind == ast::StmtKind::State;
    if (frame->shared) {
      auto known = frame->shared->stored.find(name.str());
      if (known != frame->shared->stored.end()) {
        scope.values[name] = known->second;
        continue;
      }
      path = frame->shared->path + name.str();
    }
    ensureOpen();
    bool owned = unitDepth_ > 0 && !(frame->shared && !frame->shared->owned);
    WeightPrecision precision = precisionOf(instance.empty() ? name.str() : instance + "." + name.str());
    Stored stored = owned ? units_.declareOwned(isState, path, *type, precision, decl.name.range)
                          : units_.declareGlobal(isState, frame->shared ? path : frame->path + name.str(), *type,
                                                 precision, decl.name.range);
    if (frame->shared)
      frame->shared->stored[name.str()] = stored;
    scope.values[name] = stored;
  }
}

/// Element types of what training keeps for the weight of this path, and of what is communicated of it.
WeightPrecision Elaborator::precisionOf(StringRef weight) const {
  const Precision &precision = settings_.precision;
  WeightPrecision result;
  result.commWeight = precision.given(TensorClass::CommParams, weight);
  if (settings_.mode != Mode::Train)
    return result;
  result.gradient = precision.of(TensorClass::Grad, weight);
  result.master = precision.of(TensorClass::Master, weight);
  result.moment = precision.of(TensorClass::Moment, weight);
  result.commGradient = precision.given(TensorClass::CommGrad, weight);
  return result;
}

void Elaborator::shareStatement(const ast::ShareStmt *stmt, Scope &scope) {
  Context context;
  context.scope = &scope;
  EvalResult result = eval(stmt->value, context);
  auto *layer = result.isStatic() ? result.value.getIf<LayerPtr>() : nullptr;
  if (!layer || !(*layer)->item) {
    if (!result.isFailed() && !(result.isStatic() && result.value.isUnknown()))
      diags_.report(stmt->value->range,
                    diag::NotUsableHere{.expression = sourceText(stmt->value->range),
                                        .actual = result.isStatic() ? result.value.kindName() : "a tensor",
                                        .expected = "a configured layer, `f(F = 8)`"});
    scope.values[stmt->name.text] = StaticValue{UnknownStatic()};
    return;
  }
  LayerValue shared = **layer;
  shared.shared = std::make_shared<SharedInstance>();
  shared.shared->path =
      StringRef(scope.frame->path).drop_front(std::min(unitBase_.size(), scope.frame->path.size())).str() +
      stmt->name.text.str() + ".";
  shared.shared->owned = unitDepth_ > 0;
  scope.values[stmt->name.text] = StaticValue{LayerPtr(std::make_shared<LayerValue>(std::move(shared)))};
}

void Elaborator::ifStatement(const ast::IfStmt *stmt, Scope &scope) {
  Context context;
  context.scope = &scope;
  EvalResult cond = decide(stmt->cond, context);
  auto *flag = cond.isStatic() ? cond.value.getIf<bool>() : nullptr;
  auto walk = [&](const ast::Block &branch) {
    Scope *inner = newScope(&scope, scope.frame);
    registerLets(branch, *inner);
    block(branch, *inner);
  };
  if (flag) {
    if (*flag)
      walk(stmt->thenBlock);
    else if (stmt->hasElse)
      walk(stmt->elseBlock);
    return;
  }
  if (!cond.isFailed() && !(cond.isStatic() && cond.value.isUnknown())) {
    diags_.report(stmt->cond->range, diag::NotUsableHere{.expression = sourceText(stmt->cond->range),
                                                         .actual = cond.isStatic() ? cond.value.kindName() : "a tensor",
                                                         .expected = "a condition that is decided at compile time"});
    return;
  }
  // Undecided: walk both, and keep what both agree on.
  auto assigned = [&](const ast::Block &branch) {
    // The names are the map's own, which outlive this walk: one that the branch removed is entered again below.
    std::vector<std::pair<Scope *, std::pair<llvm::StringRef, Variable>>> before;
    for (Scope *at = &scope; at; at = at->parent)
      for (auto &[name, variable] : at->values)
        before.push_back({at, {name, variable}});
    bool returned = scope.frame->returned;
    walk(branch);
    scope.frame->returned = returned;
    std::map<std::pair<Scope *, std::string>, Variable> after;
    for (auto &[at, entry] : before) {
      Variable &now = at->values[entry.first];
      auto *a = std::get_if<Tensor>(&entry.second), *b = std::get_if<Tensor>(&now);
      if (b && (!a || a->value != b->value || a->unknown != b->unknown || a->input != b->input || a->unit != b->unit)) {
        after[{at, entry.first.str()}] = now;
        now = entry.second;
      }
    }
    return after;
  };
  auto thenValues = assigned(stmt->thenBlock);
  std::map<std::pair<Scope *, std::string>, Variable> elseValues;
  if (stmt->hasElse)
    elseValues = assigned(stmt->elseBlock);
  for (auto *values : {&thenValues, &elseValues})
    for (auto &[key, variable] : *values) {
      auto other = (values == &thenValues ? elseValues : thenValues).find(key);
      auto *a = std::get_if<Tensor>(&variable);
      Variable &now = key.first->values.find(key.second)->second;
      auto *b = other != (values == &thenValues ? elseValues : thenValues).end() ? std::get_if<Tensor>(&other->second)
                                                                                 : std::get_if<Tensor>(&now);
      if (a && b && !a->unknown && !b->unknown && a->type == b->type)
        now = *a;
      else
        now = Tensor::makeUnknown();
    }
}

void Elaborator::returnStatement(const ast::ReturnStmt *stmt, Scope &scope) {
  Frame *frame = scope.frame;
  frame->returned = true;
  auto *layer = llvm::dyn_cast<ast::LayerItem>(frame->item.item);
  if (!layer || frame->item.item->kind != ast::ItemKind::Layer) {
    diags_.report(stmt->range, diag::ReturnOutsideLayer{});
    return;
  }
  const auto &outs = layer->signature.outs;
  Context context;
  context.scope = &scope;
  context.kernel = units_.nextKernel();
  std::vector<EvalResult> values;
  for (size_t i = 0; i < stmt->values.size(); ++i) {
    context.name = i < outs.size() && !outs[i].name.empty() ? outs[i].name.text.str() : "out";
    context.element = frame->returnElement;
    EvalResult value = eval(stmt->values[i], context);
    // `return f(x)` with several results hands them all on.
    if (value.isTensors() && value.tensors.size() > 1 && stmt->values.size() == 1) {
      for (Tensor &tensor : value.tensors)
        values.push_back(EvalResult::of(tensor));
      break;
    }
    auto tensor = tensorOf(std::move(value), stmt->values[i], context);
    values.push_back(EvalResult::of(tensor ? *tensor : Tensor::makeUnknown()));
  }
  if (!outs.empty() && values.size() != outs.size()) {
    auto builder = diags_.report(
        stmt->range, diag::ReturnCount{.layer = layer->name.text, .actual = values.size(), .declared = outs.size()});
    withInstances(builder, frame);
    return;
  }
  for (size_t i = 0; i < outs.size(); ++i) {
    Tensor &tensor = values[i].tensors[0];
    if (tensor.unknown)
      continue;
    // The declared dims, in their order; `...` stands for what its binding is.
    llvm::SmallVector<NameId, 6> order;
    bool known = true;
    for (const DimGroup &each : frame->each)
      for (const Dim &part : each.parts)
        if (tensor.type.has(part.name))
          order.push_back(part.name);
    for (const ast::Dim &dim : outs[i].dims.dims) {
      llvm::SmallVector<StringRef, 2> names;
      if (dim.ellipsis)
        names.push_back("...");
      for (const ast::DimPart &part : dim.parts)
        names.push_back(part.name.text);
      for (StringRef name : names) {
        const DimGroup *group = findDim(&scope, name);
        if (!group) {
          known = false;
          if (!dim.ellipsis)
            reportUnknownDim({name, dim.range}, &scope);
          continue;
        }
        for (const Dim &part : group->parts)
          if (!llvm::is_contained(order, part.name))
            order.push_back(part.name);
      }
    }
    if (!known)
      continue;
    bool same = order.size() == tensor.type.dims.size() &&
                llvm::all_of(order, [&](NameId dim) { return tensor.type.has(dim); });
    if (!same) {
      auto builder = diags_.report(stmt->values[std::min(i, stmt->values.size() - 1)]->range,
                                   diag::ReturnMismatch{.layer = layer->name.text,
                                                        .actual = describe(tensor.type, &scope),
                                                        .declared = sourceText(outs[i].dims.range)});
      builder.noteAt(outs[i].range, "declared here");
      withInstances(builder, frame);
      tensor = Tensor::makeUnknown();
      continue;
    }
    context.name = !outs[i].name.empty() ? outs[i].name.text.str() : "out";
    tensor = reorder(tensor, order, context, stmt->range);
  }
  frame->returns.push_back(std::move(values));
}

void Elaborator::lossStatement(const ast::LossStmt *stmt, Scope &scope) {
  Context context;
  context.scope = &scope;
  context.kernel = units_.nextKernel();
  context.name = "loss";
  context.element = ElementType::F32;
  // Inference has no loss; its names are checked all the same (at the declaration).
  if (settings_.mode == Mode::Prefill || settings_.mode == Mode::Decode)
    return;
  Context below = context.below();
  below.element.reset(); // the mean is f32; what it is taken of has its own type
  auto tensor = tensorOf(eval(stmt->value, below), stmt->value, context);
  below.element = context.element;
  if (!tensor || tensor->unknown)
    return;
  llvm::SmallVector<NameId, 4> all;
  DimExpr count = program_.context->dims.constant(1);
  for (const Dim &dim : tensor->type.dims) {
    all.push_back(dim.name);
    count = count * dim.size;
  }
  Tensor scalar = *tensor;
  if (!all.empty()) {
    auto total = reduce(ReduceFn::Sum, *tensor, all, below, stmt->range, "sum");
    auto mean = map(MapFn::Div, {*total, constantTensor({count}, below, stmt->range)}, context, stmt->range);
    if (!mean || mean->unknown)
      return;
    scalar = *mean;
  } else if (scalar.type.element != ElementType::F32) {
    scalar = emit(OpKind::Map, {scalar}, MapFields{MapFn::Cast, ElementType::F32}, context, stmt->range,
                  {valueName(context)})[0];
  }
  if (!abstract_)
    units_.addLoss(scalar);
}

void Elaborator::outputStatement(const ast::OutputStmt *stmt, Scope &scope) {
  for (const ast::Name &name : stmt->names) {
    Variable *variable = findVariable(&scope, name.text);
    auto *tensor = variable ? std::get_if<Tensor>(variable) : nullptr;
    if (!variable)
      reportUnknownValue(name, &scope);
    else if (!tensor || tensor->input.valid())
      diags_.report(name.range, diag::NotUsableHere{.expression = name.text,
                                                    .actual = tensor ? "an input" : "no computed tensor",
                                                    .expected = "a tensor that the model computes"});
    else if (!tensor->unknown && !abstract_)
      units_.addOutput(name.text.str(), *tensor);
  }
}
