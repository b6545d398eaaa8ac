//===- Plan.cpp - evaluating a plan ------------------------------------------------===//
// Statements in order, parameters and branches decided, includes spliced in where they stand. The mesh gets its sizes
// when all is read: `*` is what the ranks leave.
//===----------------------------------------------------------------------===//
#include "Plan.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

void stg::checkKey(const ast::KeyValue &item, StringRef where, llvm::ArrayRef<StringRef> keys, Diagnostics &diags) {
  if (llvm::is_contained(keys, item.key.text))
    return;
  auto builder = diags.report(item.key.range, diag::UnknownKey{.where = where, .key = item.key.text});
  if (auto close = closestName(item.key.text, keys))
    builder.fixit(item.key.range, close->str());
  builder.note(keys.empty() ? where.str() + " has no keys" : "keys: " + llvm::join(keys, " "));
}

std::optional<PathPattern> stg::evaluateSelector(const ast::Selector &selector, Elaborator &elaborator, Scope &scope,
                                                 IRContext &context, Diagnostics &diags, StringRef text) {
  PathPattern pattern;
  auto bound = [&](const ast::Expr *expr) -> std::optional<int64_t> {
    EvalResult result = elaborator.evalStatic(expr, scope);
    DimExpr size = result.isStatic() ? result.value.asSize(context.dims) : DimExpr();
    if (!size && result.isStatic() && !result.value.isUnknown())
      diags.report(expr->range, diag::NotUsableHere{.expression = text,
                                                    .actual = result.value.kindName(),
                                                    .expected = "a selector of iterations by number"});
    return size ? size.size() : std::nullopt;
  };
  for (const ast::SelPart &part : selector.parts) {
    PatternPart one;
    one.name = part.name.text.str();
    if (part.indexKind == ast::SelIndex::One || part.indexKind == ast::SelIndex::Range) {
      auto first = bound(part.first);
      auto last = part.last ? bound(part.last) : first ? std::optional<int64_t>(*first + 1) : std::nullopt;
      auto step = part.step ? bound(part.step) : std::optional<int64_t>(1);
      if (!first || !last || !step || *step < 1)
        return std::nullopt;
      one.range = PatternPart::Range{*first, *last, *step};
    }
    pattern.parts.push_back(std::move(one));
  }
  return pattern;
}

bool PlanEvaluator::evaluate(NamedItem plan, llvm::ArrayRef<StaticArgument> arguments, SourceRange call, int64_t ranks,
                             SourceRange ranksAt, Check check, EvaluatedPlan &result) {
  size_t errors = diags_.numErrors();
  auto *declaration = cast<ast::PlanItemDecl>(plan.item);
  check_ = check;
  auto frame = std::make_unique<Frame>();
  frame->item = plan;
  Scope scope;
  scope.frame = frame.get();
  if (check == Check::NamesOnly) {
    for (const ast::StaticParam &param : declaration->statics)
      scope.values[param.name.text] = StaticValue{UnknownStatic()};
  } else if (!elaborator_.bindStatics(declaration->name.text, declaration->statics, arguments, scope, call)) {
    return false;
  }
  including_.push_back(plan.item);
  block(declaration->body, scope, result);
  including_.pop_back();
  if (including_.empty() && check == Check::WithSizes && diags_.numErrors() == errors) {
    fillMesh(ranks, ranksAt, result);
    if (diags_.numErrors() == errors)
      for (const PendingFold &fold : folds_)
        addFold(fold, result);
  }
  return diags_.numErrors() == errors;
}

void PlanEvaluator::block(const ast::PlanBlock &block, Scope &scope, EvaluatedPlan &result) {
  // The mesh first: rules name its axes wherever it stands.
  for (const ast::PlanItem *one : block.items)
    if (one->kind == ast::PlanItemKind::Let)
      item(one, scope, result);
  for (const ast::PlanItem *one : block.items)
    if (one->kind == ast::PlanItemKind::Mesh || one->kind == ast::PlanItemKind::Fold)
      item(one, scope, result);
  for (const ast::PlanItem *one : block.items)
    if (one->kind != ast::PlanItemKind::Let && one->kind != ast::PlanItemKind::Mesh &&
        one->kind != ast::PlanItemKind::Fold)
      item(one, scope, result);
}

std::optional<int64_t> PlanEvaluator::number(const ast::Expr *expr, Scope &scope, StringRef what, int64_t least) {
  EvalResult result = elaborator_.evalStatic(expr, scope);
  return result.isStatic() ? number(result.value, expr->range, what, least) : std::nullopt;
}

std::optional<int64_t> PlanEvaluator::number(const StaticValue &given, SourceRange where, StringRef what,
                                             int64_t least) {
  if (given.isUnknown())
    return std::nullopt;
  DimExpr size = given.asSize(context_.dims);
  auto value = size ? size.integer() : std::nullopt;
  if (!value || *value < least || !size.size()) {
    diags_.report(where, diag::SizeOutOfRange{.what = what, .value = value ? toString(*value) : given.kindName()});
    return std::nullopt;
  }
  return *size.size();
}

