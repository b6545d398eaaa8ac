//===- StaticArithmetic.cpp - what is decided at compile time ------------------------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace stg;
using llvm::cast;
using llvm::StringRef;

void Elaborator::reportDivisionByZero(SourceRange where) {
  withInstances(diags_.report(where, diag::DivisionByZero{.expression = sourceText(where)}), walking_);
}

EvalResult Elaborator::staticArithmetic(ast::ChainOp op, const StaticValue &a, const StaticValue &b,
                                        SourceRange where) {
  if (a.isUnknown() || b.isUnknown())
    return EvalResult::of(StaticValue{UnknownStatic()});
  DimExpr x = a.asSize(program_.context->dims), y = b.asSize(program_.context->dims);
  if (x && y) {
    DimContext &dims = program_.context->dims;
    auto zero = y.integer();
    if (op != ast::ChainOp::Add && op != ast::ChainOp::Sub && op != ast::ChainOp::Mul && zero && *zero == 0) {
      reportDivisionByZero(where);
      return EvalResult::failed();
    }
    DimExpr result;
    switch (op) {
    case ast::ChainOp::Add:
      result = x + y;
      break;
    case ast::ChainOp::Sub:
      result = x - y;
      break;
    case ast::ChainOp::Mul:
      result = x * y;
      break;
    case ast::ChainOp::FloorDiv:
      result = dims.apply(DimFn::FloorDiv, {x, y});
      break;
    case ast::ChainOp::Mod:
      result = dims.apply(DimFn::Mod, {x, y});
      break;
    case ast::ChainOp::Div: {
      result = x / y;
      auto value = result.rational();
      if (value && !value->isInteger() && !inCost_) {
        auto builder = diags_.report(where, diag::InexactDivision{.dividend = x.str(),
                                                                  .dividendSize = toString(*x.integer()),
                                                                  .divisor = y.str(),
                                                                  .divisorSize = toString(*y.integer())});
        withInstances(builder, walking_);
        for (Frame *at = walking_; at; at = at->caller)
          for (const std::string &text : at->overridden)
            builder.note(text);
        builder.help("`//` rounds down; `1.0 * a / b` is a floating-point number");
        return EvalResult::failed();
      }
      break;
    }
    }
    if (result.overflowed()) {
      diags_.report(where, diag::SizeOutOfRange{.what = sourceText(where), .value = "past 2^127"});
      return EvalResult::failed();
    }
    return EvalResult::of(StaticValue{result});
  }
  auto p = a.asNumber(program_.context->dims), q = b.asNumber(program_.context->dims);
  if (p && q && (a.getIf<double>() || b.getIf<double>())) {
    bool divides = op == ast::ChainOp::Div || op == ast::ChainOp::FloorDiv || op == ast::ChainOp::Mod;
    if (divides && *q == 0) {
      reportDivisionByZero(where);
      return EvalResult::failed();
    }
    switch (op) {
    case ast::ChainOp::Add:
      return EvalResult::of(StaticValue{*p + *q});
    case ast::ChainOp::Sub:
      return EvalResult::of(StaticValue{*p - *q});
    case ast::ChainOp::Mul:
      return EvalResult::of(StaticValue{*p * *q});
    case ast::ChainOp::Div:
      return EvalResult::of(StaticValue{*p / *q});
    case ast::ChainOp::FloorDiv:
      return EvalResult::of(StaticValue{std::floor(*p / *q)});
    case ast::ChainOp::Mod:
      return EvalResult::of(StaticValue{*p - *q * std::floor(*p / *q)});
    }
  }
  if ((a.getIf<double>() || x) && (b.getIf<double>() || y)) // a size without a value and a number
    return EvalResult::of(StaticValue{UnknownStatic()});
  bool first = !(a.getIf<double>() || x);
  diags_.report(where, diag::NotUsableHere{.expression = sourceText(where),
                                           .actual = (first ? a : b).kindName(),
                                           .expected = "a number"});
  return EvalResult::failed();
}

/// -1, 0, 1; nothing if a size has no value.
static std::optional<int> compare(const StaticValue &a, const StaticValue &b, DimContext &dims) {
  DimExpr x = a.asSize(dims), y = b.asSize(dims);
  if (x && y) {
    if (x == y)
      return 0;
    auto difference = (x - y).rational();
    if (!difference)
      return std::nullopt;
    return difference->numerator < 0 ? -1 : difference->numerator > 0 ? 1 : 0;
  }
  auto p = a.asNumber(dims), q = b.asNumber(dims);
  if (!p || !q)
    return std::nullopt;
  return *p < *q ? -1 : *p > *q ? 1 : 0;
}

