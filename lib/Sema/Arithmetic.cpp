//===- Arithmetic.cpp - chains and reductions -----------------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace stg;
using llvm::cast;
using llvm::StringRef;

using Operand = std::pair<Tensor, const ast::Expr *>;

EvalResult Elaborator::evalChain(const ast::ChainExpr *expr, Context &context) {
  bool sum = expr->isSum();
  Context below = context.below();
  EvalResult result = eval(expr->terms[0].value, below);
  // Operands of the n-ary op that is being collected, with what they print as.
  llvm::SmallVector<Operand, 4> operands;
  auto flush = [&](bool last, SourceRange where) -> EvalResult {
    if (operands.size() == 1)
      return EvalResult::of(operands[0].first);
    Context &at = last ? context : below;
    return combine(sum ? MapFn::Add : MapFn::Mul, operands, where, at);
  };
  bool tensors = result.isTensors(), failed = result.isFailed();
  StaticValue folded = result.value;
  if (tensors) {
    auto tensor = tensorOf(result, expr->terms[0].value, below);
    if (tensor)
      operands.push_back({*tensor, expr->terms[0].value});
    else
      failed = true;
  }
  for (size_t i = 1; i < expr->terms.size(); ++i) {
    const ast::ChainTerm &term = expr->terms[i];
    SourceRange where = expr->range.upTo(term.value->range);
    EvalResult next = eval(term.value, below);
    if (next.isFailed() || failed) {
      failed = true;
      continue;
    }
    if (!tensors && next.isStatic()) {
      EvalResult value = staticArithmetic(term.op, folded, next.value, where);
      failed = value.isFailed();
      folded = value.value;
      continue;
    }
    if (!tensors) {
      tensors = true;
      auto tensor = tensorOf(EvalResult::of(folded), expr->terms[0].value, below);
      if (!tensor) {
        failed = true;
        continue;
      }
      operands.push_back({*tensor, expr->terms[0].value});
    }
    if (term.op == ast::ChainOp::Div && next.isStatic() && next.value.asNumber(program_.context->dims) == 0.0) {
      reportDivisionByZero(where);
      failed = true;
      continue;
    }
    auto tensor = tensorOf(next, term.value, below);
    if (!tensor) {
      failed = true;
      continue;
    }
    bool last = i + 1 == expr->terms.size();
    switch (term.op) {
    case ast::ChainOp::Add:
    case ast::ChainOp::Mul:
      operands.push_back({*tensor, term.value});
      break;
    case ast::ChainOp::Sub:
    case ast::ChainOp::Div: {
      EvalResult left = flush(false, where);
      if (left.isFailed()) {
        failed = true;
        break;
      }
      const ast::Expr *leftExpr = operands.size() == 1 ? operands[0].second : expr;
      operands = {{left.tensors[0], leftExpr}, {*tensor, term.value}};
      EvalResult combined =
          combine(term.op == ast::ChainOp::Sub ? MapFn::Sub : MapFn::Div, operands, where, last ? context : below);
      if (combined.isFailed()) {
        failed = true;
        break;
      }
      operands = {{combined.tensors[0], expr}};
      break;
    }
    default:
      diags_.report(term.opRange.upTo(term.value->range),
                    diag::NotUsableHere{.expression = sourceText(where),
                                        .actual = "a tensor",
                                        .expected = "a static number on both sides of `//` and `%`"});
      failed = true;
    }
  }
  if (failed)
    return EvalResult::failed();
  if (!tensors)
    return EvalResult::of(folded);
  return flush(true, expr->range);
}

/// `: D from layer widen`, if the declaration that is walked has D as a parameter of that size.
std::string Elaborator::originOfSize(StringRef name, DimExpr size, Scope *scope) {
  Scope *where = nullptr;
  const DimGroup *group = findDim(scope, name, &where);
  if (!group || group->parts.size() != 1 || sameSize(group->parts[0].size, size) != true)
    return "";
  const auto *declaration = llvm::dyn_cast_or_null<ast::LayerItem>(where->frame->item.item);
  if (!declaration)
    return "";
  for (const ast::StaticParam &param : declaration->signature.statics)
    if (param.name.text == name)
      return ": " + name.str() + " from a parameter of `" + declaration->name.text.str() + "`";
  return "";
}

