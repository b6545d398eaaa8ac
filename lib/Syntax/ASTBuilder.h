//===- ASTBuilder.h - from ANTLR's parse tree to our AST ------------------===//
// One function per rule of grammar/Stg.g4; the table is grammar/README.md. Contexts that the parser gave up on (they
// carry an exception) are left out, so the AST of a file with errors is partial but whole in itself.
//===----------------------------------------------------------------------===//
#pragma once

#include "StgParser.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Syntax/AST.h"

#include "llvm/ADT/SmallVector.h"

namespace stg::ast {

class ASTBuilder {
public:
  using P = antlr::StgParser;

  ASTBuilder(FileId file, llvm::StringRef text, ASTContext &context, Diagnostics &diags)
      : file_(file), text_(text), context_(context), diags_(diags) {}

  const File *file(P::FileContext *ctx);
  const Expr *expr(P::ExprContext *ctx);
  Selector selector(P::SelContext *ctx);

private:
  // Places and names.
  SourceRange range(const antlr4::Token *token) const;
  SourceRange range(antlr4::ParserRuleContext *ctx) const;
  SourceRange range(antlr4::tree::TerminalNode *node) const { return range(node->getSymbol()); }
  llvm::StringRef text(SourceRange range) const { return text_.slice(range.begin, range.end); }
  Name name(P::IdContext *ctx) const;
  llvm::ArrayRef<Name> names(const std::vector<P::IdContext *> &ids);
  llvm::ArrayRef<Name> names(P::IdsContext *ctx) { return names(ctx->id()); }
  llvm::ArrayRef<Name> path(P::PathContext *ctx) { return names(ctx->id()); }
  llvm::StringRef docAbove(uint32_t begin);

  template <class Node, class Kind> Node *make(Kind kind, antlr4::ParserRuleContext *ctx) {
    Node *node = context_.make<Node>();
    node->kind = kind;
    node->range = range(ctx);
    return node;
  }
  /// Builds each context with `build` and copies the results into the arena.
  template <class Context, class Build> auto each(const std::vector<Context *> &contexts, Build build) {
    using Node = decltype(build(contexts[0]));
    llvm::SmallVector<Node, 8> nodes;
    for (Context *ctx : contexts)
      nodes.push_back(build(ctx));
    return context_.copy(llvm::ArrayRef<Node>(nodes));
  }

  // Expressions (ExprBuilder.cpp).
  llvm::ArrayRef<const Expr *> exprs(const std::vector<P::ExprContext *> &contexts);
  const Expr *chain(P::ExprContext *ctx);
  const Expr *binary(P::ExprContext *ctx);
  const Expr *reduce(P::ExprReduceContext *ctx);
  const Expr *primary(P::PrimaryContext *ctx);
  const Expr *number(antlr4::ParserRuleContext *ctx);
  const IntLit *integer(SourceRange range);
  std::optional<int64_t> integerValue(SourceRange range);
  const Expr *badNumber(SourceRange range);
  const StringLit *string(antlr4::tree::TerminalNode *node);
  const CallExpr *call(P::CallContext *ctx);
  const PathExpr *pathExpr(P::PathContext *ctx);
  /// The `call | path` of workloads.
  const Expr *callOrPath(P::CallContext *call, P::PathContext *path);
  Arg arg(P::ArgContext *ctx, bool afterSemicolon);
  ViewDim viewDim(P::ViewDimContext *ctx);

  // Signatures and statements (ItemBuilder.cpp).
  const Item *item(P::ItemContext *ctx);
  const UseItem *use(P::UseContext *ctx);
  const OpItem *op(P::OpContext *ctx);
  void opItem(P::OpItemContext *ctx, OpItem &op);
  template <class Context> const LayerItem *layer(ItemKind kind, Context *ctx);
  Name dtype(P::DtypeContext *ctx) const { return ctx ? name(ctx->id()) : Name{}; }
  Dims dims(P::DimsContext *ctx);
  Dim dim(P::DimContext *ctx);
  llvm::ArrayRef<StaticParam> statics(P::StaticsContext *ctx);
  void params(P::ParamsContext *ctx, Signature &signature);
  llvm::ArrayRef<Out> outs(P::OutsContext *ctx);
  Block block(P::BlockContext *ctx);
  const Stmt *stmt(P::StmtContext *ctx);
  const IfStmt *ifStmt(P::IfStmtContext *ctx);
  const DeclStmt *decls(StmtKind kind, antlr4::ParserRuleContext *ctx, const std::vector<P::DeclContext *> &decls);
  llvm::ArrayRef<Bind> binds(P::LetsContext *ctx);
  const StringLit *message(P::RequireContext *ctx) { return ctx->STRING() ? string(ctx->STRING()) : nullptr; }
  KindOf kindOf(P::KindOfContext *ctx);

  // Plans and workloads (PlanBuilder.cpp).
  PlanBlock planBlock(P::PlanBlockContext *ctx);
  const PlanItem *planItem(P::PlanItemContext *ctx);
  const PlanIf *planIf(P::PlanIfContext *ctx);
  const PlanPipeline *pipeline(P::PlanPipelineContext *ctx);
  const PlanRecompute *recompute(P::PlanRecomputeContext *ctx);
  const WorkItem *workItem(P::WorkItemContext *ctx);
  llvm::ArrayRef<Axis> axes(const std::vector<P::AxisContext *> &contexts);
  llvm::ArrayRef<Selector> selectors(const std::vector<P::SelContext *> &contexts);
  llvm::ArrayRef<Selector> inSel(P::InSelContext *ctx) {
    return ctx ? selectors(ctx->sel()) : llvm::ArrayRef<Selector>();
  }
  SelPart selPart(P::SelPartContext *ctx);
  SplitDim splitDim(P::SplitDimContext *ctx);
  Options options(P::OptsContext *ctx);
  /// `ctx`: null where there are no arguments.
  Config config(Name name, P::ConfigArgsContext *ctx);
  StageGroup stageGroup(P::StageGroupContext *ctx);

  FileId file_;
  llvm::StringRef text_;
  ASTContext &context_;
  Diagnostics &diags_;
};

} // namespace stg::ast
