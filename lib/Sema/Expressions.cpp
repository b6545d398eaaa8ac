//===- Expressions.cpp - names, views, conditions -----------------------------===//
#include "Elaborator.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

EvalResult Elaborator::eval(const ast::Expr *expr, Context &context) {
  switch (expr->kind) {
  case ast::ExprKind::Int:
    if (auto value = cast<ast::IntLit>(expr)->value)
      return EvalResult::of(StaticValue{program_.context->dims.constant(*value)});
    return EvalResult::failed();
  case ast::ExprKind::Float:
    return EvalResult::of(StaticValue{cast<ast::FloatLit>(expr)->value});
  case ast::ExprKind::String:
    return EvalResult::of(StaticValue{cast<ast::StringLit>(expr)->value.str()});
  case ast::ExprKind::Bool:
    return EvalResult::of(StaticValue{cast<ast::BoolLit>(expr)->value});
  case ast::ExprKind::None:
    return EvalResult::of(StaticValue{NoneStatic()});
  case ast::ExprKind::Path:
    return evalPath(cast<ast::PathExpr>(expr), context);
  case ast::ExprKind::Call:
    return evalCall(cast<ast::CallExpr>(expr), context);
  case ast::ExprKind::List: {
    auto *list = cast<ast::ListExpr>(expr);
    auto values = std::make_shared<std::vector<StaticValue>>();
    if (list->rangeEnd) {
      EvalResult first = eval(list->elements[0], context), last = eval(list->rangeEnd, context);
      auto number = [](const EvalResult &result) -> std::optional<int64_t> {
        if (!result.isStatic())
          return std::nullopt;
        if (auto *size = result.value.getIf<DimExpr>())
          return size->size();
        return std::nullopt;
      };
      auto from = number(first), to = number(last);
      if (!from || !to)
        return EvalResult::failed();
      constexpr int64_t kMaxElements = 1 << 20;
      if (*to - *from > kMaxElements) {
        diags_.report(expr->range, diag::ListTooLong{.count = *to - *from, .limit = kMaxElements});
        return EvalResult::failed();
      }
      for (int64_t i = *from; i < *to; ++i)
        values->push_back({program_.context->dims.constant(i)});
      return EvalResult::of(StaticValue{ListPtr(values)});
    }
    for (const ast::Expr *element : list->elements) {
      EvalResult result = eval(element, context);
      if (result.isTensors() && !result.tensors.empty() && !result.tensors[0].unknown)
        withInstances(
            diags_.report(element->range, diag::NotUsableHere{.expression = sourceText(element->range),
                                                              .actual = "a tensor",
                                                              .expected = "a static value: lists hold no tensors"}),
            context.scope->frame);
      if (!result.isStatic())
        return EvalResult::failed();
      values->push_back(result.value);
    }
    return EvalResult::of(StaticValue{ListPtr(values)});
  }
  case ast::ExprKind::Tuple: {
    // `(H, Dh)`: a composite dim.
    DimGroup group;
    std::string name;
    for (const ast::Expr *element : cast<ast::TupleExpr>(expr)->elements) {
      EvalResult result = eval(element, context);
      if (result.isFailed())
        return result;
      auto *part = result.isStatic() ? result.value.getIf<DimGroup>() : nullptr;
      if (!part) {
        if (!(result.isStatic() && result.value.isUnknown()))
          diags_.report(element->range,
                        diag::NotUsableHere{.expression = sourceText(element->range),
                                            .actual = result.isStatic() ? result.value.kindName() : "a tensor",
                                            .expected = "a dimension"});
        return EvalResult::failed();
      }
      name += (name.empty() ? "(" : ", ") + program_.text(part->name).str();
      group.parts.append(part->parts.begin(), part->parts.end());
    }
    group.name = program_.context->name(name + ")");
    return EvalResult::of(StaticValue{group});
  }
  case ast::ExprKind::Index:
    return evalIndex(cast<ast::IndexExpr>(expr), context);
  case ast::ExprKind::View:
    return evalView(cast<ast::ViewExpr>(expr), context);
  case ast::ExprKind::Unary:
    return evalUnary(cast<ast::UnaryExpr>(expr), context);
  case ast::ExprKind::Chain:
    return evalChain(cast<ast::ChainExpr>(expr), context);
  case ast::ExprKind::Binary:
    return evalBinary(cast<ast::BinaryExpr>(expr), context);
  case ast::ExprKind::Reduce:
    return evalReduce(cast<ast::ReduceExpr>(expr), context);
  case ast::ExprKind::If:
    return evalIf(cast<ast::IfExpr>(expr), context);
  }
  return EvalResult::failed();
}