bool Elaborator::checkSizesAgree(llvm::ArrayRef<Operand> operands, SourceRange where, Context &context) {
  // Against the first operand that has the dim: sums of many thousand terms occur in generated programs.
  std::map<NameId, size_t> firstWith;
  for (size_t i = 0; i < operands.size(); ++i)
    for (const Dim &dim : operands[i].first.type.dims) {
      size_t k = firstWith.insert({dim.name, i}).first->second;
      const Dim *other = operands[k].first.type.find(dim.name);
      if (sameSize(other->size, dim.size) != false)
        continue;
      auto shown = [](DimExpr size) {
        auto value = size.size();
        return value ? std::to_string(*value) : size.str();
      };
      auto withSize = [&](const Operand &operand, const Dim &named) {
        std::string name = program_.text(named.name).str(), text;
        for (const DimGroup &group : grouped(operand.first.type, context.scope)) {
          text += (text.empty() ? "" : ", ") + program_.text(group.name).str();
          if (group.parts.size() == 1 && group.parts[0].name == named.name)
            text += " = " + shown(named.size);
        }
        text = "[" + text + "]" + originOfSize(name, named.size, context.scope);
        return operand.second->kind == ast::ExprKind::Path ? sourceText(operand.second->range) + text : "is " + text;
      };
      std::string name = program_.text(dim.name).str();
      const ast::Expr *renamed =
          operands[k].second->kind == ast::ExprKind::Path ? operands[k].second : operands[i].second;
      bool simple = renamed->kind == ast::ExprKind::Path;
      auto builder = diags_.report(operands[k].second->range,
                                   diag::OneNameTwoSizes{.dim = name,
                                                         .leftSize = shown(other->size),
                                                         .left = sourceText(operands[k].second->range),
                                                         .rightSize = shown(dim.size),
                                                         .right = sourceText(operands[i].second->range)});
      builder.label(withSize(operands[k], *other))
          .label(operands[i].second->range, withSize(operands[i], dim))
          .note("one name is one dimension. If these differ on purpose, rename one: " +
                (simple ? sourceText(renamed->range) : "(" + sourceText(renamed->range) + ")") + "[" + name + " as " +
                name + "2]");
      withInstances(builder, context.scope->frame);
      return false;
    }
  return true;
}

std::optional<Tensor> Elaborator::map(MapFn fn, llvm::ArrayRef<Tensor> operands, Context &context, SourceRange where) {
  if (llvm::any_of(operands, [](const Tensor &tensor) { return tensor.unknown; }))
    return Tensor::makeUnknown();
  return emit(OpKind::Map, operands, MapFields{fn, elementFor(context)}, context, where,
              {valueName(context, spelling(fn))})[0];
}

