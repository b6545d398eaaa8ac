//===- TensorBuiltins.cpp - builtins that take tensors ---------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;
using llvm::StringRef;

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

/// Indices that are an input of the model say so there.
void Elaborator::helpWithIndex(DiagnosticBuilder &builder, const Tensor &index) {
  NameId name = units_.body().value(units_.local(index)).name;
  for (const ProgramInput &input : program_.inputs)
    if (input.name == name && input.type == index.type) {
      std::string declared = program_.text(name).str() + describe(index.type, nullptr);
      builder.noteAt(input.where, "`" + program_.text(name).str() + "` is declared without an element type")
          .help("input " + declared + ": i32");
    }
}

EvalResult Elaborator::callTensorBuiltin(Builtin builtin, const ast::CallExpr *expr, Context &context,
                                         llvm::ArrayRef<EvalResult> values, llvm::ArrayRef<const ast::Expr *> exprs) {
  DimContext &dims = program_.context->dims;
  Context below = context.below();
  auto wrongArguments = [&] { return reportBuiltinArguments(builtin, expr, context); };
  // Without any tensor: the function itself, configured.
  llvm::SmallVector<Tensor, 2> tensors;
  std::vector<StaticValue> args;
  std::vector<const ast::Expr *> argExprs; ///< null: given when the function was configured
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
      argExprs.push_back(exprs[i]);
    } else if (values[i].value.isUnknown()) {
      unknown = true;
    } else {
      args.push_back(values[i].value);
      argExprs.push_back(exprs[i]);
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
  auto argRange = [&](size_t i) { return argExprs[i] ? argExprs[i]->range : expr->range; };
  auto wrongArgument = [&](SourceRange where, StringRef parameter, StringRef expected, const std::string &actual) {
    auto builder =
        diags_.report(where, diag::WrongArgument{.parameter = parameter, .expected = expected, .actual = actual});
    withInstances(builder, context.scope->frame);
    return EvalResult::failed();
  };
  // Positions `first` to `first + count` of the dim, as far as numbers are known.
  auto inside = [&](size_t arg, const DimGroup &group, DimExpr first, DimExpr count) {
    auto start = first.integer(), length = count.integer();
    auto size = tensors[0].type.find(group.parts[0].name)->size.size();
    if (!start || !length || !size)
      return true;
    Int128 last = *start + *length - 1;
    if (*start >= 0 && last < *size)
      return true;
    StringRef dim = program_.text(group.parts[0].name);
    auto builder = diags_.report(
        argRange(arg), diag::IndexOutside{.index = toString(*start < 0 ? *start : last), .what = dim, .count = *size});
    if (*length != 1)
      builder.note("these are " + toString(*length) + " positions from " + toString(*start));
    withInstances(builder, context.scope->frame);
    return false;
  };
  // What picks positions holds whole numbers.
  auto picks = [&](size_t operand, StringRef parameter) {
    if (!isFloat(tensors[operand].type.element))
      return true;
    SourceRange where = exprs[operand]->range, other = exprs[1 - operand]->range;
    auto builder = diags_.report(where, diag::WrongArgument{.parameter = parameter,
                                                            .expected = "whole numbers such as i32",
                                                            .actual = spelling(tensors[operand].type.element)});
    if (!isFloat(tensors[1 - operand].type.element))
      builder.help("the two are swapped: " + sourceText(exprs[1]->range) + ", " + sourceText(exprs[0]->range))
          .fixit(where, sourceText(other))
          .fixit(other, sourceText(where));
    else
      helpWithIndex(builder, tensors[operand]);
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
    if (tensors.size() != 1 || !group || args.size() != 2)
      return wrongArguments();
    DimExpr index = args[1].asSize(dims);
    if (!index)
      return wrongArgument(argRange(1), "at", "the number of a position", args[1].kindName());
    if (!needs(tensors[0], 0, *group) || !inside(1, *group, index, dims.constant(1)))
      return EvalResult::failed();
    return one(OpKind::At, tensors, AtFields{group->parts[0].name, index});
  }
  case Builtin::Slice: {
    const DimGroup *from = dimArg(0), *to = dimArg(1);
    if (tensors.size() != 1 || !from || !to || to->parts.size() != 1 || args.size() != 3)
      return wrongArguments();
    DimExpr start = args[2].asSize(dims);
    if (!start)
      return wrongArgument(argRange(2), "start", "the number of a position", args[2].kindName());
    if (!needs(tensors[0], 0, *from))
      return EvalResult::failed();
    if (!to->parts[0].size) {
      reportUnknownDim({program_.text(to->name), argRange(1)}, context.scope);
      return EvalResult::failed();
    }
    if (!inside(2, *from, start, to->parts[0].size))
      return EvalResult::failed();
    return one(OpKind::Slice, tensors, SliceFields{from->parts[0].name, to->parts[0], start});
  }
  case Builtin::Lookup: {
    if (tensors.size() != 2 || !args.empty() || tensors[1].type.dims.empty())
      return wrongArguments();
    if (!picks(0, "ids"))
      return EvalResult::failed();
    return gatherRows(tensors[1], tensors[0], tensors[1].type.dims[0].name, expr, context);
  }
  case Builtin::Gather: {
    const DimGroup *group = dimArg(0);
    if (tensors.size() != 2 || !group || args.empty() || args.size() > 2)
      return wrongArguments();
    if (!picks(1, "idx") || !needs(tensors[0], 0, *group))
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
    if (!picks(1, "idx"))
      return EvalResult::failed();
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
    if (tensors.size() != 1 || args.size() != 1)
      return wrongArguments();
    auto probability = args[0].asNumber(dims);
    if (!probability || *probability < 0 || *probability >= 1)
      return wrongArgument(argRange(0), "p", "a probability from 0 to below 1",
                           probability && argExprs[0] ? sourceText(argRange(0)) : args[0].kindName());
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
    checkMaskLengths(*mask, tensors[0].type.find(query->parts[0].name)->size,
                     tensors[0].type.find(key->parts[0].name)->size, expr->range, context.scope->frame);
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
