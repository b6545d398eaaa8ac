//===- ItemBuilder.cpp - files, signatures and statements of the AST ------===//
#include "ASTBuilder.h"

namespace stg::ast {

const File *ASTBuilder::file(P::FileContext *ctx) {
  auto *file = context_.make<File>();
  file->id = file_;
  file->edition = 1;

  std::vector<P::EditionContext *> editions = ctx->edition();
  std::vector<P::ItemContext *> items = ctx->item();
  if (editions.empty()) {
    diags_.report(SourceRange{file_, 0, 0}, diag::MissingEdition{})
        .help("begin the file with the line `stg 1`")
        .fixit(SourceRange{file_, 0, 0}, "stg 1\n");
  } else if (!editions[0]->exception) {
    SourceRange place = range(editions[0]->INT());
    std::optional<int64_t> number = integerValue(place);
    file->edition = number.value_or(1);
    if (number && *number != 1)
      diags_.report(place, diag::UnknownEdition{.edition = text(place)})
          .label("this compiler knows edition 1")
          .fixit(place, "1");
    if (!items.empty() && items[0]->start->getStartIndex() < editions[0]->start->getStartIndex())
      diags_.report(range(editions[0]), diag::EditionNotFirst{}).label(range(items[0]->start), "this stands before it");
  }
  for (size_t i = 1; i < editions.size(); ++i)
    diags_.report(range(editions[i]), diag::GivenTwice{.word = "stg", .where = "this file"})
        .label(range(editions[0]), "first here");

  llvm::SmallVector<const Item *, 16> built;
  for (P::ItemContext *itemCtx : items)
    if (!itemCtx->exception)
      built.push_back(item(itemCtx));
  file->items = context_.copy(llvm::ArrayRef<const Item *>(built));
  return file;
}

llvm::StringRef ASTBuilder::docAbove(uint32_t begin) {
  llvm::SmallVector<llvm::StringRef, 4> lines; // last line first
  llvm::StringRef above = text_.take_front(begin).rtrim(" \t");
  while (above.consume_back("\n")) {
    llvm::StringRef line = above.substr(above.rfind('\n') + 1);
    llvm::StringRef comment = line.trim(" \t\r");
    if (!comment.consume_front("##"))
      break;
    comment.consume_front(" ");
    lines.push_back(comment);
    above = above.drop_back(line.size());
  }
  if (lines.empty())
    return {};
  std::string doc;
  for (llvm::StringRef line : llvm::reverse(lines)) {
    if (!doc.empty())
      doc += '\n';
    doc += line;
  }
  return context_.copy(llvm::StringRef(doc));
}

template <class Context> const LayerItem *ASTBuilder::layer(ItemKind kind, Context *ctx) {
  auto *node = make<LayerItem>(kind, ctx);
  node->name = name(ctx->id());
  if constexpr (std::is_same_v<Context, P::ModelContext>) {
    node->signature.statics = statics(ctx->statics());
  } else {
    params(ctx->params(), node->signature);
  }
  if constexpr (std::is_same_v<Context, P::LayerContext>)
    node->signature.outs = outs(ctx->outs());
  node->body = block(ctx->block());
  return node;
}

const Item *ASTBuilder::item(P::ItemContext *ctx) {
  Item *result;
  if (auto *c = ctx->layer())
    result = const_cast<LayerItem *>(layer(ItemKind::Layer, c));
  else if (auto *c = ctx->op())
    result = const_cast<OpItem *>(op(c));
  else if (auto *c = ctx->optimizer())
    result = const_cast<LayerItem *>(layer(ItemKind::Optimizer, c));
  else if (auto *c = ctx->model())
    result = const_cast<LayerItem *>(layer(ItemKind::Model, c));
  else if (auto *c = ctx->plan()) {
    auto *node = make<PlanItemDecl>(ItemKind::Plan, c);
    node->name = name(c->id());
    node->statics = statics(c->statics());
    node->body = planBlock(c->planBlock());
    result = node;
  } else if (auto *c = ctx->workload()) {
    auto *node = make<WorkloadItem>(ItemKind::Workload, c);
    node->name = name(c->id());
    node->statics = statics(c->statics());
    llvm::SmallVector<const WorkItem *, 8> items;
    for (P::WorkItemContext *itemCtx : c->workBlock()->workItem())
      if (!itemCtx->exception)
        items.push_back(workItem(itemCtx));
    node->items = context_.copy(llvm::ArrayRef<const WorkItem *>(items));
    result = node;
  } else if (auto *c = ctx->constant()) {
    auto *node = make<ConstantItem>(ItemKind::Constant, c);
    node->name = name(c->id());
    node->value = expr(c->expr());
    result = node;
  } else {
    result = const_cast<UseItem *>(use(ctx->use()));
  }
  result->doc = docAbove(result->range.begin);
  return result;
}

const UseItem *ASTBuilder::use(P::UseContext *ctx) {
  auto *node = make<UseItem>(ItemKind::Use, ctx);
  if (ctx->STRING()) {
    node->file = string(ctx->STRING());
    node->alias = name(ctx->id());
    return node;
  }
  node->path = path(ctx->path());
  if (ctx->ids())
    node->picks = names(ctx->ids());
  return node;
}

//===----------------------------------------------------------------------===//
// Signatures
//===----------------------------------------------------------------------===//

Dim ASTBuilder::dim(P::DimContext *ctx) {
  Dim dim;
  dim.ellipsis = ctx->ELLIPSIS() != nullptr;
  dim.composite = ctx->LPAREN() != nullptr;
  dim.parts = each(ctx->dimPart(),
                   [&](P::DimPartContext *part) { return DimPart{name(part->id()), part->QUESTION() != nullptr}; });
  dim.range = range(ctx);
  return dim;
}

Dims ASTBuilder::dims(P::DimsContext *ctx) {
  return {each(ctx->dim(), [&](P::DimContext *d) { return dim(d); }), range(ctx)};
}

llvm::ArrayRef<StaticParam> ASTBuilder::statics(P::StaticsContext *ctx) {
  if (!ctx)
    return {};
  return each(ctx->staticParam(), [&](P::StaticParamContext *param) {
    std::vector<P::IdContext *> ids = param->id();
    return StaticParam{name(ids[0]), ids.size() > 1 ? name(ids[1]) : Name{},
                       param->expr() ? expr(param->expr()) : nullptr, range(param)};
  });
}

void ASTBuilder::params(P::ParamsContext *ctx, Signature &signature) {
  if (!ctx)
    return;
  signature.tensors = each(ctx->tparam(), [&](P::TparamContext *param) {
    return TensorParam{name(param->id()), dims(param->dims()), dtype(param->dtype()), param->QUESTION() != nullptr,
                       range(param)};
  });
  signature.statics = statics(ctx->statics());
}

llvm::ArrayRef<Out> ASTBuilder::outs(P::OutsContext *ctx) {
  if (!ctx)
    return {};
  return each(ctx->out(), [&](P::OutContext *out) {
    return Out{out->id() ? name(out->id()) : Name{}, dims(out->dims()), dtype(out->dtype()), range(out)};
  });
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

const OpItem *ASTBuilder::op(P::OpContext *ctx) {
  auto *node = make<OpItem>(ItemKind::Op, ctx);
  node->name = name(ctx->id());
  params(ctx->params(), node->signature);
  node->signature.outs = outs(ctx->outs());

  llvm::SmallVector<const LetStmt *, 4> lets;
  llvm::SmallVector<KindOf, 8> kinds;
  // A second `flops` would silently win over the first.
  llvm::SmallVector<SourceRange, 8> words;
  for (P::OpItemContext *itemCtx : ctx->opBlock()->opItem()) {
    if (itemCtx->exception)
      continue;
    if (auto *letCtx = dynamic_cast<P::OpLetContext *>(itemCtx)) {
      auto *let = make<LetStmt>(StmtKind::Let, itemCtx);
      let->binds = binds(letCtx->lets());
      lets.push_back(let);
      continue;
    }
    if (auto *kindCtx = dynamic_cast<P::OpKindContext *>(itemCtx)) {
      for (P::KindOfContext *kind : kindCtx->kindOf())
        kinds.push_back(kindOf(kind));
      continue;
    }
    SourceRange word = range(itemCtx->start);
    auto *first = llvm::find_if(words, [&](SourceRange other) { return text(other) == text(word); });
    if (first != words.end()) {
      diags_.report(word, diag::GivenTwice{.word = text(word), .where = ("op `" + node->name.text + "`").str()})
          .label(*first, "first here");
      continue;
    }
    words.push_back(word);
    opItem(itemCtx, *node);
  }
  node->lets = context_.copy(llvm::ArrayRef<const LetStmt *>(lets));
  node->kinds = context_.copy(llvm::ArrayRef<KindOf>(kinds));
  return node;
}

void ASTBuilder::opItem(P::OpItemContext *ctx, OpItem &op) {
  if (auto *c = dynamic_cast<P::OpFlopsContext *>(ctx)) {
    op.flops = expr(c->expr());
  } else if (auto *c = dynamic_cast<P::OpOtherContext *>(ctx)) {
    op.other = expr(c->expr());
  } else if (auto *c = dynamic_cast<P::OpBytesContext *>(ctx)) {
    op.bytes = expr(c->expr());
  } else if (auto *c = dynamic_cast<P::OpWhereContext *>(ctx)) {
    op.where = expr(c->expr());
  } else if (auto *c = dynamic_cast<P::OpSaveContext *>(ctx)) {
    op.hasSave = true;
    if (c->ids())
      op.save = names(c->ids());
  } else if (auto *c = dynamic_cast<P::OpDefineContext *>(ctx)) {
    op.hasDefine = true;
    op.define = block(c->block());
  } else if (auto *c = dynamic_cast<P::OpGradContext *>(ctx)) {
    op.gradKind = c->NONE() ? OpItem::Grad::None : OpItem::Grad::Block;
    if (c->NONE())
      return;
    op.gradParams = names(c->ids());
    op.grad = block(c->block());
  }
}

KindOf ASTBuilder::kindOf(P::KindOfContext *ctx) {
  KindOf kind;
  std::vector<P::IdContext *> ids = ctx->id();
  if (ctx->ids()) {
    kind.dims = names(ctx->ids());
  } else {
    kind.dims = context_.copy(llvm::ArrayRef<Name>(name(ids[0])));
    ids.erase(ids.begin());
  }
  SourceRange word = range(ctx->kindName());
  kind.kind = {text(word), word};
  kind.args = exprs(ctx->expr());
  kind.along = ids.empty() ? Name{} : name(ids[0]);
  kind.range = range(ctx);
  return kind;
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

Block ASTBuilder::block(P::BlockContext *ctx) {
  llvm::SmallVector<const Stmt *, 16> stmts;
  for (P::StmtContext *stmtCtx : ctx->stmt())
    if (!stmtCtx->exception)
      stmts.push_back(stmt(stmtCtx));
  return {context_.copy(llvm::ArrayRef<const Stmt *>(stmts)), range(ctx)};
}

llvm::ArrayRef<Bind> ASTBuilder::binds(P::LetsContext *ctx) {
  return each(ctx->bind(), [&](P::BindContext *bind) {
    return Bind{name(bind->id()), expr(bind->expr()), bind->ids() ? names(bind->ids()) : llvm::ArrayRef<Name>(),
                range(bind)};
  });
}

const DeclStmt *ASTBuilder::decls(StmtKind kind, antlr4::ParserRuleContext *ctx,
                                  const std::vector<P::DeclContext *> &decls) {
  auto *node = make<DeclStmt>(kind, ctx);
  node->decls = each(decls, [&](P::DeclContext *decl) {
    return Decl{name(decl->id()), dims(decl->dims()), dtype(decl->dtype()), range(decl)};
  });
  return node;
}

const IfStmt *ASTBuilder::ifStmt(P::IfStmtContext *ctx) {
  auto *node = make<IfStmt>(StmtKind::If, ctx);
  node->cond = expr(ctx->expr());
  node->thenBlock = block(ctx->block(0));
  node->hasElse = ctx->ELSE() != nullptr;
  if (P::IfStmtContext *nested = ctx->ifStmt()) {
    const Stmt *inner = ifStmt(nested);
    node->elseBlock = {context_.copy(llvm::ArrayRef<const Stmt *>(inner)), inner->range};
  } else if (node->hasElse) {
    node->elseBlock = block(ctx->block(1));
  }
  return node;
}

const Stmt *ASTBuilder::stmt(P::StmtContext *ctx) {
  if (auto *c = dynamic_cast<P::StmtAssignContext *>(ctx)) {
    auto *node = make<AssignStmt>(StmtKind::Assign, ctx);
    node->targets = each(c->target(), [&](P::TargetContext *target) {
      bool hasDims = target->dims() != nullptr;
      return Target{name(target->id()), hasDims, hasDims ? dims(target->dims()) : Dims{}, dtype(target->dtype()),
                    range(target)};
    });
    node->value = expr(c->expr());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtWeightContext *>(ctx))
    return decls(StmtKind::Weight, ctx, c->decl());
  if (auto *c = dynamic_cast<P::StmtInputContext *>(ctx))
    return decls(StmtKind::Input, ctx, c->decl());
  if (auto *c = dynamic_cast<P::StmtStateContext *>(ctx))
    return decls(StmtKind::State, ctx, c->decl());
  if (auto *c = dynamic_cast<P::StmtLetContext *>(ctx)) {
    auto *node = make<LetStmt>(StmtKind::Let, ctx);
    node->binds = binds(c->lets());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtReturnContext *>(ctx)) {
    auto *node = make<ReturnStmt>(StmtKind::Return, ctx);
    node->values = exprs(c->expr());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtFactorContext *>(ctx)) {
    auto *node = make<FactorStmt>(StmtKind::Factor, ctx);
    node->dim = name(c->id());
    node->parts = names(c->ids());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtRequireContext *>(ctx)) {
    auto *node = make<RequireStmt>(StmtKind::Require, ctx);
    node->cond = expr(c->require()->expr());
    node->message = message(c->require());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtShareContext *>(ctx)) {
    auto *node = make<ShareStmt>(StmtKind::Share, ctx);
    node->name = name(c->id());
    node->value = expr(c->expr());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtRepeatContext *>(ctx)) {
    auto *node = make<RepeatStmt>(StmtKind::Repeat, ctx);
    std::vector<P::IdContext *> ids = c->id();
    node->count = expr(c->expr());
    node->name = name(ids[0]);
    node->index = ids.size() > 1 ? name(ids[1]) : Name{};
    node->body = block(c->block());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtUnitContext *>(ctx)) {
    auto *node = make<UnitStmt>(StmtKind::Unit, ctx);
    node->name = name(c->id());
    node->body = block(c->block());
    return node;
  }
  if (auto *c = dynamic_cast<P::StmtIfContext *>(ctx))
    return ifStmt(c->ifStmt());
  if (auto *c = dynamic_cast<P::StmtLossContext *>(ctx)) {
    auto *node = make<LossStmt>(StmtKind::Loss, ctx);
    node->value = expr(c->expr());
    return node;
  }
  auto *c = static_cast<P::StmtOutputContext *>(ctx);
  auto *node = make<OutputStmt>(StmtKind::Output, ctx);
  node->names = names(c->ids());
  return node;
}

} // namespace stg::ast
