//===- BuiltinCalls.cpp - functions that no library declares ---------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace stg;
using llvm::StringRef;

EvalResult Elaborator::maskOf(Builtin builtin, llvm::ArrayRef<StaticValue> arguments, SourceRange where) {
  MaskValue mask;
  mask.kind = *maskKindFrom(info(builtin).spelling);
  DimContext &dims = program_.context->dims;
  auto fail = [&](const StaticValue &value, StringRef expected) {
    if (!value.isUnknown())
      diags_.report(where, diag::NotUsableHere{
                               .expression = sourceText(where), .actual = value.kindName(), .expected = expected});
    return value.isUnknown() ? EvalResult::of(StaticValue{UnknownStatic()}) : EvalResult::failed();
  };
  size_t wanted = builtin == Builtin::Full || builtin == Builtin::Causal ? 0 : builtin == Builtin::Requests ? 2 : 1;
  if (arguments.size() != wanted) {
    diags_.report(where,
                  diag::BuiltinArguments{.function = info(builtin).spelling, .signature = info(builtin).signature});
    return EvalResult::failed();
  }
  if (builtin == Builtin::Documents || builtin == Builtin::Requests) {
    std::vector<std::vector<DimExpr>> lists;
    for (const StaticValue &argument : arguments) {
      auto *list = argument.getIf<ListPtr>();
      if (!list)
        return fail(argument, "a list of whole numbers");
      lists.emplace_back();
      for (const StaticValue &element : **list) {
        DimExpr size = element.asSize(dims);
        if (!size)
          return fail(element, "a list of whole numbers");
        lists.back().push_back(size);
      }
    }
    if (lists.size() == 2 && lists[0].size() != lists[1].size()) {
      diags_
          .report(where,
                  diag::BuiltinArguments{.function = info(builtin).spelling, .signature = info(builtin).signature})
          .note("the two lists are equally long: a request each");
      return EvalResult::failed();
    }
    for (size_t i = 0; i < lists[0].size(); ++i)
      for (auto &list : lists)
        mask.parameters.push_back(list[i]);
    return EvalResult::of(StaticValue{mask});
  }
  for (const StaticValue &argument : arguments) {
    DimExpr size = argument.asSize(dims);
    if (!size)
      return fail(argument, "a whole number of positions");
    if (auto value = size.integer(); value && *value < 1) {
      diags_.report(where, diag::SizeOutOfRange{.what = sourceText(where), .value = toString(*value)});
      return EvalResult::failed();
    }
    mask.parameters.push_back(size);
  }
  return EvalResult::of(StaticValue{mask});
}

void Elaborator::checkMaskLengths(const MaskValue &mask, DimExpr s, DimExpr t, SourceRange where, Frame *frame) {
  bool requests = mask.kind == MaskKind::Requests;
  if (abstract_ || (!requests && mask.kind != MaskKind::Documents))
    return;
  // The mask came with the call of the op whose costs or meaning ask.
  if (frame->item.item->kind == ast::ItemKind::Op) {
    where = frame->call;
    frame = frame->caller;
  }
  // Requests are (queries, past) pairs: their keys are both.
  DimExpr queries = program_.context->dims.constant(0), keys = queries;
  for (size_t i = 0; i < mask.parameters.size(); ++i) {
    keys = keys + mask.parameters[i];
    if (requests && i % 2 == 0)
      queries = queries + mask.parameters[i];
  }
  auto differ = [&](DimExpr covered, DimExpr actual, StringRef what) {
    auto sum = covered.integer();
    auto size = actual.size();
    if (!sum || !size || *sum == *size)
      return false;
    if (!maskFaults_.insert({where.file, where.begin}).second)
      return true;
    auto builder = diags_.report(
        where, diag::MaskLength{.mask = spelling(mask.kind), .covered = toString(*sum), .what = what, .actual = *size});
    builder.note(requests ? "the requests' queries, and their past positions with them, make up all positions"
                          : "the documents make up all positions");
    withInstances(builder, frame);
    return true;
  };
  if (!requests || !differ(queries, s, "queries"))
    differ(keys, t, "keys");
}