void PlanEvaluator::mesh(const ast::PlanMesh *mesh, Scope &scope) {
  if (meshItem_) {
    diags_.report(mesh->range, diag::MeshTwice{}).noteAt(meshItem_->range, "the other one is here");
    return;
  }
  meshItem_ = mesh;
  for (const ast::Axis &axis : mesh->axes) {
    Axis one{axis.name.text.str(), std::nullopt, axis.fill, axis.range};
    if (llvm::any_of(axes_, [&](const Axis &other) { return other.name == one.name; }))
      diags_.report(axis.name.range, diag::NameTwice{.name = axis.name.text});
    one.size = sizeOf(axis, scope);
    axes_.push_back(std::move(one));
  }
}

/// Nothing where it is what the ranks leave, is unknown or was reported.
std::optional<int64_t> PlanEvaluator::sizeOf(const ast::Axis &axis, Scope &scope) {
  if (axis.size)
    return number(axis.size, scope, axis.name.text);
  if (axis.fill)
    return std::nullopt;
  // `mesh pp`: the parameter of that name.
  auto known = scope.values.find(axis.name.text);
  auto *value = known == scope.values.end() ? nullptr : std::get_if<StaticValue>(&known->second);
  DimExpr size = value ? value->asSize(context_.dims) : DimExpr();
  auto integer = size ? size.integer() : std::nullopt;
  if (integer && *integer >= 1 && size.size())
    return size.size();
  if (integer)
    diags_.report(axis.range, diag::SizeOutOfRange{.what = axis.name.text, .value = toString(*integer)});
  else if (!value || !value->isUnknown())
    diags_.report(axis.range, diag::AxisWithoutSize{.axis = axis.name.text})
        .help(axis.name.text.str() + " = 8, " + axis.name.text.str() +
              " = * (what the ranks leave), or a parameter of the plan called " + axis.name.text.str());
  return std::nullopt;
}

void PlanEvaluator::fillMesh(int64_t ranks, SourceRange ranksAt, EvaluatedPlan &result) {
  Axis *fill = nullptr;
  Int128 product = 1;
  for (Axis &axis : axes_) {
    if (axis.fill && fill) {
      diags_.report(axis.range, diag::FillTwice{.axis = axis.name, .other = fill->name});
      return;
    }
    if (axis.fill)
      fill = &axis;
    else if (!axis.size)
      return; // reported
    else
      product *= *axis.size;
    constexpr int64_t kMaxRanks = int64_t(1) << 31;
    if (product > kMaxRanks) {
      diags_.report(axis.range, diag::SizeOutOfRange{.what = "the mesh", .value = toString(product) + " ranks"});
      return;
    }
  }
  if (fill && ranks == 0)
    ranks = static_cast<int64_t>(product); // nothing says how many: one of each
  bool fits =
      ranks == 0 || (fill ? ranks % static_cast<int64_t>(product) == 0 : ranks == static_cast<int64_t>(product));
  if (fits && !(fill && ranks < static_cast<int64_t>(product))) {
    for (Axis &axis : axes_)
      result.mesh.axes.push_back(
          {axis.name, axis.fill ? ranks / static_cast<int64_t>(product) : *axis.size, {}, axis.range});
    return;
  }
  reportRanks(ranks, ranksAt, static_cast<int64_t>(product), fill);
}

void PlanEvaluator::reportRanks(int64_t ranks, SourceRange ranksAt, int64_t product, const Axis *fill) {
  std::string names, sizes;
  for (const Axis &axis : axes_) {
    names += (names.empty() ? "" : ", ") + axis.name;
    sizes += (sizes.empty() ? "" : " x ") + (axis.fill ? "*" : std::to_string(*axis.size));
  }
  auto builder = diags_.report(ranksAt, diag::RanksDoNotFillMesh{.ranks = ranks, .axes = names, .sizes = sizes});
  builder.snippet(Snippet::Inline);
  if (fill) {
    double exact = static_cast<double>(ranks) / static_cast<double>(product);
    int64_t below = ranks / product;
    std::string neaproduct;
    if (below > 0)
      neaproduct = std::to_string(below * product) + " (" + fill->name + " = " + std::to_string(below) + "), ";
    neaproduct += std::to_string((below + 1) * product) + " (" + fill->name + " = " + std::to_string(below + 1) + ")";
    std::string shown = std::to_string(exact);
    shown.erase(shown.find_last_not_of('0') + 1);
    builder.note(fill->name + " would be " + shown + ".  Nearest: " + neaproduct);
  } else {
    std::string fix = "ranks " + std::to_string(product);
    for (const Axis &axis : axes_)
      if (ranks % (product / *axis.size) == 0) {
        fix += ", or `" + axis.name + " = *` (" + std::to_string(ranks / (product / *axis.size)) + ")";
        break;
      }
    builder.note("the mesh has " + std::to_string(product) + " ranks").help(fix);
  }
}