EvalResult Elaborator::decide(const ast::Expr *expr, Context &context) {
  bool outer = touchedIndex_;
  touchedIndex_ = false;
  EvalResult result = eval(expr, context);
  if (touchedIndex_ && iteration_) {
    // Only what the iteration's own scope can evaluate again is remembered.
    bool repeatable = result.isStatic();
    for (Scope *at = context.scope; repeatable && at != iteration_; at = at->parent)
      repeatable = at->parent && at->frame == iteration_->frame && at->values.empty() && at->dims.empty();
    if (repeatable) {
      observations_.push_back({expr, {}, result.value});
      touchedIndex_ = false;
    }
  }
  touchedIndex_ |= outer;
  return result;
}

Tensor Elaborator::import(const Tensor &tensor, InputSource source) {
  if (tensor.unknown || (tensor.unit.valid() && tensor.unit == units_.current()))
    return tensor;
  ensureOpen();
  if (tensor.unit.valid() && tensor.unit == units_.current())
    return tensor;
  size_t before = units_.inputs().size();
  std::pair<const void *, std::string> variable;
  if (iteration_ && source.scope)
    variable = {source.scope, source.name};
  Tensor local = tensor;
  local.value = units_.local(tensor, variable);
  local.unit = units_.current();
  local.input = InputId();
  if (units_.inputs().size() > before) {
    if (iteration_ && !source.scope && !source.handle)
      reusable_ = false;
    inputSources_.resize(units_.inputs().size());
    inputSources_.back() = std::move(source);
  }
  return local;
}

EvalResult Elaborator::useVariable(Variable &variable, const ast::Name &name, Scope *where, Context &context) {
  if (auto *tensor = std::get_if<Tensor>(&variable)) {
    if (tensor->unknown)
      return EvalResult::of(*tensor);
    Tensor local = import(*tensor, {where, name.text.str(), nullptr});
    return EvalResult::of(splitFactored(local, context, name.range));
  }
  if (auto *value = std::get_if<StaticValue>(&variable)) {
    if (where->perIteration.contains(name.text))
      touchedIndex_ = true;
    return EvalResult::of(*value);
  }
  if (auto *stored = std::get_if<Stored>(&variable)) {
    if (stored->unknown)
      return EvalResult::of(Tensor::makeUnknown());
    ensureOpen();
    Tensor tensor;
    tensor.type = stored->type;
    tensor.value = units_.read(*stored);
    tensor.unit = units_.current();
    return EvalResult::of(splitFactored(tensor, context, name.range));
  }
  if (auto *tensors = std::get_if<std::vector<Tensor>>(&variable)) {
    EvalResult result;
    result.kind = EvalResult::Kind::Tensors;
    for (const Tensor &tensor : *tensors)
      result.tensors.push_back(import(tensor, {where, name.text.str(), nullptr}));
    return result;
  }
  if (std::holds_alternative<std::shared_ptr<RepeatIterations>>(variable))
    diags_.report(name.range, diag::NotUsableHere{.expression = name.text, .actual = "a repeat", .expected = "a value"})
        .help("name an iteration and a value of it: " + name.text.str() + "[0].x");
  return EvalResult::failed();
}

