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

/// What is read of a table is an activation, whatever the table is stored as.
EvalResult Elaborator::gatherRows(const Tensor &data, const Tensor &index, NameId dim, const ast::CallExpr *expr,
                                  Context &context) {
  bool convert = isFloat(data.type.element) && data.type.element != elementFor(context);
  Context below = context.below();
  Context &at = convert ? below : context;
  Tensor rows = emit(OpKind::Gather, {data, index}, GatherFields{dim}, at, expr->range, {valueName(at, "gather")})[0];
  if (!convert)
    return EvalResult::of(rows);
  return EvalResult::of(emit(OpKind::Map, {rows}, MapFields{MapFn::Cast, elementFor(context)}, context, expr->range,
                             {valueName(context, "cast")})[0]);
}

/// For each operand, which of its dims is concatenated into `dim`: the rest of one operand then has all dims of the
/// others' rests, and the sizes add up to `size` (null: not known). Nothing if none or several ways are as good.
static std::optional<std::vector<size_t>> concatDims(llvm::ArrayRef<Tensor> tensors, NameId dim, DimExpr size) {
  std::vector<std::vector<size_t>> found;
  std::vector<size_t> choice(tensors.size(), 0);
  auto fits = [&] {
    DimExpr total;
    for (size_t i = 0; i < tensors.size(); ++i) {
      DimExpr own = tensors[i].type.dims[choice[i]].size;
      total = total ? total + own : own;
    }
    if (size && sameSize(total, size) != true)
      return false;
    for (size_t i = 0; i < tensors.size(); ++i) {
      bool all = true;
      for (size_t k = 0; k < tensors.size(); ++k)
        for (size_t d = 0; d < tensors[k].type.dims.size(); ++d) {
          NameId name = tensors[k].type.dims[d].name;
          if (d == choice[k])
            continue;
          if (name == dim)
            return false;
          all &= tensors[i].type.has(name) && tensors[i].type.dims[choice[i]].name != name;
        }
      if (all)
        return true;
    }
    return false;
  };
  auto search = [&](auto &&self, size_t at) -> void {
    if (at == tensors.size()) {
      if (fits())
        found.push_back(choice);
      return;
    }
    const auto &dims = tensors[at].type.dims;
    for (size_t d = 0; d < dims.size(); ++d)
      if (!tensors[at].type.has(dim) || dims[d].name == dim) {
        choice[at] = d;
        self(self, at + 1);
      }
  };
  // Several operands without the name are few in practice; more would take long to tell apart.
  constexpr size_t kMaxOperands = 6;
  size_t open =
      static_cast<size_t>(llvm::count_if(tensors, [&](const Tensor &tensor) { return !tensor.type.has(dim); }));
  if (open > kMaxOperands || llvm::any_of(tensors, [](const Tensor &tensor) { return tensor.type.dims.empty(); }))
    return std::nullopt;
  search(search, 0);
  if (found.size() == 1)
    return found[0];
  // Among several, all last dims.
  for (const std::vector<size_t> &one : found)
    if (llvm::all_of(llvm::enumerate(one),
                     [&](auto pair) { return pair.value() + 1 == tensors[pair.index()].type.dims.size(); }))
      return one;
  return std::nullopt;
}

