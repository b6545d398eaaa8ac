//===- ArgumentKinds.cpp - tensors before the `;`, statics behind it -----------===//
#include "Elaborator.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;
using llvm::cast;

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

/// `none` itself, or the name of an optional tensor that is not there.
bool Elaborator::isNoneExpr(const ast::Expr *expr, Scope *scope) {
  if (expr->kind == ast::ExprKind::None)
    return true;
  auto *path = llvm::dyn_cast<ast::PathExpr>(expr);
  Variable *variable = path && path->parts.size() == 1 ? findVariable(scope, path->parts[0].text) : nullptr;
  auto *value = variable ? std::get_if<StaticValue>(variable) : nullptr;
  return value && value->isNone();
}

void Elaborator::reportBeforeSemicolon(const ast::CallExpr &call, const ast::Arg &arg, const StaticValue &value,
                                       llvm::StringRef callee, Scope *scope) {
  auto builder = diags_.report(
      arg.range,
      diag::StaticBeforeSemicolon{.argument = sourceText(arg.range), .actual = value.kindName(), .callee = callee});
  builder.note("tensors stand before the `;`, static arguments after it");
  // The comma before it becomes the `;` if nothing behind it is a tensor.
  const ast::Arg *before = nullptr, *at = call.args.begin();
  for (; at != &arg; ++at)
    before = at;
  bool onlyStatics = llvm::none_of(llvm::ArrayRef(at, call.args.end()),
                                   [&](const ast::Arg &later) { return isTensorExpr(later.value, scope); });
  if (before && onlyStatics) {
    SourceRange gap{arg.range.file, before->range.end, arg.range.begin};
    SourceRange head{arg.range.file, call.range.begin, before->range.end};
    SourceRange tail{arg.range.file, arg.range.begin, call.range.end};
    builder.help(sourceText(head) + "; " + sourceText(tail)).fixit(gap, "; ");
  }
  withInstances(builder, scope->frame);
}