EvalResult Elaborator::evalPath(const ast::PathExpr *expr, Context &context) {
  const ast::Name &name = expr->parts[0];
  if (expr->parts.size() == 1) {
    Scope *where = nullptr;
    if (Variable *variable = findVariable(context.scope, name.text, &where))
      return useVariable(*variable, name, where, context);
    if (const DimGroup *group = findDim(context.scope, name.text, &where)) {
      if (where->perIteration.contains(name.text))
        touchedIndex_ = true;
      return EvalResult::of(StaticValue{*group});
    }
    if (name.text == "mode") {
      if (abstract_)
        return EvalResult::of(StaticValue{UnknownStatic()});
      return EvalResult::of(StaticValue{spelling(settings_.mode).str()});
    }
    if (llvm::is_contained({"forward", "train", "prefill", "decode"}, name.text))
      return EvalResult::of(StaticValue{name.text.str()});
    if (name.text == "past") {
      if (abstract_)
        return EvalResult::of(StaticValue{program_.context->dims.symbol("past", std::nullopt)});
      return EvalResult::of(StaticValue{program_.context->dims.constant(settings_.past)});
    }
    if (auto element = elementTypeFrom(name.text))
      return EvalResult::of(StaticValue{*element});
  }
  NamedItem item = context.scope->frame->item.module->find(expr->parts);
  if (item && item.item->kind == ast::ItemKind::Constant) {
    if (llvm::is_contained(callStack_, item.item)) {
      // Each of a circle may be evaluated first; the message stands at the one that is written first.
      const ast::Item *first = item.item;
      for (auto at = llvm::find(callStack_, item.item); at != callStack_.end(); ++at)
        if ((*at)->range.file == first->range.file && (*at)->range.begin < first->range.begin)
          first = *at;
      diags_.report(first->range, diag::LetDependsOnItself{.name = first->name.text});
      return EvalResult::failed();
    }
    Frame *frame = frames_.emplace_back(std::make_unique<Frame>()).get();
    frame->item = item;
    Context inner;
    inner.scope = newScope(nullptr, frame);
    callStack_.push_back(item.item);
    EvalResult value = eval(cast<ast::ConstantItem>(item.item)->value, inner);
    callStack_.pop_back();
    return value;
  }
  if (auto layer = calleeOf(expr->parts, context)) {
    if (layer->builtin == Builtin::Full || layer->builtin == Builtin::Causal)
      return maskOf(*layer->builtin, {}, expr->range);
    return EvalResult::of(StaticValue{LayerPtr(std::make_shared<LayerValue>(std::move(*layer)))});
  }
  if (item) {
    diags_.report(expr->range, diag::NotUsableHere{.expression = sourceText(expr->range),
                                                   .actual = "a declaration of another kind",
                                                   .expected = "a value or a layer"});
    return EvalResult::failed();
  }
  reportUnknownValue(name, context.scope);
  return EvalResult::failed();
}

