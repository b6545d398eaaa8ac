//===- PlanRules.cpp - the rules of a plan ------------------------------------------===//
// Each becomes the entry of Plan (IR/Plan.h) that passes read, in the order of the plan; its dims stay as written until
// the model is known (PlanNames.cpp).
//===----------------------------------------------------------------------===//
#include "Plan.h"
#include "stg/IR/BatchRanks.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace stg;
using llvm::cast;
using llvm::StringRef;

/// The names of axes, each of the mesh or of a fold (E301).
std::vector<std::string> PlanEvaluator::useAxes(llvm::ArrayRef<ast::Name> axes) {
  std::vector<std::string> names;
  std::vector<StringRef> known;
  for (const Axis &axis : axes_)
    known.push_back(axis.name);
  for (auto &[name, range] : folded_)
    known.push_back(name);
  for (const ast::Name &axis : axes) {
    names.push_back(axis.text.str());
    if (llvm::is_contained(known, axis.text))
      continue;
    auto builder =
        diags_.report(axis.range, diag::UnknownPlanName{.kind = "axis", .name = axis.text, .where = "this mesh"});
    builder.label(known.empty() ? "this plan has no mesh" : "axes of this mesh: " + llvm::join(known, " "));
    if (auto close = closestName(axis.text, known))
      builder.fixit(axis.range, close->str());
  }
  return names;
}

Scopes PlanEvaluator::scopes(llvm::ArrayRef<ast::Selector> selectors, Scope &scope, EvaluatedPlan &result) {
  Scopes patterns;
  for (const ast::Selector &selector : selectors) {
    auto pattern = evaluateSelector(selector, elaborator_, scope, context_, diags_, sources_.text(selector.range));
    if (!pattern)
      continue;
    result.mentions.push_back({{}, false, *pattern, selector.range});
    patterns.push_back(std::move(*pattern));
  }
  return patterns;
}

void PlanEvaluator::split(const ast::PlanSplit *split, Scope &scope, EvaluatedPlan &result) {
  SplitRule rule;
  rule.axes = useAxes(split->axes);
  for (const ast::SplitDim &dim : split->dims) {
    result.mentions.push_back({dim.name, dim.optional, std::nullopt, dim.range});
    SplitRule::Target target{context_.name(dim.name.text)};
    target.remainder = dim.mode == ast::SplitMode::OrReplicate ? Remainder::Replicate
                       : dim.mode == ast::SplitMode::Pad       ? Remainder::Pad
                                                               : Remainder::Error;
    target.zigzag = dim.mode == ast::SplitMode::Zigzag;
    rule.dims.push_back(target);
  }
  rule.scopes = scopes(split->in, scope, result);
  rule.where = split->range;
  result.plan.splits.push_back(std::move(rule));
}

void PlanEvaluator::keep(const ast::PlanKeep *keep, Scope &scope, EvaluatedPlan &result) {
  Scopes in = scopes(keep->in, scope, result);
  for (const ast::Name &dim : keep->dims) {
    result.mentions.push_back({dim, false, std::nullopt, dim.range});
    result.plan.keeps.push_back({context_.name(dim.text), in, keep->range});
  }
}

