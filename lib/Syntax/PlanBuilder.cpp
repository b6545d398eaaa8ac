//===- PlanBuilder.cpp - plans and workloads of the AST -------------------===//
#include "ASTBuilder.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"

namespace stg::ast {

PlanBlock ASTBuilder::planBlock(P::PlanBlockContext *ctx) {
  llvm::SmallVector<const PlanItem *, 16> items;
  for (P::PlanItemContext *itemCtx : ctx->planItem())
    if (!itemCtx->exception)
      items.push_back(planItem(itemCtx));
  return {context_.copy(llvm::ArrayRef<const PlanItem *>(items)), range(ctx)};
}

const PlanIf *ASTBuilder::planIf(P::PlanIfContext *ctx) {
  auto *node = make<PlanIf>(PlanItemKind::If, ctx);
  node->cond = expr(ctx->expr());
  node->thenBlock = planBlock(ctx->planBlock(0));
  node->hasElse = ctx->ELSE() != nullptr;
  if (P::PlanIfContext *nested = ctx->planIf()) {
    const PlanItem *item = planIf(nested);
    node->elseBlock = {context_.copy(llvm::ArrayRef<const PlanItem *>(item)), item->range};
  } else if (node->hasElse) {
    node->elseBlock = planBlock(ctx->planBlock(1));
  }
  return node;
}

const PlanItem *ASTBuilder::planItem(P::PlanItemContext *ctx) {
  if (auto *c = dynamic_cast<P::PlanSplitContext *>(ctx)) {
    auto *node = make<PlanSplit>(PlanItemKind::Split, ctx);
    node->dims = each(c->splitDim(), [&](P::SplitDimContext *dim) { return splitDim(dim); });
    node->axes = names(c->ids());
    node->in = inSel(c->inSel());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanLetContext *>(ctx)) {
    auto *node = make<PlanLet>(PlanItemKind::Let, ctx);
    node->binds = binds(c->lets());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanRequireContext *>(ctx)) {
    auto *node = make<PlanRequire>(PlanItemKind::Require, ctx);
    node->cond = expr(c->require()->expr());
    node->message = message(c->require());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanIncludeContext *>(ctx)) {
    auto *node = make<PlanInclude>(PlanItemKind::Include, ctx);
    node->call = call(c->call());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanIfItemContext *>(ctx))
    return planIf(c->planIf());
  if (auto *c = dynamic_cast<P::PlanMeshContext *>(ctx)) {
    auto *node = make<PlanMesh>(PlanItemKind::Mesh, ctx);
    node->axes = axes(c->axis());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanFoldContext *>(ctx)) {
    auto *node = make<PlanFold>(PlanItemKind::Fold, ctx);
    node->name = name(c->id());
    node->over = names(c->ids());
    node->axes = axes(c->axis());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanKeepContext *>(ctx)) {
    auto *node = make<PlanKeep>(PlanItemKind::Keep, ctx);
    node->dims = names(c->ids());
    node->in = inSel(c->inSel());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanPinContext *>(ctx)) {
    auto *node = make<PlanPin>(PlanItemKind::Pin, ctx);
    node->tensor = selector(c->sel());
    node->dims = each(c->layout()->layoutDim(), [&](P::LayoutDimContext *dim) {
      llvm::ArrayRef<Name> parts = names(dim->id());
      return LayoutDim{parts.front(), parts.drop_front()};
    });
    node->partial = names(c->layout()->id());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanRunContext *>(ctx)) {
    auto *node = make<PlanRun>(PlanItemKind::Run, ctx);
    node->what = selectors(c->sel());
    node->as = config(name(c->config()->id()), c->config()->configArgs());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanFuseContext *>(ctx)) {
    auto *node = make<PlanFuse>(PlanItemKind::Fuse, ctx);
    node->what = selectors(c->sel());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanZeroContext *>(ctx)) {
    auto *node = make<PlanZero>(PlanItemKind::Zero, ctx);
    node->stage = integer(range(c->INT()));
    node->axes = names(c->ids());
    node->in = inSel(c->inSel());
    node->options = options(c->opts());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanStoreContext *>(ctx)) {
    auto *node = make<PlanStore>(PlanItemKind::Store, ctx);
    SourceRange what = range(static_cast<antlr4::tree::TerminalNode *>(c->children[1]));
    node->what = llvm::StringSwitch<StoreWhat>(text(what))
                     .Case("params", StoreWhat::Params)
                     .Case("grads", StoreWhat::Grads)
                     .Case("optimizer", StoreWhat::Optimizer)
                     .Default(StoreWhat::Gathered);
    node->axes = names(c->ids());
    node->in = inSel(c->inSel());
    node->options = options(c->opts());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanRecomputeContext *>(ctx))
    return recompute(c);
  if (auto *c = dynamic_cast<P::PlanOffloadContext *>(ctx)) {
    auto *node = make<PlanOffload>(PlanItemKind::Offload, ctx);
    node->what = names(c->ids());
    node->to = name(c->id());
    node->in = inSel(c->inSel());
    node->options = options(c->opts());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanMicrobatchContext *>(ctx)) {
    auto *node = make<PlanMicrobatch>(PlanItemKind::Microbatch, ctx);
    node->size = expr(c->expr());
    return node;
  }
  if (auto *c = dynamic_cast<P::PlanPipelineContext *>(ctx))
    return pipeline(c);
  auto *c = static_cast<P::PlanPrecisionContext *>(ctx);
  auto *node = make<PlanPrecision>(PlanItemKind::Precision, ctx);
  node->options = options(c->opts());
  node->in = inSel(c->inSel());
  return node;
}

const PlanRecompute *ASTBuilder::recompute(P::PlanRecomputeContext *ctx) {
  auto *node = make<PlanRecompute>(PlanItemKind::Recompute, ctx);
  node->options = options(ctx->opts());
  if (ctx->NONE()) {
    node->what = RecomputeWhat::None;
    return node;
  }
  node->selectors = selectors(ctx->sel());
  node->what = RecomputeWhat::Selected;
  // In the grammar `all` would be both a word of this rule and a selector.
  if (node->selectors.size() == 1 && text(node->selectors[0].range) == "all") {
    node->what = RecomputeWhat::All;
    node->selectors = {};
  }
  return node;
}

const PlanPipeline *ASTBuilder::pipeline(P::PlanPipelineContext *ctx) {
  auto *node = make<PlanPipeline>(PlanItemKind::Pipeline, ctx);
  node->axis = name(ctx->id());
  SourceRange firstSchedule, firstCut;
  auto onlyOnce = [&](SourceRange &first, llvm::StringRef word, SourceRange here) {
    if (first.valid())
      diags_.report(here, diag::GivenTwice{.word = word, .where = "this pipeline"}).label(first, "first here");
    else
      first = here;
  };
  for (P::PipeItemContext *itemCtx : ctx->pipeBlock()->pipeItem()) {
    if (itemCtx->exception)
      continue;
    if (auto *schedule = dynamic_cast<P::PipeScheduleContext *>(itemCtx)) {
      onlyOnce(firstSchedule, "schedule", range(itemCtx));
      SourceRange named = schedule->id() ? range(schedule->id()) : range(schedule->BAD_NUMBER());
      node->schedule = config({text(named), named}, schedule->configArgs());
      continue;
    }
    auto *cut = static_cast<P::PipeCutContext *>(itemCtx);
    onlyOnce(firstCut, "cut", range(itemCtx));
    node->cutRange = range(itemCtx);
    node->stages = each(cut->stageGroup(), [&](P::StageGroupContext *group) { return stageGroup(group); });
    if (!node->stages.empty())
      node->cut = CutKind::List;
    else
      node->cut = text(range(itemCtx)).ends_with("even") ? CutKind::Even : CutKind::Balanced;
  }
  return node;
}

StageGroup ASTBuilder::stageGroup(P::StageGroupContext *ctx) {
  StageGroup group;
  group.units = each(ctx->stageUnit(), [&](P::StageUnitContext *unit) {
    return StageUnit{path(unit->path()), unit->expr() ? expr(unit->expr()) : nullptr, range(unit)};
  });
  group.count = ctx->expr() ? expr(ctx->expr()) : nullptr;
  group.range = range(ctx);
  return group;
}

llvm::ArrayRef<Axis> ASTBuilder::axes(const std::vector<P::AxisContext *> &contexts) {
  return each(contexts, [&](P::AxisContext *ctx) {
    return Axis{name(ctx->id()), ctx->STAR() != nullptr, ctx->expr() ? expr(ctx->expr()) : nullptr, range(ctx)};
  });
}

SplitDim ASTBuilder::splitDim(P::SplitDimContext *ctx) {
  SplitDim dim{name(ctx->id()), ctx->QUESTION() != nullptr, SplitMode::Exact, range(ctx)};
  if (ctx->OR())
    dim.mode = SplitMode::OrReplicate;
  else if (llvm::StringRef last = text(range(ctx->stop)); ctx->children.size() > 1 && last == "pad")
    dim.mode = SplitMode::Pad;
  else if (ctx->children.size() > 1 && last == "zigzag")
    dim.mode = SplitMode::Zigzag;
  return dim;
}

Selector ASTBuilder::selector(P::SelContext *ctx) {
  return {each(ctx->selPart(), [&](P::SelPartContext *part) { return selPart(part); }), range(ctx)};
}

llvm::ArrayRef<Selector> ASTBuilder::selectors(const std::vector<P::SelContext *> &contexts) {
  return each(contexts, [&](P::SelContext *ctx) { return selector(ctx); });
}

SelPart ASTBuilder::selPart(P::SelPartContext *ctx) {
  SelPart part{};
  SourceRange first = range(ctx->start);
  part.name = {text(first), first};
  part.range = range(ctx);
  if (!ctx->LBRACKET())
    return part;
  std::vector<P::ExprContext *> bounds = ctx->expr();
  if (bounds.empty()) {
    part.indexKind = SelIndex::All;
    return part;
  }
  part.indexKind = ctx->DOTDOT() ? SelIndex::Range : SelIndex::One;
  part.first = expr(bounds[0]);
  part.last = bounds.size() > 1 ? expr(bounds[1]) : nullptr;
  part.step = bounds.size() > 2 ? expr(bounds[2]) : nullptr;
  return part;
}

Options ASTBuilder::options(P::OptsContext *ctx) {
  if (!ctx)
    return {};
  llvm::StringMap<SourceRange> keys;
  std::string owner = "`" + text(range(static_cast<antlr4::ParserRuleContext *>(ctx->parent)->start)).str() + "`";
  return {/*present=*/true,
          each(ctx->kv(),
               [&](P::KvContext *kv) {
                 Name key = name(kv->id());
                 auto [first, inserted] = keys.insert({key.text, key.range});
                 if (!inserted)
                   diags_.report(key.range, diag::GivenTwice{.word = key.text, .where = owner})
                       .label(first->second, "first here");
                 return KeyValue{key, expr(kv->expr()), range(kv)};
               }),
          range(ctx)};
}

Config ASTBuilder::config(Name name, P::ConfigArgsContext *ctx) {
  if (!ctx)
    return {name, {}, name.range};
  return {name, each(ctx->arg(), [&](P::ArgContext *a) { return arg(a, /*afterSemicolon=*/false); }),
          name.range.upTo(range(ctx))};
}

const WorkItem *ASTBuilder::workItem(P::WorkItemContext *ctx) {
  if (auto *c = dynamic_cast<P::WorkLetContext *>(ctx)) {
    auto *node = make<WorkLet>(WorkItemKind::Let, ctx);
    node->binds = binds(c->lets());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkModelContext *>(ctx)) {
    auto *node = make<WorkUse>(WorkItemKind::Model, ctx);
    node->value = callOrPath(c->call(), c->path());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkPlanContext *>(ctx)) {
    auto *node = make<WorkUse>(WorkItemKind::Plan, ctx);
    node->value = callOrPath(c->call(), c->path());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkModeContext *>(ctx)) {
    auto *node = make<WorkMode>(WorkItemKind::Mode, ctx);
    node->mode = llvm::StringSwitch<RunMode>(text(range(ctx->start)))
                     .Case("train", RunMode::Train)
                     .Case("prefill", RunMode::Prefill)
                     .Default(RunMode::Decode);
    node->options = options(c->opts());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkSweepContext *>(ctx)) {
    auto *node = make<WorkSweep>(WorkItemKind::Sweep, ctx);
    node->vars = each(c->sweepVar(), [&](P::SweepVarContext *var) {
      return SweepVar{name(var->id()), expr(var->expr()), range(var)};
    });
    node->where = c->expr() ? expr(c->expr()) : nullptr;
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkRanksContext *>(ctx)) {
    auto *node = make<WorkRanks>(WorkItemKind::Ranks, ctx);
    node->count = expr(c->expr());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkRoutingContext *>(ctx)) {
    auto *node = make<WorkRouting>(WorkItemKind::Routing, ctx);
    node->config = config(name(c->config()->id()), c->config()->configArgs());
    node->in = inSel(c->inSel());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkSetContext *>(ctx)) {
    auto *node = make<WorkSet>(WorkItemKind::Set, ctx);
    node->target = selector(c->sel());
    node->value = expr(c->expr());
    return node;
  }
  if (auto *c = dynamic_cast<P::WorkOptimizerContext *>(ctx)) {
    auto *node = make<WorkOptimizer>(WorkItemKind::Optimizer, ctx);
    node->value = c->NONE() ? nullptr : callOrPath(c->call(), c->path());
    node->in = inSel(c->inSel());
    return node;
  }
  auto *c = static_cast<P::WorkEmitContext *>(ctx);
  auto *node = make<WorkEmit>(WorkItemKind::Emit, ctx);
  node->format = name(c->id());
  node->options = options(c->opts());
  return node;
}

} // namespace stg::ast