EvalResult Elaborator::callMapFn(MapFn fn, const ast::CallExpr *expr, Context &context,
                                 llvm::ArrayRef<StaticArgument> configured) {
  Context below = context.below();
  llvm::SmallVector<std::pair<Tensor, const ast::Expr *>, 2> operands;
  llvm::SmallVector<StaticValue, 2> statics;
  bool failed = false, tensors = false;
  std::vector<EvalResult> values;
  for (const ast::Arg &arg : expr->args) {
    if (!arg.name.empty()) {
      diags_.report(arg.range, diag::UnknownParameter{.callee = spelling(fn), .parameter = arg.name.text});
      return EvalResult::failed();
    }
    values.push_back(eval(arg.value, below));
    failed |= values.back().isFailed();
    tensors |= values.back().isTensors();
  }
  if (failed)
    return EvalResult::failed();
  unsigned count = arity(fn);
  if (values.empty() || (count ? values.size() != count : values.size() < 2)) {
    if (values.empty() && !expr->hasSemicolon) { // `gelu()` is the function itself
      LayerValue layer;
      layer.fn = fn;
      return EvalResult::of(StaticValue{LayerPtr(std::make_shared<LayerValue>(layer))});
    }
    std::string signature = spelling(fn).str() + (count == 1 ? "(a)" : count == 2 ? "(a, b)" : "(a, b, ...)");
    diags_.report(expr->range, diag::BuiltinArguments{.function = spelling(fn), .signature = signature});
    return EvalResult::failed();
  }
  if (tensors) {
    for (size_t i = 0; i < values.size(); ++i) {
      auto tensor = tensorOf(values[i], expr->args[i].value, below);
      if (!tensor)
        return EvalResult::failed();
      operands.push_back({*tensor, expr->args[i].value});
    }
    return combine(fn, operands, expr->range, context);
  }
  // Statics: `sqrt(D)`, `minimum(window, t)`.
  DimContext &dims = program_.context->dims;
  for (const EvalResult &value : values)
    if (value.value.isUnknown())
      return EvalResult::of(StaticValue{UnknownStatic()});
  if ((fn == MapFn::Minimum || fn == MapFn::Maximum) &&
      llvm::all_of(values, [&](const EvalResult &value) { return bool(value.value.asSize(dims)); })) {
    DimExpr result = values[0].value.asSize(dims);
    for (const EvalResult &value : llvm::drop_begin(values))
      result = dims.apply(fn == MapFn::Minimum ? DimFn::Min : DimFn::Max, {result, value.value.asSize(dims)});
    return EvalResult::of(StaticValue{result});
  }
  llvm::SmallVector<double, 2> numbers;
  for (size_t i = 0; i < values.size(); ++i) {
    auto number = values[i].value.asNumber(dims);
    if (!number) {
      if (values[i].value.asSize(dims))
        return EvalResult::of(StaticValue{UnknownStatic()});
      diags_.report(expr->args[i].range, diag::NotUsableHere{.expression = sourceText(expr->args[i].range),
                                                             .actual = values[i].value.kindName(),
                                                             .expected = "a number"});
      return EvalResult::failed();
    }
    numbers.push_back(*number);
  }
  double a = numbers[0];
  auto of = [](double value) { return EvalResult::of(StaticValue{value}); };
  switch (fn) {
  case MapFn::Minimum:
    return of(*std::min_element(numbers.begin(), numbers.end()));
  case MapFn::Maximum:
    return of(*std::max_element(numbers.begin(), numbers.end()));
  case MapFn::Exp:
    return of(std::exp(a));
  case MapFn::Log:
    return of(std::log(a));
  case MapFn::Sqrt:
    return of(std::sqrt(a));
  case MapFn::Rsqrt:
    return of(1 / std::sqrt(a));
  case MapFn::Square:
    return of(a * a);
  case MapFn::Tanh:
    return of(std::tanh(a));
  case MapFn::Sin:
    return of(std::sin(a));
  case MapFn::Cos:
    return of(std::cos(a));
  default:
    diags_.report(expr->range, diag::NotUsableHere{.expression = sourceText(expr->args[0].range),
                                                   .actual = "a number",
                                                   .expected = "a tensor"});
    return EvalResult::failed();
  }
}

EvalResult Elaborator::reportBuiltinArguments(Builtin builtin, const ast::CallExpr *expr, Context &context) {
  auto builder = diags_.report(
      expr->range, diag::BuiltinArguments{.function = info(builtin).spelling, .signature = info(builtin).signature});
  builder.note(info(builtin).meaning.str());
  withInstances(builder, context.scope->frame);
  return EvalResult::failed();
}