EvalResult Elaborator::callBuiltin(Builtin builtin, const ast::CallExpr *expr, Context &context,
                                   llvm::ArrayRef<StaticArgument> configured) {
  DimContext &dims = program_.context->dims;
  StringRef name = info(builtin).spelling;
  Context below = context.below();
  auto wrongArguments = [&] {
    auto builder =
        diags_.report(expr->range, diag::BuiltinArguments{.function = name, .signature = info(builtin).signature});
    builder.note(info(builtin).meaning.str());
    withInstances(builder, context.scope->frame);
    return EvalResult::failed();
  };

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
  bool failed = false;
  for (const ast::Arg &arg : expr->args) {
    if (!arg.name.empty() && !llvm::is_contained({"start", "p", "mask"}, arg.name.text))
      return wrongArguments();
    // Dims of a builtin need not be declared: `slice(x; S, Sq, 0)` makes one.
    EvalResult value;
    auto *path = llvm::dyn_cast<ast::PathExpr>(arg.value);
    if (arg.afterSemicolon && path && path->parts.size() == 1 && llvm::isUpper(path->parts[0].text.front()) &&
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
    return EvalResult::of(StaticValue{dims.pairs(mask->kind, mask->parameters, s, t)});
  }
  default:
    break;
  }

  // The rest takes tensors. Without any: the function itself, configured.
  llvm::SmallVector<Tensor, 2> tensors;
  std::vector<StaticValue> args;
  bool unknown = false;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].isTensors()) {
      auto tensor = tensorOf(values[i], exprs[i], below);
      if (!tensor)
        return EvalResult::failed();
      unknown |= tensor->unknown;
      tensors.push_back(*tensor);
    } else if (!args.empty() ||
               (exprs[i] &&
                llvm::any_of(expr->args,
                             [&](const ast::Arg &arg) { return arg.value == exprs[i] && arg.afterSemicolon; })) ||
               !exprs[i]) {
      unknown |= values[i].value.isUnknown();
      args.push_back(values[i].value);
    } else if (values[i].value.isUnknown()) {
      unknown = true;
    } else {
      args.push_back(values[i].value);
    }
  }
  if (tensors.empty() && builtin != Builtin::Iota && !expr->hasSemicolon && !unknown) {
    LayerValue layer;
    layer.builtin = builtin;
    for (size_t i = 0; i < args.size(); ++i)
      layer.arguments.push_back({"", "", args[i], expr->args[i].range});
    return EvalResult::of(StaticValue{LayerPtr(std::make_shared<LayerValue>(std::move(layer)))});
  }
  if (unknown)
    return EvalResult::of(Tensor::makeUnknown());
  auto one = [&](OpKind kind, llvm::ArrayRef<Tensor> operands, OpFields fields) {
    return EvalResult::of(
        emit(kind, operands, std::move(fields), context, expr->range, {valueName(context, mnemonic(kind))})[0]);
  };
  auto dimArg = [&](size_t i) -> const DimGroup * { return i < args.size() ? args[i].getIf<DimGroup>() : nullptr; };
  // A dim of a tensor, which must have it.
  auto needs = [&](const Tensor &tensor, size_t operand, const DimGroup &group) {
    if (group.parts.size() == 1 && tensor.type.has(group.parts[0].name))
      return true;
    auto builder = diags_.report(expr->range, diag::NoSuchDimOfTensor{.tensor = sourceText(exprs[operand]->range),
                                                                      .dim = program_.text(group.name)});
    builder.note("it is " + describeOperand(exprs[operand], tensor.type, context.scope));
    withInstances(builder, context.scope->frame);
    return false;
  };
  switch (builtin) {
  case Builtin::Identity:
    return tensors.size() == 1 && args.empty() ? EvalResult::of(tensors[0]) : wrongArguments();
  case Builtin::Stop:
    return tensors.size() == 1 && args.empty() ? one(OpKind::Stop, tensors, StopFields()) : wrongArguments();
  case Builtin::Cast: {
    auto *element = args.size() == 1 ? args[0].getIf<ElementType>() : nullptr;
    if (tensors.size() != 1 || !element)
      return wrongArguments();
    return one(OpKind::Map, tensors, MapFields{MapFn::Cast, *element});
  }
  case Builtin::Concat: {
    const DimGroup *group = dimArg(0);
    if (tensors.size() < 2 || !group || args.size() != 1)
      return wrongArguments();
    // Which dim of each operand is concatenated: the one of the result's name if it has it, else the one that makes the
    // others align and the sizes add up: `concat(cls, e[N]; S)`, `concat(q_nope, q_rope; Dk)`.
    NameId dim = group->parts.size() == 1 ? group->parts[0].name : group->name;
    DimExpr declared = group->parts.size() == 1 ? group->parts[0].size : DimExpr();
    // Where every operand has it, the result's is their sum, whatever the scope calls by that name.
    if (llvm::all_of(tensors, [&](const Tensor &tensor) { return tensor.type.has(dim); }))
      declared = DimExpr();
    auto chosen = concatDims(tensors, dim, declared);
    // Without a caller, sizes are symbols of which nobody knows whether they add up.
    if (!chosen && abstract_)
      chosen = concatDims(tensors, dim, DimExpr());
    if (!chosen) {
      std::string described;
      for (size_t i = 0; i < tensors.size(); ++i)
        described += (i ? ", " : "") + describeOperand(exprs[i], tensors[i].type, context.scope);
      if (abstract_ && !declared)
        return EvalResult::of(Tensor::makeUnknown());
      std::string size = declared ? declared.str() : "unknown";
      auto builder = diags_.report(expr->range, diag::ConcatDims{.dim = program_.text(dim), .size = size});
      builder.note(described);
      builder.note("each operand has " + program_.text(dim).str() +
                   ", or one dim that the others lack; their sizes add up to it");
      withInstances(builder, context.scope->frame);
      return EvalResult::failed();
    }
    DimExpr total = dims.constant(0);
    llvm::SmallVector<Tensor, 2> aligned;
    for (size_t i = 0; i < tensors.size(); ++i) {
      Tensor tensor = tensors[i];
      const Dim own = tensor.type.dims[(*chosen)[i]];
      total = total + own.size;
      if (own.name != dim) {
        ViewFields view;
        view.items.push_back({{own.name}, {{dim, own.size}}, false});
        tensor = emit(OpKind::View, {tensor}, std::move(view), below, exprs[i]->range, {valueName(below, "view")})[0];
      }
      aligned.push_back(tensor);
    }
    ConcatFields fields;
    fields.dim = {dim, declared ? declared : total};
    fields.element = elementFor(context);
    return one(OpKind::Concat, aligned, std::move(fields));
  }
  case Builtin::At: {
    const DimGroup *group = dimArg(0);
    DimExpr index = args.size() == 2 ? args[1].asSize(dims) : DimExpr();
    if (tensors.size() != 1 || !group || !index)
      return wrongArguments();
    if (!needs(tensors[0], 0, *group))
      return EvalResult::failed();
    return one(OpKind::At, tensors, AtFields{group->parts[0].name, index});
  }
  case Builtin::Slice: {
    const DimGroup *from = dimArg(0), *to = dimArg(1);
    DimExpr start = args.size() == 3 ? args[2].asSize(dims) : DimExpr();
    if (tensors.size() != 1 || !from || !to || to->parts.size() != 1 || !start)
      return wrongArguments();
    if (!needs(tensors[0], 0, *from))
      return EvalResult::failed();
    if (!to->parts[0].size)
      return wrongArguments();
    return one(OpKind::Slice, tensors, SliceFields{from->parts[0].name, to->parts[0], start});
  }
  case Builtin::Lookup: {
    if (tensors.size() != 2 || !args.empty() || tensors[1].type.dims.empty())
      return wrongArguments();
    return gatherRows(tensors[1], tensors[0], tensors[1].type.dims[0].name, expr, context);
  }
  case Builtin::Gather: {
    const DimGroup *group = dimArg(0);
    if (tensors.size() != 2 || !group || args.empty() || args.size() > 2)
      return wrongArguments();
    if (!needs(tensors[0], 0, *group))
      return EvalResult::failed();
    return gatherRows(tensors[0], tensors[1], group->parts[0].name, expr, context);
  }
  case Builtin::Scatter:
  case Builtin::ScatterAdd:
  case Builtin::OneHot: {
    const DimGroup *group = dimArg(0);
    if (tensors.size() != 2 || !group || group->parts.size() != 1 || !group->parts[0].size ||
        args.size() > (builtin == Builtin::OneHot ? 1u : 2u))
      return wrongArguments();
    ScatterFields fields;
    fields.dim = group->parts[0];
    fields.element = elementFor(context);
    if (args.size() == 2) {
      const DimGroup *replaced = dimArg(1);
      if (!replaced)
        return wrongArguments();
      for (const Dim &part : replaced->parts) {
        if (!needs(tensors[0], 0, {part.name, {part}}))
          return EvalResult::failed();
        fields.replaced.push_back(part.name);
      }
    }
    return one(OpKind::Scatter, tensors, std::move(fields));
  }
  case Builtin::Append: {
    const DimGroup *from = dimArg(0), *into = dimArg(1);
    if (tensors.size() != 2 || !from || !into)
      return wrongArguments();
    if (!needs(tensors[1], 1, *from) || !needs(tensors[0], 0, *into))
      return EvalResult::failed();
    return one(OpKind::Append, tensors, AppendFields{from->parts[0].name, into->parts[0].name});
  }
  case Builtin::Dropout: {
    auto probability = args.size() == 1 ? args[0].asNumber(dims) : std::nullopt;
    if (tensors.size() != 1 || !probability || *probability < 0 || *probability >= 1)
      return wrongArguments();
    if (*probability == 0)
      return EvalResult::of(tensors[0]);
    return one(OpKind::Dropout, tensors, DropoutFields{*probability, units_.nextDropout()});
  }
  case Builtin::Masked: {
    auto *mask = args.size() == 3 ? args[0].getIf<MaskValue>() : nullptr;
    const DimGroup *query = dimArg(1), *key = dimArg(2);
    if (tensors.size() != 1 || !mask || !query || !key)
      return wrongArguments();
    if (!needs(tensors[0], 0, *query) || !needs(tensors[0], 0, *key))
      return EvalResult::failed();
    return one(OpKind::Masked, tensors, MaskedFields{*mask, query->parts[0].name, key->parts[0].name});
  }
  case Builtin::Iota: {
    const DimGroup *group = dimArg(0);
    DimExpr start = args.size() == 2 ? args[1].asSize(dims) : dims.constant(0);
    if (!tensors.empty() || !group || group->parts.size() != 1 || !group->parts[0].size || !start)
      return wrongArguments();
    return one(OpKind::Iota, {}, IotaFields{group->parts[0], start, elementFor(context)});
  }
  default:
    return wrongArguments();
  }
}