EvalResult Elaborator::evalIndex(const ast::IndexExpr *expr, Context &context) {
  auto *path = llvm::dyn_cast<ast::PathExpr>(expr->base);
  if (path && path->parts.size() == 1) {
    Scope *where = nullptr;
    Variable *variable = findVariable(context.scope, path->parts[0].text, &where);
    if (variable && std::holds_alternative<std::shared_ptr<RepeatIterations>>(*variable)) {
      auto repeat = std::get<std::shared_ptr<RepeatIterations>>(*variable);
      bool touched = touchedIndex_;
      EvalResult index = eval(expr->index, context);
      touchedIndex_ = touched;
      if (!index.isStatic() || abstract_ || repeat->failed)
        return EvalResult::of(Tensor::makeUnknown());
      auto *size = index.value.getIf<DimExpr>();
      auto number = size ? size->integer() : std::nullopt;
      if (!number) {
        diags_.report(expr->index->range, diag::NotUsableHere{.expression = sourceText(expr->index->range),
                                                              .actual = index.value.kindName(),
                                                              .expected = "the number of an iteration"});
        return EvalResult::failed();
      }
      if (*number < 0 || *number >= static_cast<Int128>(repeat->iterations.size())) {
        diags_
            .report(expr->index->range, diag::IndexOutside{.index = toString(*number),
                                                           .what = repeat->name,
                                                           .count = repeat->iterations.size()})
            .note(repeat->iterations.empty() ? "no iteration has ended here"
                                             : "only iterations that have ended can be read");
        return EvalResult::failed();
      }
      if (expr->members.size() != 1) {
        diags_
            .report(expr->range, diag::NotUsableHere{.expression = sourceText(expr->range),
                                                     .actual = "an iteration",
                                                     .expected = "a value of it"})
            .help(sourceText(expr->range) + ".x");
        return EvalResult::failed();
      }
      const auto &iteration = repeat->iterations[static_cast<size_t>(*number)];
      auto value = iteration.values->find(expr->members[0].text.str());
      if (value == iteration.values->end()) {
        std::vector<StringRef> names;
        for (auto &[known, tensor] : *iteration.values)
          names.push_back(known);
        diags_.report(expr->members[0].range, diag::UnknownName{.name = expr->members[0].text})
            .note("values of an iteration of " + repeat->name + ": " + llvm::join(names, " "));
        return EvalResult::failed();
      }
      Tensor tensor = value->second;
      if (iteration.unit.valid())
        tensor.unit = iteration.unit;
      InputSource source;
      if (iteration_ && context.scope->frame == iteration_->frame)
        source.handle = expr;
      return EvalResult::of(import(tensor, source));
    }
  }
  EvalResult base = eval(expr->base, context);
  EvalResult index = eval(expr->index, context);
  if (base.isTensors() && !base.tensors.empty()) {
    if (!base.tensors[0].unknown)
      diags_
          .report(expr->range, diag::NotUsableHere{.expression = sourceText(expr->base->range),
                                                   .actual = "a tensor",
                                                   .expected = "a list, or the iterations of a repeat"})
          .help("at(x; S, 0) picks one position of a dimension");
    return EvalResult::failed();
  }
  if (!base.isStatic() || !index.isStatic() || base.value.isUnknown() || index.value.isUnknown())
    return base.isStatic() && index.isStatic() ? EvalResult::of(StaticValue{UnknownStatic()}) : EvalResult::failed();
  auto *list = base.value.getIf<ListPtr>();
  auto *size = index.value.getIf<DimExpr>();
  if (!list || !size) {
    diags_.report(expr->range, diag::NotUsableHere{.expression = sourceText((list ? expr->index : expr->base)->range),
                                                   .actual = (list ? index : base).value.kindName(),
                                                   .expected = list ? "a whole number" : "a list"});
    return EvalResult::failed();
  }
  auto number = size->integer();
  if (!number)
    return EvalResult::of(StaticValue{UnknownStatic()});
  if (*number < 0 || *number >= static_cast<Int128>((*list)->size())) {
    diags_.report(expr->index->range,
                  diag::IndexOutside{.index = toString(*number), .what = "this list", .count = (*list)->size()});
    return EvalResult::failed();
  }
  return EvalResult::of((**list)[static_cast<size_t>(*number)]);
}