EvalResult Elaborator::callBuiltin(Builtin builtin, const ast::CallExpr *expr, Context &context,
                                   llvm::ArrayRef<StaticArgument> configured) {
  DimContext &dims = program_.context->dims;
  Context below = context.below();
  auto wrongArguments = [&] { return reportBuiltinArguments(builtin, expr, context); };

  // Costs ask for sizes of tensors, the op's outputs included, without reading them.
  if (builtin == Builtin::Size || builtin == Builtin::Width) {
    if (expr->args.size() != 1)
      return wrongArguments();
    std::optional<TensorType> type;
    if (auto *path = llvm::dyn_cast<ast::PathExpr>(expr->args[0].value); path && path->parts.size() == 1) {
      StringRef tensor = path->parts[0].text;
      if (auto output = context.scope->frame->outputTypes.find(tensor);
          output != context.scope->frame->outputTypes.end())
        type = output->second;
      else if (Variable *variable = findVariable(context.scope, tensor)) {
        if (auto *value = std::get_if<Tensor>(variable)) {
          if (value->unknown)
            return EvalResult::of(StaticValue{UnknownStatic()});
          type = value->type;
        } else if (auto *stored = std::get_if<Stored>(variable)) {
          type = stored->type;
        } else if (auto *none = std::get_if<StaticValue>(variable); none && none->isNone()) {
          return EvalResult::of(StaticValue{dims.constant(0)}); // an optional tensor that is not there
        }
      }
    }
    if (!type) {
      auto tensor = tensorOf(eval(expr->args[0].value, below), expr->args[0].value, below);
      if (!tensor)
        return EvalResult::failed();
      if (tensor->unknown)
        return EvalResult::of(StaticValue{UnknownStatic()});
      type = tensor->type;
    }
    if (builtin == Builtin::Width)
      return EvalResult::of(
          StaticValue{dims.constant(Rational{bitWidth(type->element) % 8 ? 1 : bitWidth(type->element) / 8,
                                             bitWidth(type->element) % 8 ? 8 / bitWidth(type->element) : 1})});
    DimExpr size = dims.constant(1);
    for (const Dim &dim : type->dims)
      size = size * dim.size;
    return EvalResult::of(StaticValue{size});
  }

  std::vector<EvalResult> values;
  std::vector<const ast::Expr *> exprs;
  size_t tensorCount = 0;
  bool failed = false, takesStatics = info(builtin).signature.contains(';');
  for (const ast::Arg &arg : expr->args) {
    if (!arg.name.empty() && !llvm::is_contained({"start", "p", "mask"}, arg.name.text))
      return wrongArguments();
    // Dims of a builtin need not be declared: `slice(x; S, Sq, 0)` makes one.
    EvalResult value;
    auto *path = llvm::dyn_cast<ast::PathExpr>(arg.value);
    bool mayBeDim = arg.afterSemicolon || (!expr->hasSemicolon && takesStatics);
    if (mayBeDim && path && path->parts.size() == 1 && llvm::isUpper(path->parts[0].text.front()) &&
        !findDim(context.scope, path->parts[0].text)) {
      NameId id = program_.context->name(path->parts[0].text);
      value = EvalResult::of(StaticValue{DimGroup{id, {{id, {}}}}});
    } else {
      value = arg.afterSemicolon ? decide(arg.value, below) : eval(arg.value, below);
    }
    failed |= value.isFailed();
    if (value.isTensors())
      ++tensorCount;
    values.push_back(std::move(value));
    exprs.push_back(arg.value);
  }
  if (failed)
    return EvalResult::failed();
  if (takesStatics && tensorCount && !expr->hasSemicolon)
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i].isStatic() && !values[i].value.isUnknown()) {
        reportBeforeSemicolon(*expr, expr->args[i], values[i].value, info(builtin).spelling, context.scope);
        return EvalResult::failed();
      }
  for (const StaticArgument &argument : configured) {
    values.push_back(EvalResult::of(argument.value));
    exprs.push_back(nullptr);
  }
  auto statics = [&] {
    std::vector<StaticValue> list;
    for (const EvalResult &value : values)
      if (value.isStatic())
        list.push_back(value.value);
    return list;
  };
  switch (builtin) {
  case Builtin::Full:
  case Builtin::Causal:
  case Builtin::Window:
  case Builtin::Chunk:
  case Builtin::Prefix:
  case Builtin::Documents:
  case Builtin::Requests:
    return tensorCount ? wrongArguments() : maskOf(builtin, statics(), expr->range);
  case Builtin::Ceil:
  case Builtin::Floor: {
    if (tensorCount || values.size() != 1)
      return wrongArguments();
    if (values[0].value.isUnknown())
      return values[0];
    if (DimExpr size = values[0].value.asSize(dims))
      return EvalResult::of(StaticValue{dims.apply(builtin == Builtin::Ceil ? DimFn::Ceil : DimFn::Floor, {size})});
    if (auto number = values[0].value.asNumber(dims)) {
      double rounded = builtin == Builtin::Ceil ? std::ceil(*number) : std::floor(*number);
      if (std::abs(rounded) > 9e18)
        return wrongArguments();
      return EvalResult::of(StaticValue{dims.constant(static_cast<int64_t>(rounded))});
    }
    return wrongArguments();
  }
  case Builtin::Pairs: {
    if (tensorCount || values.size() != 3)
      return wrongArguments();
    for (const EvalResult &value : values)
      if (value.value.isUnknown())
        return EvalResult::of(StaticValue{UnknownStatic()});
    auto *mask = values[0].value.getIf<MaskValue>();
    DimExpr s = values[1].value.asSize(dims), t = values[2].value.asSize(dims);
    if (!mask || !s || !t)
      return wrongArguments();
    checkMaskLengths(*mask, s, t, expr->range, context.scope->frame);
    return EvalResult::of(StaticValue{dims.pairs(mask->kind, mask->parameters, s, t)});
  }
  default:
    break;
  }
  return callTensorBuiltin(builtin, expr, context, values, exprs);
}