EvalResult Elaborator::evalBinary(const ast::BinaryExpr *expr, Context &context) {
  Context below = context.below();
  EvalResult a = eval(expr->lhs, below);
  auto unknown = [] { return EvalResult::of(StaticValue{UnknownStatic()}); };
  auto wrong = [&](const EvalResult &result, const ast::Expr *at, StringRef expected) {
    diags_.report(at->range, diag::NotUsableHere{.expression = sourceText(at->range),
                                                 .actual = result.isStatic() ? result.value.kindName() : "a tensor",
                                                 .expected = expected});
    return EvalResult::failed();
  };
  bool logical = expr->op == ast::BinaryOp::And || expr->op == ast::BinaryOp::Or;
  if (logical) {
    if (a.isFailed())
      return a;
    auto *x = a.isStatic() ? a.value.getIf<bool>() : nullptr;
    if (!x && !(a.isStatic() && a.value.isUnknown()))
      return wrong(a, expr->lhs, "true or false");
    if (x && *x == (expr->op == ast::BinaryOp::Or))
      return a;
    EvalResult b = eval(expr->rhs, below);
    if (b.isFailed())
      return b;
    auto *y = b.isStatic() ? b.value.getIf<bool>() : nullptr;
    if (!y && !(b.isStatic() && b.value.isUnknown()))
      return wrong(b, expr->rhs, "true or false");
    return x && y ? b : unknown();
  }
  EvalResult b = eval(expr->rhs, below);
  if (a.isFailed() || b.isFailed())
    return EvalResult::failed();
  // `shared != none`: a tensor that may be absent is compared with none, nothing else.
  if (a.isTensors() || b.isTensors()) {
    bool none = (a.isStatic() && a.value.isNone()) || (b.isStatic() && b.value.isNone());
    if (none && (expr->op == ast::BinaryOp::Eq || expr->op == ast::BinaryOp::Ne)) {
      const Tensor &tensor = a.isTensors() ? a.tensors[0] : b.tensors[0];
      if (tensor.unknown && abstract_)
        return unknown();
      return EvalResult::of(StaticValue{expr->op == ast::BinaryOp::Ne});
    }
    return wrong(a.isTensors() ? a : b, a.isTensors() ? expr->lhs : expr->rhs, "a static value");
  }
  if (a.value.isUnknown() || b.value.isUnknown())
    return unknown();
  auto boolean = [](bool value) { return EvalResult::of(StaticValue{value}); };
  switch (expr->op) {
  case ast::BinaryOp::Eq:
  case ast::BinaryOp::Ne: {
    if ((a.value.asSize(program_.context->dims) || a.value.getIf<double>()) &&
        (b.value.asSize(program_.context->dims) || b.value.getIf<double>())) {
      auto order = compare(a.value, b.value, program_.context->dims);
      if (!order)
        return unknown();
      return boolean((*order == 0) == (expr->op == ast::BinaryOp::Eq));
    }
    return boolean(a.value.sameAs(b.value) == (expr->op == ast::BinaryOp::Eq));
  }
  case ast::BinaryOp::In: {
    auto *list = b.value.getIf<ListPtr>();
    if (!list)
      return wrong(b, expr->rhs, "a list");
    for (const StaticValue &element : **list) {
      auto order = compare(a.value, element, program_.context->dims);
      if (order ? *order == 0 : a.value.sameAs(element))
        return boolean(true);
    }
    return boolean(false);
  }
  default: {
    auto isNumber = [&](const StaticValue &value) {
      return value.asSize(program_.context->dims) || value.getIf<double>();
    };
    if (!isNumber(a.value))
      return wrong(a, expr->lhs, "a number");
    if (!isNumber(b.value))
      return wrong(b, expr->rhs, "a number");
    auto order = compare(a.value, b.value, program_.context->dims);
    if (!order)
      return unknown();
    switch (expr->op) {
    case ast::BinaryOp::Lt:
      return boolean(*order < 0);
    case ast::BinaryOp::Le:
      return boolean(*order <= 0);
    case ast::BinaryOp::Gt:
      return boolean(*order > 0);
    default:
      return boolean(*order >= 0);
    }
  }
  }
}