void PlanEvaluator::pin(const ast::PlanPin *pin, Scope &scope, EvaluatedPlan &result) {
  PinRule rule;
  std::vector<ast::Name> written;
  for (const ast::LayoutDim &dim : pin->dims) {
    result.mentions.push_back({dim.dim, false, std::nullopt, dim.dim.range});
    rule.dims.push_back({context_.name(dim.dim.text), useAxes(dim.axes)});
    written.insert(written.end(), dim.axes.begin(), dim.axes.end());
  }
  rule.partial = useAxes(pin->partial);
  written.insert(written.end(), pin->partial.begin(), pin->partial.end());
  for (size_t i = 0; i < written.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (written[i].text == written[j].text) {
        auto builder = diags_.report(written[j].range, diag::AxisTwiceInPin{.axis = written[i].text});
        builder.label(written[i].range, "an axis can split one dimension of a tensor");
      }
  Scopes value = scopes({pin->tensor}, scope, result);
  if (value.empty())
    return;
  rule.value = value.front();
  rule.where = pin->range;
  result.plan.pins.push_back(std::move(rule));
}

void PlanEvaluator::run(const ast::PlanRun *run, Scope &scope, EvaluatedPlan &result) {
  static constexpr StringRef kComing[] = {"combine", "collective_matmul", "summa"};
  static constexpr StringRef kKnown[] = {"gather", "ring", "halo", "combine", "two_level"};
  RunRule rule;
  rule.scopes = scopes(run->what, scope, result);
  rule.where = run->range;
  StringRef name = run->as.name.text;
  if (llvm::is_contained(kComing, name)) {
    result.refusals.push_back({[range = run->range, name = name.str()](Diagnostics &diags) {
                                 diags.report(range, diag::RunNotYet{.algorithm = name});
                               },
                               {}});
    return;
  }
  std::optional<RunAlgorithm> algorithm = runAlgorithmFrom(name);
  if (!algorithm) {
    auto report = diags_.report(run->as.name.range, diag::UnknownAlgorithm{.algorithm = name});
    report.label("algorithms: gather, ring, halo, two_level(node = 8)");
    if (auto close = closestName(name, kKnown))
      report.fixit(run->as.name.range, close->str());
    return;
  }
  if (algorithm == RunAlgorithm::TwoLevel) {
    std::vector<StaticArgument> arguments = elaborator_.evalArguments(run->as.args, scope);
    if (arguments.size() != run->as.args.size())
      return; // reported
    bool isNode =
        arguments.size() == 1 && (arguments[0].name.empty() ? arguments[0].bareName : arguments[0].name) == "node";
    if (!isNode) {
      diags_.report(run->as.range, diag::NotUsableHere{.expression = sources_.text(run->as.range),
                                                       .actual = "an algorithm that does not say what a node is",
                                                       .expected = "`two_level(node = 8)`, with the ranks of a node"});
      return;
    }
    std::optional<int64_t> node = number(arguments[0].value, arguments[0].range, "node");
    if (!node)
      return;
    rule.node = static_cast<uint32_t>(std::min<int64_t>(*node, INT32_MAX));
  } else if (!run->as.args.empty()) {
    diags_.report(run->as.range, diag::NotUsableHere{.expression = sources_.text(run->as.range),
                                                     .actual = "an algorithm with arguments",
                                                     .expected = "`" + name.str() + "` alone"});
    return;
  }
  rule.algorithm = *algorithm;
  if (!rule.scopes.empty()) // else reported
    result.plan.runs.push_back(std::move(rule));
}

void PlanEvaluator::microbatch(const ast::PlanMicrobatch *item, Scope &scope, EvaluatedPlan &result) {
  auto size = number(item->size, scope, "microbatch");
  if (result.microbatchAt.valid() && check_ == Check::WithSizes) // else both branches of an `if` are read
    diags_.report(item->range, diag::StatementTwice{}).noteAt(result.microbatchAt, "the other one is here");
  result.microbatchAt = item->range;
  result.microbatch = size;
}

//===----------------------------------------------------------------------===//
// Folds
//===----------------------------------------------------------------------===//

void PlanEvaluator::fold(const ast::PlanFold *fold, Scope &scope) {
  PendingFold pending{fold, {}, false};
  for (const ast::Name &over : fold->over)
    if (llvm::none_of(axes_, [&](const Axis &axis) { return axis.name == over.text; })) {
      useAxes({over});
      pending.faulty = true;
    }
  for (const ast::Axis &axis : fold->axes) {
    auto taken = [&](const auto &known) { return known == axis.name.text; };
    bool twice = llvm::any_of(axes_, [&](const Axis &known) { return taken(known.name); }) ||
                 llvm::any_of(folded_, [&](const auto &known) { return taken(known.first); });
    if (twice && check_ == Check::WithSizes) { // else both branches of an `if` are read
      diags_.report(axis.name.range, diag::NameTwice{.name = axis.name.text});
      pending.faulty = true;
    }
    folded_.push_back({axis.name.text.str(), axis.range});
    pending.sizes.push_back(sizeOf(axis, scope));
    pending.faulty |= !axis.fill && !pending.sizes.back();
  }
  folds_.push_back(std::move(pending));
}

void PlanEvaluator::addFold(const PendingFold &pending, EvaluatedPlan &result) {
  const ast::PlanFold &item = *pending.item;
  if (pending.faulty)
    return;
  MeshFold fold;
  fold.name = item.name.text.str();
  int64_t spanned = 1;
  std::string spannedText;
  for (const ast::Name &over : item.over) {
    fold.over.push_back(over.text.str());
    int64_t size = result.mesh.findAxis(over.text)->size;
    spanned *= size;
    spannedText += (spannedText.empty() ? "" : ", ") + over.text.str() + " = " + std::to_string(size);
  }
  Int128 product = 1;
  std::string names, sizes;
  const ast::Axis *fill = nullptr;
  std::vector<int64_t> given;
  for (size_t i = 0; i < item.axes.size(); ++i) {
    const ast::Axis &axis = item.axes[i];
    if (axis.fill && fill) {
      diags_.report(axis.range, diag::FillTwice{.axis = axis.name.text, .other = fill->name.text});
      return;
    }
    if (axis.fill)
      fill = &axis;
    given.push_back(pending.sizes[i].value_or(0));
    product *= pending.sizes[i].value_or(1);
    names += (names.empty() ? "" : " * ") + axis.name.text.str();
    sizes += (sizes.empty() ? "" : " * ") + (axis.fill ? "*" : std::to_string(*pending.sizes[i]));
    if (product > spanned) // whatever follows
      product = Int128(spanned) * 2;
  }
  bool fits = fill ? product <= spanned && spanned % static_cast<int64_t>(product) == 0 : product == spanned;
  if (!fits) {
    Int128 exact = 1;
    for (int64_t size : given)
      exact *= std::max<int64_t>(size, 1);
    return reportFold(item, given, spanned, names + " = " + sizes + (fill ? "" : " = " + toString(exact)));
  }
  for (size_t i = 0; i < item.axes.size(); ++i)
    fold.axes.push_back(
        {item.axes[i].name.text.str(), pending.sizes[i] ? *pending.sizes[i] : spanned / static_cast<int64_t>(product)});
  if (!result.mesh.addFold(fold)) {
    auto builder = diags_.report(
        item.range,
        diag::FoldCutsUnevenly{.fold = item.name.text, .axes = names + " = " + sizes, .spanned = spannedText});
    builder.note(
        "counted from the last axis, each axis of a fold takes whole factors of what it spans; two folds over one "
        "axis cut it at multiples of each other");
  }
}

/// E306, with sizes that would do: those nearest to what the last axis has.
void PlanEvaluator::reportFold(const ast::PlanFold &fold, llvm::ArrayRef<int64_t> sizes, int64_t spanned,
                               const std::string &product) {
  std::string over;
  for (const ast::Name &name : fold.over)
    over += (over.empty() ? "" : " * ") + name.text.str();
  auto builder = diags_.report(
      fold.range, diag::FoldDoesNotNest{.fold = fold.name.text, .product = product, .axis = over, .ranks = spanned});
  if (fold.axes.size() != 2)
    return;
  size_t last = sizes[1] > 0 ? 1 : 0;
  StringRef mine = fold.axes[last].name.text, other = fold.axes[1 - last].name.text;
  std::vector<int64_t> divisors;
  for (int64_t d = 1; d * d <= spanned; ++d)
    if (spanned % d == 0) {
      divisors.push_back(d);
      if (d != spanned / d)
        divisors.push_back(spanned / d);
    }
  auto distance = [&](int64_t d) { return std::pair(std::abs(d - sizes[last]), d); };
  llvm::sort(divisors, [&](int64_t a, int64_t b) { return distance(a) < distance(b); });
  std::string listed;
  for (int64_t d : llvm::ArrayRef(divisors).take_front(3))
    listed += (listed.empty() ? "" : ", ") + std::to_string(d) + " (" + other.str() + " = " +
              std::to_string(spanned / d) + ")";
  builder.note(mine.str() + " must divide " + std::to_string(spanned) + ": " + listed);
}

//===----------------------------------------------------------------------===//
// Precision and micro-batches
//===----------------------------------------------------------------------===//

void PlanEvaluator::precision(const ast::PlanPrecision *precision, Scope &scope, EvaluatedPlan &result) {
  static constexpr StringRef kKeys[] = {"weight", "act",  "grad",      "master",     "moment",
                                        "cache",  "gemm", "comm_grad", "comm_params"};
  PrecisionRule rule;
  std::optional<GemmRule> gemm;
  for (const ast::KeyValue &item : precision->options.items) {
    checkKey(item, "precision", kKeys, diags_);
    EvalResult value = elaborator_.evalStatic(item.value, scope);
    auto *element = value.isStatic() ? value.value.getIf<ElementType>() : nullptr;
    if (!element) {
      if (!value.isFailed() && !(value.isStatic() && value.value.isUnknown()))
        diags_.report(item.value->range,
                      diag::NotUsableHere{.expression = sources_.text(item.value->range),
                                          .actual = value.isStatic() ? value.value.kindName() : "a tensor",
                                          .expected = "an element type, such as bf16"});
      continue;
    }
    if (auto cls = tensorClassFrom(item.key.text)) {
      if (!isFloat(*element))
        diags_.report(item.value->range, diag::NotUsableHere{.expression = sources_.text(item.value->range),
                                                             .actual = "an integer type",
                                                             .expected = "a floating-point type"});
      rule.types[*cls] = *element;
    } else if (item.key.text == "gemm") {
      if (isFloat(*element) && bitWidth(*element) >= 8)
        gemm = GemmRule{*element, {}, item.range};
      else
        diags_.report(item.value->range, diag::GemmTypeUnusable{.type = spelling(*element)});
    }
  }
  rule.scopes = scopes(precision->in, scope, result);
  if (gemm) {
    gemm->scopes = rule.scopes;
    result.plan.gemms.push_back(*gemm);
  }
  if (rule.types.empty())
    return;
  for (size_t i = 0; i < rule.scopes.size() && i < precision->in.size(); ++i)
    if (rule.scopes[i].hasIndex()) {
      SourceRange range = precision->in[i].range;
      result.refusals.push_back({[range](Diagnostics &diags) { diags.report(range, diag::IndexedScopeNotYet{}); }, {}});
    }
  result.precision.rules.push_back(std::move(rule));
}

MicroBatching stg::microBatching(const EvaluatedPlan &plan, IRContext &context) {
  BatchRanks ranks = batchRanks(plan.mesh, plan.plan.splits, context.name("B"));
  return {*plan.microbatch, ranks.count, std::move(ranks.axes), plan.microbatchAt};
}