EvalResult Elaborator::evalView(const ast::ViewExpr *expr, Context &context) {
  Context below = context.below();
  auto operand = tensorOf(eval(expr->base, below), expr->base, context);
  if (!operand)
    return EvalResult::failed();
  if (operand->unknown) {
    for (const ast::ViewItem &item : expr->items) // names are checked all the same
      (void)item;
    return EvalResult::of(*operand);
  }
  ViewFields fields;
  bool changes = false;
  for (const ast::ViewItem &item : expr->items) {
    ViewItem view;
    DimExpr total = program_.context->dims.constant(1);
    std::optional<DimGroup> fromGroup;
    for (const ast::Name &name : item.from.names) {
      DimGroup group;
      const DimGroup *declared = findDim(context.scope, name.text);
      if (declared && llvm::all_of(declared->parts, [&](const Dim &part) { return operand->type.has(part.name); }))
        group = *declared;
      else
        group = {program_.context->name(name.text), {{program_.context->name(name.text), {}}}};
      for (Dim &part : group.parts) {
        const Dim *dim = operand->type.find(part.name);
        if (!dim) {
          auto builder = diags_.report(
              name.range, diag::NoSuchDimOfTensor{.tensor = sourceText(expr->base->range), .dim = name.text});
          builder.note("it is " + describeOperand(expr->base, operand->type, context.scope));
          withInstances(builder, context.scope->frame);
          return EvalResult::failed();
        }
        view.from.push_back(dim->name);
        total = total * dim->size;
      }
      if (item.from.names.size() == 1)
        fromGroup = group;
    }
    auto mismatch = [&](DimExpr wanted) {
      auto builder = diags_.report(item.range, diag::ViewSizes{.from = sourceText(item.from.range),
                                                               .fromSize = total.str(),
                                                               .to = sourceText(item.to.range),
                                                               .toSize = wanted.str()});
      if (auto a = total.size(), b = wanted.size(); a && b)
        builder.note(total.str() + " is " + std::to_string(*a) + ", " + wanted.str() + " is " + std::to_string(*b));
      withInstances(builder, context.scope->frame);
    };
    if (item.to.names.size() == 1) {
      const ast::Name &name = item.to.names[0];
      const DimGroup *declared = findDim(context.scope, name.text);
      if (declared) {
        if (sameSize(declared->size(program_.context->dims), total) != false) {
          view.to.append(declared->parts.begin(), declared->parts.end());
        } else if (item.from.names.size() == 1 && declared->parts.size() == 1) {
          // A renamed dim keeps its own size, whatever the scope calls by that name: a tensor may carry S = 1500 where
          // the parameter S is 448. Where two meet, E202 says so.
          view.to.push_back({declared->parts[0].name, total});
        } else {
          mismatch(declared->size(program_.context->dims));
          return EvalResult::failed();
        }
      } else {
        view.to.push_back({program_.context->name(name.text), total});
      }
    } else {
      DimExpr known = program_.context->dims.constant(1);
      const ast::Name *derived = nullptr;
      for (const ast::Name &name : item.to.names) {
        const DimGroup *declared = findDim(context.scope, name.text);
        if (declared) {
          known = known * declared->size(program_.context->dims);
          view.to.append(declared->parts.begin(), declared->parts.end());
        } else if (derived) {
          reportUnknownDim(name, context.scope);
          return EvalResult::failed();
        } else {
          derived = &name;
          view.to.push_back({program_.context->name(name.text), {}});
        }
      }
      if (derived) {
        DimExpr rest = total / known;
        auto value = rest.rational();
        if (value && (!value->isInteger() || value->numerator < 1)) {
          mismatch(known);
          return EvalResult::failed();
        }
        for (Dim &dim : view.to)
          if (!dim.size)
            dim.size = rest;
      } else if (sameSize(known, total) == false) {
        mismatch(known);
        return EvalResult::failed();
      }
    }
    auto isFactoring = [&](NameId whole, llvm::ArrayRef<NameId> parts) {
      return llvm::any_of(program_.factorings,
                          [&](const Factoring &f) { return f.whole == whole && llvm::equal(f.parts, parts); });
    };
    llvm::SmallVector<NameId, 2> toNames;
    for (const Dim &dim : view.to)
      toNames.push_back(dim.name);
    view.factored = (view.from.size() == 1 && isFactoring(view.from[0], toNames)) ||
                    (view.to.size() == 1 && isFactoring(view.to[0].name, view.from));
    if (llvm::equal(view.from, toNames))
      continue;
    changes = true;
    fields.items.push_back(std::move(view));
  }
  if (!changes)
    return EvalResult::of(*operand);
  // E206 before the shape rule: the result must not have a dimension twice.
  std::vector<NameId> names;
  for (const Dim &dim : operand->type.dims)
    if (llvm::none_of(fields.items, [&](const ViewItem &item) { return llvm::is_contained(item.from, dim.name); }))
      names.push_back(dim.name);
  for (const ViewItem &item : fields.items)
    for (const Dim &dim : item.to) {
      if (llvm::is_contained(names, dim.name)) {
        auto builder = diags_.report(expr->range, diag::DuplicateDim{.dim = program_.text(dim.name)});
        builder.note(describeOperand(expr->base, operand->type, context.scope) + " has it already");
        withInstances(builder, context.scope->frame);
        return EvalResult::failed();
      }
      names.push_back(dim.name);
    }
  return EvalResult::of(
      emit(OpKind::View, {*operand}, std::move(fields), context, expr->range, {valueName(context, "view")})[0]);
}