EvalResult Elaborator::combine(MapFn fn, llvm::ArrayRef<Operand> operands, SourceRange where, Context &context) {
  if (llvm::any_of(operands, [](const Operand &operand) { return operand.first.unknown; }))
    return EvalResult::of(Tensor::makeUnknown());
  if (!checkSizesAgree(operands, where, context))
    return EvalResult::failed();
  const Operand *largest = &operands[0];
  for (const Operand &operand : operands)
    if (operand.first.type.dims.size() > largest->first.type.dims.size())
      largest = &operand;
  for (const Operand &operand : operands) {
    if (llvm::all_of(operand.first.type.dims, [&](const Dim &dim) { return largest->first.type.has(dim.name); }))
      continue;
    // Neither contains the other. A product whose target lists less is a forgotten contraction.
    TensorType all = largest->first.type;
    for (const Operand &other : operands)
      for (const Dim &dim : other.first.type.dims)
        if (!all.has(dim.name))
          all.dims.push_back(dim);
    const Operand &a = &operand < largest ? operand : *largest;
    const Operand &b = &a == largest ? operand : *largest;
    if (fn == MapFn::Mul && context.target && context.target->hasDims) {
      std::vector<std::string> shared;
      for (const Dim &dim : all.dims) {
        bool inAll = llvm::all_of(operands, [&](const Operand &o) { return o.first.type.has(dim.name); });
        bool listed = false;
        for (const ast::Dim &target : context.target->dims.dims)
          for (const ast::DimPart &part : target.parts)
            if (const DimGroup *group = findDim(context.scope, part.name.text))
              listed |= llvm::any_of(group->parts, [&](const Dim &p) { return p.name == dim.name; });
        if (inAll && !listed)
          shared.push_back(program_.text(dim.name).str());
      }
      if (!shared.empty()) {
        std::string dims = llvm::join(shared, ", ");
        std::string names;
        for (const Operand &o : operands)
          names += (names.empty() ? "" : " and ") + describeOperand(o.second, o.first.type, context.scope);
        SourceRange statement = context.target->range.upTo(where);
        std::string fixed =
            sourceText({statement.file, statement.begin, where.begin}) + "sum(" + dims + ") " + sourceText(where);
        auto builder =
            diags_.report(where, diag::ForgottenContraction{.dims = dims, .target = sourceText(context.target->range)});
        builder.label(names + " share " + dims).help(fixed).fixit(where, "sum(" + dims + ") " + sourceText(where));
        withInstances(builder, context.scope->frame);
        return EvalResult::failed();
      }
    }
    auto list = [&](const TensorType &type, char separator) {
      std::string text;
      for (const DimGroup &group : grouped(type, context.scope))
        text += (text.empty() ? "" : std::string(separator == ',' ? ", " : " ")) + program_.text(group.name).str();
      return text;
    };
    auto builder = diags_.report(
        a.second->range, diag::OuterProduct{.expression = sourceText(where), .result = "[" + list(all, ',') + "]"});
    builder.label("has " + list(a.first.type, ' '))
        .label(b.second->range, "has " + list(b.first.type, ' ') + ": neither contains the other");
    // A product over a shared dim is most often a contraction of the innermost one.
    const Dim *shared = nullptr;
    if (fn == MapFn::Mul && !(context.target && context.target->hasDims))
      for (const Dim &dim : a.first.type.dims)
        if (b.first.type.has(dim.name))
          shared = &dim;
    if (shared) {
      std::string sum = "sum(" + program_.text(shared->name).str() + ") " + sourceText(where);
      builder.help(sum).fixit(where, sum);
      withInstances(builder, context.scope->frame);
      return EvalResult::failed();
    }
    // Suggest what to rename: the dims that only one side has.
    std::vector<std::string> onlyA, onlyB;
    // What stands before the first shared dim is a batch of it, not a partner.
    auto only = [&](const TensorType &type, const TensorType &other, std::vector<std::string> &names) {
      for (const DimGroup &group : grouped(type, context.scope)) {
        if (!other.has(group.parts[0].name))
          names.push_back(program_.text(group.name).str());
        else if (llvm::any_of(grouped(type, context.scope), [&](const DimGroup &later) {
                   return !other.has(later.parts[0].name) && later.parts[0].name != group.parts[0].name &&
                          &*llvm::find_if(type.dims, [&](const Dim &d) { return d.name == later.parts[0].name; }) >
                              &*llvm::find_if(type.dims, [&](const Dim &d) { return d.name == group.parts[0].name; });
                 }))
          names.clear();
      }
    };
    only(a.first.type, b.first.type, onlyA);
    only(b.first.type, a.first.type, onlyB);
    auto tuple = [](const std::vector<std::string> &names) {
      return names.size() == 1 ? names[0] : "(" + llvm::join(names, ", ") + ")";
    };
    builder.note("if " + tuple(onlyB) + " and " + tuple(onlyA) + " are the same thing, merge or rename: " +
                 sourceText(b.second->range) + "[" + tuple(onlyB) + " as ...]");
    withInstances(builder, context.scope->frame);
    return EvalResult::failed();
  }
  llvm::SmallVector<Tensor, 4> tensors;
  for (const Operand &operand : operands)
    tensors.push_back(operand.first);
  auto result = map(fn, tensors, context, where);
  return result ? EvalResult::of(*result) : EvalResult::failed();
}

