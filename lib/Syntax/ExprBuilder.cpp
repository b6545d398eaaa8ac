//===- ExprBuilder.cpp - expressions of the AST ---------------------------===//
// Left-leaning trees of `+` and `*` are walked by a loop, so that a sum of 100,000 terms needs no deep recursion; all
// other nesting is bounded by the limit that Brackets.h checks on the tokens.
//===----------------------------------------------------------------------===//
#include "ASTBuilder.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <cmath>

namespace stg::ast {

SourceRange ASTBuilder::range(const antlr4::Token *token) const {
  return {file_, static_cast<uint32_t>(token->getStartIndex()), static_cast<uint32_t>(token->getStopIndex() + 1)};
}

SourceRange ASTBuilder::range(antlr4::ParserRuleContext *ctx) const {
  SourceRange result = range(ctx->start);
  // A rule that matched nothing stops before it starts.
  if (ctx->stop && ctx->stop->getStopIndex() + 1 >= ctx->start->getStartIndex())
    result.end = static_cast<uint32_t>(ctx->stop->getStopIndex() + 1);
  else
    result.end = result.begin;
  return result;
}

Name ASTBuilder::name(P::IdContext *ctx) const {
  SourceRange place = range(ctx);
  return {text(place), place};
}

llvm::ArrayRef<Name> ASTBuilder::names(const std::vector<P::IdContext *> &ids) {
  return each(ids, [&](P::IdContext *id) { return name(id); });
}

llvm::ArrayRef<const Expr *> ASTBuilder::exprs(const std::vector<P::ExprContext *> &contexts) {
  return each(contexts, [&](P::ExprContext *ctx) { return expr(ctx); });
}

const Expr *ASTBuilder::expr(P::ExprContext *ctx) {
  if (auto *primaryCtx = dynamic_cast<P::ExprPrimaryContext *>(ctx))
    return primary(primaryCtx->primary());
  if (dynamic_cast<P::ExprAddContext *>(ctx) || dynamic_cast<P::ExprMulContext *>(ctx))
    return chain(ctx);
  if (auto *reduceCtx = dynamic_cast<P::ExprReduceContext *>(ctx))
    return reduce(reduceCtx);
  if (auto *viewCtx = dynamic_cast<P::ExprViewContext *>(ctx)) {
    auto *node = make<ViewExpr>(ExprKind::View, ctx);
    node->base = expr(viewCtx->expr());
    node->items = each(viewCtx->view(), [&](P::ViewContext *view) {
      return ViewItem{viewDim(view->viewDim(0)), viewDim(view->viewDim(1)), range(view)};
    });
    return node;
  }
  if (auto *indexCtx = dynamic_cast<P::ExprIndexContext *>(ctx)) {
    auto *node = make<IndexExpr>(ExprKind::Index, ctx);
    node->base = expr(indexCtx->expr(0));
    node->index = expr(indexCtx->expr(1));
    node->members = names(indexCtx->id());
    return node;
  }
  if (auto *negCtx = dynamic_cast<P::ExprNegContext *>(ctx)) {
    auto *node = make<UnaryExpr>(ExprKind::Unary, ctx);
    node->op = UnaryOp::Neg;
    node->operand = expr(negCtx->expr());
    return node;
  }
  if (auto *notCtx = dynamic_cast<P::ExprNotContext *>(ctx)) {
    auto *node = make<UnaryExpr>(ExprKind::Unary, ctx);
    node->op = UnaryOp::Not;
    node->operand = expr(notCtx->expr());
    return node;
  }
  if (auto *ifCtx = dynamic_cast<P::ExprIfContext *>(ctx)) {
    auto *node = make<IfExpr>(ExprKind::If, ctx);
    node->cond = expr(ifCtx->expr(0));
    node->thenValue = expr(ifCtx->expr(1));
    node->elseValue = expr(ifCtx->expr(2));
    return node;
  }
  return binary(ctx);
}

namespace {

ChainOp chainOp(size_t token) {
  using P = antlr::StgParser;
  switch (token) {
  case P::PLUS:
    return ChainOp::Add;
  case P::MINUS:
    return ChainOp::Sub;
  case P::STAR:
    return ChainOp::Mul;
  case P::SLASH:
    return ChainOp::Div;
  case P::FLOORDIV:
    return ChainOp::FloorDiv;
  default:
    return ChainOp::Mod;
  }
}

BinaryOp binaryOp(size_t token) {
  using P = antlr::StgParser;
  switch (token) {
  case P::EQ:
    return BinaryOp::Eq;
  case P::NE:
    return BinaryOp::Ne;
  case P::LT:
    return BinaryOp::Lt;
  case P::LE:
    return BinaryOp::Le;
  case P::GT:
    return BinaryOp::Gt;
  case P::GE:
    return BinaryOp::Ge;
  case P::IN:
    return BinaryOp::In;
  case P::AND:
    return BinaryOp::And;
  default:
    return BinaryOp::Or;
  }
}

/// The operator between the operands of a binary context: its second child.
const antlr4::Token *operatorOf(antlr4::ParserRuleContext *ctx) {
  return static_cast<antlr4::tree::TerminalNode *>(ctx->children[1])->getSymbol();
}

} // namespace

const Expr *ASTBuilder::chain(P::ExprContext *ctx) {
  bool isSum = dynamic_cast<P::ExprAddContext *>(ctx) != nullptr;
  llvm::SmallVector<ChainTerm, 8> terms; // last term first
  P::ExprContext *rest = ctx;
  while (isSum ? dynamic_cast<P::ExprAddContext *>(rest) != nullptr
               : dynamic_cast<P::ExprMulContext *>(rest) != nullptr) {
    const antlr4::Token *op = operatorOf(rest);
    terms.push_back({chainOp(op->getType()), range(op), expr(static_cast<P::ExprContext *>(rest->children.back()))});
    rest = static_cast<P::ExprContext *>(rest->children.front());
  }
  const Expr *first = expr(rest);
  terms.push_back({isSum ? ChainOp::Add : ChainOp::Mul, first->range.start(), first});
  std::reverse(terms.begin(), terms.end());
  auto *node = make<ChainExpr>(ExprKind::Chain, ctx);
  node->terms = context_.copy(llvm::ArrayRef<ChainTerm>(terms));
  return node;
}

const Expr *ASTBuilder::binary(P::ExprContext *ctx) {
  const antlr4::Token *op = operatorOf(ctx);
  auto *node = make<BinaryExpr>(ExprKind::Binary, ctx);
  node->op = binaryOp(op->getType());
  node->opRange = range(op);
  node->lhs = expr(static_cast<P::ExprContext *>(ctx->children.front()));
  node->rhs = expr(static_cast<P::ExprContext *>(ctx->children.back()));
  return node;
}

const Expr *ASTBuilder::reduce(P::ExprReduceContext *ctx) {
  auto *node = make<ReduceExpr>(ExprKind::Reduce, ctx);
  SourceRange word = range(ctx->reduction());
  node->op = llvm::StringSwitch<Reduction>(text(word))
                 .Case("sum", Reduction::Sum)
                 .Case("mean", Reduction::Mean)
                 .Case("max", Reduction::Max)
                 .Case("min", Reduction::Min)
                 .Case("prod", Reduction::Prod)
                 .Case("softmax", Reduction::Softmax)
                 .Default(Reduction::Each);
  node->ellipsis = ctx->ELLIPSIS() != nullptr;
  if (!node->ellipsis)
    node->dims = names(ctx->ids());
  node->headRange = word.upTo(range(ctx->RPAREN()));
  node->operand = expr(ctx->expr());
  return node;
}

const Expr *ASTBuilder::primary(P::PrimaryContext *ctx) {
  if (auto *pathCtx = dynamic_cast<P::PrimPathContext *>(ctx))
    return pathExpr(pathCtx->path());
  if (auto *callCtx = dynamic_cast<P::PrimCallContext *>(ctx))
    return call(callCtx->call());
  if (auto *labelledCtx = dynamic_cast<P::PrimLabelledContext *>(ctx)) {
    auto *node = const_cast<CallExpr *>(call(labelledCtx->call()));
    node->label = name(labelledCtx->id());
    node->range = range(ctx);
    return node;
  }
  if (dynamic_cast<P::PrimNumberContext *>(ctx))
    return number(ctx);
  if (auto *parensCtx = dynamic_cast<P::PrimParensContext *>(ctx)) {
    std::vector<P::ExprContext *> elements = parensCtx->expr();
    if (elements.size() == 1)
      return expr(elements[0]);
    auto *node = make<TupleExpr>(ExprKind::Tuple, ctx);
    node->elements = exprs(elements);
    return node;
  }
  if (auto *listCtx = dynamic_cast<P::PrimListContext *>(ctx)) {
    std::vector<P::ExprContext *> elements = listCtx->expr();
    auto *node = make<ListExpr>(ExprKind::List, ctx);
    if (listCtx->DOTDOT()) {
      node->rangeEnd = expr(elements[1]);
      elements.pop_back();
    }
    node->elements = exprs(elements);
    return node;
  }
  if (auto *stringCtx = dynamic_cast<P::PrimStringContext *>(ctx))
    return string(stringCtx->STRING());
  if (dynamic_cast<P::PrimNoneContext *>(ctx))
    return make<NoneLit>(ExprKind::None, ctx);
  auto *node = make<BoolLit>(ExprKind::Bool, ctx);
  node->value = text(node->range) == "true";
  return node;
}

const PathExpr *ASTBuilder::pathExpr(P::PathContext *ctx) {
  auto *node = make<PathExpr>(ExprKind::Path, ctx);
  node->parts = path(ctx);
  return node;
}

const Expr *ASTBuilder::callOrPath(P::CallContext *callCtx, P::PathContext *pathCtx) {
  return callCtx ? static_cast<const Expr *>(call(callCtx)) : pathExpr(pathCtx);
}

const CallExpr *ASTBuilder::call(P::CallContext *ctx) {
  auto *node = make<CallExpr>(ExprKind::Call, ctx);
  node->callee = path(ctx->path());
  node->hasSemicolon = ctx->SEMI() != nullptr;
  llvm::SmallVector<Arg, 8> args;
  for (P::ArgsContext *group : ctx->args()) {
    bool afterSemicolon =
        node->hasSemicolon && group->start->getStartIndex() > ctx->SEMI()->getSymbol()->getStartIndex();
    for (P::ArgContext *argCtx : group->arg())
      args.push_back(arg(argCtx, afterSemicolon));
  }
  node->args = context_.copy(llvm::ArrayRef<Arg>(args));
  return node;
}

Arg ASTBuilder::arg(P::ArgContext *ctx, bool afterSemicolon) {
  return {ctx->id() ? name(ctx->id()) : Name{}, expr(ctx->expr()), afterSemicolon, range(ctx)};
}

ViewDim ASTBuilder::viewDim(P::ViewDimContext *ctx) {
  if (ctx->ids())
    return {names(ctx->ids()), /*composite=*/true, range(ctx)};
  return {context_.copy(llvm::ArrayRef<Name>(name(ctx->id()))), /*composite=*/false, range(ctx)};
}

//===----------------------------------------------------------------------===//
// Literals
//===----------------------------------------------------------------------===//

namespace {

std::string withoutUnderscores(llvm::StringRef digits) {
  std::string result = digits.str();
  result.erase(std::remove(result.begin(), result.end(), '_'), result.end());
  return result;
}

/// What a suffix multiplies by; 0 if it is none. `B` (bytes) multiplies by one and may follow any other.
int64_t unitFactor(llvm::StringRef suffix) {
  suffix.consume_back("B");
  return llvm::StringSwitch<int64_t>(suffix)
      .Case("", 1)
      .Case("k", 1000)
      .Case("M", 1000 * 1000)
      .Case("G", 1000 * 1000 * 1000)
      .Case("T", int64_t(1000) * 1000 * 1000 * 1000)
      .Case("Ki", int64_t(1) << 10)
      .Case("Mi", int64_t(1) << 20)
      .Case("Gi", int64_t(1) << 30)
      .Case("Ti", int64_t(1) << 40)
      .Default(0);
}

/// digits x factor, if that fits 63 bits.
std::optional<int64_t> scaled(llvm::StringRef digits, int64_t factor) {
  int64_t value, result;
  if (llvm::StringRef(withoutUnderscores(digits)).getAsInteger(10, value) || llvm::MulOverflow(value, factor, result))
    return std::nullopt;
  return result;
}

} // namespace

const Expr *ASTBuilder::number(antlr4::ParserRuleContext *ctx) {
  SourceRange place = range(ctx);
  switch (ctx->start->getType()) {
  case P::INT:
    return integer(place);
  case P::BAD_NUMBER:
    return badNumber(place);
  default:
    break;
  }
  auto *node = make<FloatLit>(ExprKind::Float, ctx);
  if (llvm::StringRef(withoutUnderscores(text(place))).getAsDouble(node->value) || !std::isfinite(node->value))
    diags_.report(place, diag::NumberTooLarge{.literal = text(place), .limit = "1.8e308"});
  return node;
}

std::optional<int64_t> ASTBuilder::integerValue(SourceRange place) {
  llvm::StringRef literal = text(place);
  llvm::StringRef digits = literal.take_while([](char c) { return (c >= '0' && c <= '9') || c == '_'; });
  std::optional<int64_t> value = scaled(digits, unitFactor(literal.drop_front(digits.size())));
  if (!value)
    diags_.report(place, diag::NumberTooLarge{.literal = literal, .limit = "9_223_372_036_854_775_807"});
  return value;
}

const IntLit *ASTBuilder::integer(SourceRange place) {
  auto *node = context_.make<IntLit>();
  node->kind = ExprKind::Int;
  node->range = place;
  node->value = integerValue(place);
  return node;
}

const Expr *ASTBuilder::badNumber(SourceRange place) {
  auto *node = context_.make<IntLit>();
  node->kind = ExprKind::Int;
  node->range = place;
  llvm::StringRef literal = text(place);
  llvm::StringRef digits = literal.take_while([](char c) { return (c >= '0' && c <= '9') || c == '_'; });
  llvm::StringRef suffix = literal.drop_front(digits.size());
  if (suffix == "K" || suffix == "KB") {
    std::string binary = (digits + "Ki" + suffix.drop_front()).str(),
                decimal = (digits + "k" + suffix.drop_front()).str();
    node->value = scaled(digits, 1024);
    std::optional<int64_t> thousands = scaled(digits, 1000);
    if (!node->value || !thousands) {
      diags_.report(place, diag::NumberTooLarge{.literal = literal, .limit = "9_223_372_036_854_775_807"});
      return node;
    }
    diags_
        .report(place, diag::AmbiguousSuffix{.literal = literal,
                                             .binary = binary,
                                             .binaryValue = *node->value,
                                             .decimal = decimal,
                                             .decimalValue = *thousands})
        .fixit(place, binary);
    return node;
  }
  auto report = diags_.report(place, diag::MalformedNumber{.literal = literal});
  if (suffix.starts_with("."))
    report.note("only integers have a suffix");
  else
    report.note("suffixes: Ki Mi Gi Ti (1024-based), k M G T (1000-based), and B for bytes behind them or alone");
  return node;
}

const StringLit *ASTBuilder::string(antlr4::tree::TerminalNode *node) {
  SourceRange place = range(node);
  llvm::StringRef raw = text(place).drop_front();
  // An unterminated string was reported and is read to the end of its line, a lone backslash there included.
  llvm::StringRef inside = raw;
  if (inside.consume_back("\"") && (inside.size() - inside.rtrim('\\').size()) % 2 == 0)
    raw = inside;
  auto *literal = context_.make<StringLit>();
  literal->kind = ExprKind::String;
  literal->range = place;
  if (!raw.contains('\\')) {
    literal->value = raw;
    return literal;
  }
  std::string value;
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\') {
      value += raw[i];
      continue;
    }
    if (i + 1 == raw.size())
      break;
    char escaped = raw[++i];
    switch (escaped) {
    case 'n':
      value += '\n';
      break;
    case 't':
      value += '\t';
      break;
    case '"':
    case '\\':
      value += escaped;
      break;
    default: {
      uint32_t at = place.begin + 1 + static_cast<uint32_t>(i) - 1;
      diags_.report(SourceRange{file_, at, at + 2}, diag::UnknownEscape{.escape = raw.substr(i - 1, 2)})
          .note("escapes: \\\" \\\\ \\n \\t");
    }
    }
  }
  literal->value = context_.copy(llvm::StringRef(value));
  return literal;
}

} // namespace stg::ast