EvalResult Elaborator::evalUnary(const ast::UnaryExpr *expr, Context &context) {
  Context below = context.below();
  EvalResult operand = eval(expr->operand, below);
  if (operand.isFailed())
    return operand;
  if (operand.isTensors()) {
    auto tensor = tensorOf(operand, expr->operand, context);
    if (!tensor)
      return EvalResult::failed();
    if (expr->op == ast::UnaryOp::Not) {
      diags_.report(expr->range, diag::NotUsableHere{.expression = sourceText(expr->operand->range),
                                                     .actual = "a tensor",
                                                     .expected = "true or false"});
      return EvalResult::failed();
    }
    auto result = map(MapFn::Neg, {*tensor}, context, expr->range);
    return result ? EvalResult::of(*result) : EvalResult::failed();
  }
  StaticValue &value = operand.value;
  if (value.isUnknown())
    return operand;
  if (expr->op == ast::UnaryOp::Not) {
    if (auto *flag = value.getIf<bool>())
      return EvalResult::of(StaticValue{!*flag});
  } else if (auto *number = value.getIf<double>()) {
    return EvalResult::of(StaticValue{-*number});
  } else if (auto *size = value.getIf<DimExpr>()) {
    return EvalResult::of(StaticValue{*size * -1});
  } else if (auto *group = value.getIf<DimGroup>()) {
    return EvalResult::of(StaticValue{group->size(program_.context->dims) * -1});
  }
  diags_.report(expr->range,
                diag::NotUsableHere{.expression = sourceText(expr->operand->range),
                                    .actual = value.kindName(),
                                    .expected = expr->op == ast::UnaryOp::Not ? "true or false" : "a number"});
  return EvalResult::failed();
}

EvalResult Elaborator::evalIf(const ast::IfExpr *expr, Context &context) {
  Context below = context.below();
  EvalResult cond = decide(expr->cond, below);
  if (cond.isFailed())
    return cond;
  auto *flag = cond.isStatic() ? cond.value.getIf<bool>() : nullptr;
  if (flag)
    return eval(*flag ? expr->thenValue : expr->elseValue, context);
  if (cond.isStatic() && cond.value.isUnknown()) {
    EvalResult a = eval(expr->thenValue, context), b = eval(expr->elseValue, context);
    if (a.isTensors() && b.isTensors() && a.tensors.size() == 1 && b.tensors.size() == 1 && !a.tensors[0].unknown &&
        !b.tensors[0].unknown && a.tensors[0].type == b.tensors[0].type)
      return a;
    if (a.isTensors() || b.isTensors())
      return EvalResult::of(Tensor::makeUnknown());
    return EvalResult::of(StaticValue{UnknownStatic()});
  }
  diags_.report(expr->cond->range, diag::NotUsableHere{.expression = sourceText(expr->cond->range),
                                                       .actual = cond.isStatic() ? cond.value.kindName() : "a tensor",
                                                       .expected = "a condition that is decided at compile time"});
  return EvalResult::failed();
}

std::optional<Tensor> Elaborator::tensorOf(EvalResult result, const ast::Expr *expr, Context &context) {
  if (result.isFailed())
    return std::nullopt;
  if (result.isTensors()) {
    if (result.tensors.size() == 1)
      return result.tensors[0];
    diags_
        .report(expr->range,
                diag::ResultCount{.expression = sourceText(expr->range), .count = result.tensors.size(), .wanted = 1})
        .help("take them apart first: a, b = " + sourceText(expr->range));
    return std::nullopt;
  }
  if (result.value.isUnknown())
    return Tensor::makeUnknown();
  if (result.value.getIf<double>() || result.value.getIf<DimExpr>() || result.value.getIf<DimGroup>())
    return constantTensor(result.value, context, expr->range);
  auto builder = diags_.report(expr->range, diag::NotUsableHere{.expression = sourceText(expr->range),
                                                                .actual = result.value.kindName(),
                                                                .expected = "a tensor"});
  if (auto *layer = result.value.getIf<LayerPtr>())
    builder.help("call it: " + (*layer)->name() + "(x)");
  withInstances(builder, context.scope->frame);
  return std::nullopt;
}

Tensor Elaborator::constantTensor(const StaticValue &value, Context &context, SourceRange where) {
  ConstantFields fields;
  fields.element = elementFor(context);
  if (auto *number = value.getIf<double>())
    fields.number = *number;
  else if (auto *group = value.getIf<DimGroup>())
    fields.value = group->size(program_.context->dims);
  else
    fields.value = *value.getIf<DimExpr>();
  Context below = context.below();
  return emit(OpKind::Constant, {}, fields, below, where, {valueName(below, "constant")})[0];
}

std::string Elaborator::valueName(const Context &context, StringRef suffix) {
  const Frame *frame = context.scope->frame;
  std::string path = StringRef(frame->path).drop_front(std::min(unitBase_.size(), frame->path.size())).str();
  std::string name = context.name.empty() ? "out" : context.name;
  return path + name + (context.inner && !suffix.empty() ? "." + suffix.str() : "");
}