/// The dims of a reduction, present in some operand; E205 otherwise.
std::optional<llvm::SmallVector<NameId, 2>> Elaborator::reducedDims(const ast::ReduceExpr *expr,
                                                                    llvm::ArrayRef<Tensor> operands,
                                                                    llvm::ArrayRef<const ast::Expr *> exprs,
                                                                    Context &context) {
  llvm::SmallVector<NameId, 2> dims;
  if (expr->ellipsis) {
    for (const Tensor &operand : operands)
      for (const Dim &dim : operand.type.dims)
        if (!llvm::is_contained(dims, dim.name))
          dims.push_back(dim.name);
    return dims;
  }
  for (const ast::Name &name : expr->dims) {
    DimGroup group;
    if (const DimGroup *declared = findDim(context.scope, name.text))
      group = *declared;
    else
      group = {program_.context->name(name.text), {{program_.context->name(name.text), {}}}};
    for (const Dim &part : group.parts) {
      bool present = llvm::any_of(operands, [&](const Tensor &operand) { return operand.type.has(part.name); });
      if (present && !llvm::is_contained(dims, part.name)) {
        dims.push_back(part.name);
        continue;
      }
      std::string who;
      if (present) {
        diags_.report(name.range, diag::DuplicateDim{.dim = name.text});
        return std::nullopt;
      }
      if (exprs.size() == 2)
        who = "neither `" + sourceText(exprs[0]->range) + "` nor `" + sourceText(exprs[1]->range) + "` has";
      else
        who = "`" + sourceText(expr->operand->range) + "` does not have";
      auto builder = diags_.report(name.range, diag::NothingToSum{.operands = who, .dim = name.text});
      std::string described;
      for (size_t i = 0; i < operands.size() && i < exprs.size(); ++i)
        described += (i ? ", " : "") + describeOperand(exprs[i], operands[i].type, context.scope);
      std::vector<std::string> shared;
      if (!operands.empty())
        for (const DimGroup &candidate : grouped(operands[0].type, context.scope))
          if (operands.size() > 1 &&
              llvm::all_of(operands, [&](const Tensor &o) { return o.type.has(candidate.parts[0].name); }))
            shared.push_back(program_.text(candidate.name).str());
      std::string head = sourceText({expr->headRange.file, expr->headRange.begin, expr->dims.front().range.begin});
      if (!shared.empty()) {
        std::string fixed = llvm::join(shared, ", ");
        builder.label(described + "; they share " + fixed);
        builder.fixit(name.range, shared.size() == 1 ? shared[0] : fixed, head + fixed + ")");
      } else {
        builder.label(described);
      }
      withInstances(builder, context.scope->frame);
      return std::nullopt;
    }
  }
  return dims;
}

std::optional<Tensor> Elaborator::reduce(ReduceFn fn, const Tensor &operand, llvm::ArrayRef<NameId> dims,
                                         Context &context, SourceRange where, StringRef name) {
  ReduceFields fields;
  fields.fn = fn;
  fields.reduced.assign(dims.begin(), dims.end());
  fields.element = elementFor(context);
  return emit(OpKind::Reduce, {operand}, std::move(fields), context, where, {valueName(context, name)})[0];
}