void PlanEvaluator::options(const ast::Options &options, StringRef where, llvm::ArrayRef<StringRef> keys,
                            Scope &scope) {
  for (const ast::KeyValue &item : options.items) {
    checkKey(item, where, keys, diags_);
    // Values may name axes (`secondary = local`) and element types; numbers are evaluated for their names.
    if (item.value->kind != ast::ExprKind::Path)
      elaborator_.evalStatic(item.value, scope);
  }
}

void PlanEvaluator::let(const ast::PlanLet *let, Scope &scope) {
  for (const ast::Bind &bind : let->binds) {
    EvalResult value = elaborator_.evalStatic(bind.value, scope);
    scope.values[bind.name.text] = value.isStatic() ? value.value : StaticValue{UnknownStatic()};
  }
}

void PlanEvaluator::require(const ast::PlanRequire *require, Scope &scope) {
  EvalResult holds = elaborator_.evalStatic(require->cond, scope);
  auto *flag = holds.isStatic() ? holds.value.getIf<bool>() : nullptr;
  if (!flag || *flag)
    return;
  auto builder = diags_.report(require->range, diag::RequireFailed{.condition = sources_.text(require->cond->range)});
  if (require->message)
    builder.note(require->message->value.str());
}

void PlanEvaluator::include(const ast::PlanInclude *include, Scope &scope, EvaluatedPlan &result) {
  const ast::CallExpr *call = include->call;
  NamedItem plan = scope.frame->item.module->find(call->callee);
  SourceRange where = call->callee.front().range.upTo(call->callee.back().range);
  if (!plan || plan.item->kind != ast::ItemKind::Plan) {
    diags_.report(where, diag::UnknownName{.name = sources_.text(where)}).note("`include` takes a plan");
    return;
  }
  if (llvm::is_contained(including_, plan.item)) {
    diags_.report(where, diag::RecursiveInclude{.plan = plan.item->name.text});
    return;
  }
  std::vector<StaticArgument> arguments = elaborator_.evalArguments(call->args, scope);
  evaluate(plan, arguments, call->range, 0, {}, check_, result);
}

void PlanEvaluator::branch(const ast::PlanIf *branch, Scope &scope, EvaluatedPlan &result) {
  EvalResult cond = elaborator_.evalStatic(branch->cond, scope);
  auto *flag = cond.isStatic() ? cond.value.getIf<bool>() : nullptr;
  if (flag ? *flag : check_ == Check::NamesOnly)
    block(branch->thenBlock, scope, result);
  if (branch->hasElse && (flag ? !*flag : check_ == Check::NamesOnly))
    block(branch->elseBlock, scope, result);
}

void PlanEvaluator::item(const ast::PlanItem *item, Scope &scope, EvaluatedPlan &result) {
  SourceRange range = item->range;
  auto refuse = [&](auto row) {
    result.refusals.push_back({[range, row](Diagnostics &diags) { diags.report(range, row); }, {}});
  };
  switch (item->kind) {
  case ast::PlanItemKind::Let:
    return let(cast<ast::PlanLet>(item), scope);
  case ast::PlanItemKind::Require:
    return require(cast<ast::PlanRequire>(item), scope);
  case ast::PlanItemKind::Include:
    return include(cast<ast::PlanInclude>(item), scope, result);
  case ast::PlanItemKind::If:
    return branch(cast<ast::PlanIf>(item), scope, result);
  case ast::PlanItemKind::Mesh:
    return mesh(cast<ast::PlanMesh>(item), scope);
  case ast::PlanItemKind::Fold:
    return fold(cast<ast::PlanFold>(item), scope);
  case ast::PlanItemKind::Split:
    return split(cast<ast::PlanSplit>(item), scope, result);
  case ast::PlanItemKind::Keep:
    return keep(cast<ast::PlanKeep>(item), scope, result);
  case ast::PlanItemKind::Pin:
    return pin(cast<ast::PlanPin>(item), scope, result);
  case ast::PlanItemKind::Run:
    return run(cast<ast::PlanRun>(item), scope, result);
  case ast::PlanItemKind::Fuse:
    scopes(cast<ast::PlanFuse>(item)->what, scope, result);
    return refuse(diag::FuseNotYet{});
  case ast::PlanItemKind::Zero:
    return zero(cast<ast::PlanZero>(item), scope, result);
  case ast::PlanItemKind::Store:
    return store(cast<ast::PlanStore>(item), scope, result);
  case ast::PlanItemKind::Recompute:
    return recompute(cast<ast::PlanRecompute>(item), scope, result);
  case ast::PlanItemKind::Offload:
    return offload(cast<ast::PlanOffload>(item), scope, result);
  case ast::PlanItemKind::Microbatch:
    return microbatch(cast<ast::PlanMicrobatch>(item), scope, result);
  case ast::PlanItemKind::Pipeline:
    return pipeline(cast<ast::PlanPipeline>(item), scope, result);
  case ast::PlanItemKind::Precision:
    return precision(cast<ast::PlanPrecision>(item), scope, result);
  }
}