EvalResult Elaborator::evalReduce(const ast::ReduceExpr *expr, Context &context) {
  if (expr->op == ast::Reduction::Each) {
    llvm::SmallVector<DimGroup, 2> each;
    for (const ast::Name &name : expr->dims) {
      auto group = dimOf(name, context.scope);
      if (!group)
        return EvalResult::failed();
      each.push_back(*group);
    }
    auto *call = llvm::dyn_cast<ast::CallExpr>(expr->operand);
    if (!call) {
      diags_.report(expr->operand->range,
                    diag::NotUsableHere{.expression = sourceText(expr->operand->range),
                                        .actual = "no call of a layer",
                                        .expected = "a call, whose weights then gain the dimension"});
      return EvalResult::failed();
    }
    return evalCall(call, context, each);
  }

  Context below = context.below();
  DimContext &dims = program_.context->dims;
  // `sum(D) a * b * …`: a contraction of the tensors among the factors; numbers scale it.
  auto *product = llvm::dyn_cast<ast::ChainExpr>(expr->operand);
  bool isProduct = product && !product->isSum() && llvm::all_of(product->terms, [](const ast::ChainTerm &term) {
                     return term.op == ast::ChainOp::Mul;
                   });
  if (expr->op == ast::Reduction::Sum && isProduct) {
    llvm::SmallVector<Operand, 2> operands;
    StaticValue scale;
    bool failed = false, unknown = false;
    for (const ast::ChainTerm &term : product->terms) {
      EvalResult factor = eval(term.value, below);
      if (factor.isFailed()) {
        failed = true;
      } else if (factor.isStatic() && (factor.value.asSize(dims) || factor.value.getIf<double>())) {
        if (scale.isNone())
          scale = factor.value;
        else
          scale = staticArithmetic(ast::ChainOp::Mul, scale, factor.value, expr->range).value;
      } else if (auto tensor = tensorOf(factor, term.value, below)) {
        unknown |= tensor->unknown;
        operands.push_back({*tensor, term.value});
      } else {
        failed = true;
      }
    }
    if (failed)
      return EvalResult::failed();
    if (unknown)
      return EvalResult::of(Tensor::makeUnknown());
    llvm::SmallVector<Tensor, 2> tensors;
    llvm::SmallVector<const ast::Expr *, 2> exprs;
    for (Operand &operand : operands) {
      tensors.push_back(operand.first);
      exprs.push_back(operand.second);
    }
    auto reduced = reducedDims(expr, tensors, exprs, context);
    if (!reduced || !checkSizesAgree(operands, expr->range, context))
      return EvalResult::failed();
    Context &inner = scale.isNone() ? context : below;
    std::optional<Tensor> result;
    if (operands.size() >= 2) {
      ContractFields fields;
      fields.reduced.assign(reduced->begin(), reduced->end());
      fields.element = elementFor(inner);
      result =
          emit(OpKind::Contract, tensors, std::move(fields), inner, expr->range, {valueName(inner, "contract")})[0];
    } else if (operands.size() == 1) {
      result = reduce(ReduceFn::Sum, tensors[0], *reduced, inner, expr->range, "sum");
    }
    if (!result)
      return EvalResult::failed();
    if (scale.isNone())
      return EvalResult::of(*result);
    auto scaled = map(MapFn::Mul, {constantTensor(scale, context, expr->range), *result}, context, expr->range);
    return scaled ? EvalResult::of(*scaled) : EvalResult::failed();
  }

  auto operand = tensorOf(eval(expr->operand, below), expr->operand, below);
  if (!operand)
    return EvalResult::failed();
  if (operand->unknown)
    return EvalResult::of(*operand);
  auto reduced = reducedDims(expr, {*operand}, {expr->operand}, context);
  if (!reduced)
    return EvalResult::failed();
  auto wrap = [](std::optional<Tensor> tensor) { return tensor ? EvalResult::of(*tensor) : EvalResult::failed(); };
  switch (expr->op) {
  case ast::Reduction::Sum:
    return wrap(reduce(ReduceFn::Sum, *operand, *reduced, context, expr->range, "sum"));
  case ast::Reduction::Max:
    return wrap(reduce(ReduceFn::Max, *operand, *reduced, context, expr->range, "max"));
  case ast::Reduction::Min:
    return wrap(reduce(ReduceFn::Min, *operand, *reduced, context, expr->range, "min"));
  case ast::Reduction::Prod:
    return wrap(reduce(ReduceFn::Prod, *operand, *reduced, context, expr->range, "prod"));
  case ast::Reduction::Mean: {
    DimExpr count = dims.constant(1);
    for (NameId dim : *reduced)
      count = count * operand->type.find(dim)->size;
    auto total = reduce(ReduceFn::Sum, *operand, *reduced, below, expr->range, "sum");
    return wrap(map(MapFn::Div, {*total, constantTensor({count}, below, expr->range)}, context, expr->range));
  }
  case ast::Reduction::Softmax: {
    // Composed, so that a split dimension needs nothing new: exp(x - max) over its sum.
    auto largest = reduce(ReduceFn::Max, *operand, *reduced, below, expr->range, "max");
    Tensor stopped = emit(OpKind::Stop, {*largest}, StopFields(), below, expr->range, {valueName(below, "stop")})[0];
    auto shifted = map(MapFn::Sub, {*operand, stopped}, below, expr->range);
    auto powers = map(MapFn::Exp, {*shifted}, below, expr->range);
    auto total = reduce(ReduceFn::Sum, *powers, *reduced, below, expr->range, "sum");
    return wrap(map(MapFn::Div, {*powers, *total}, context, expr->range));
  }
  case ast::Reduction::Each:
    break;
  }
  return EvalResult::failed();
}
