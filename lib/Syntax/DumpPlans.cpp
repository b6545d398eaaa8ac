//===- DumpPlans.cpp - plans and workloads as text -----------------------===//
#include "Dumper.h"

namespace stg::ast {

namespace {

const char *spelling(PlanItemKind kind) {
  constexpr const char *kSpellings[] = {"let",   "require",   "include", "if",         "mesh",     "fold",
                                        "split", "keep",      "pin",     "run",        "fuse",     "zero",
                                        "store", "recompute", "offload", "microbatch", "pipeline", "precision"};
  return kSpellings[static_cast<size_t>(kind)];
}
const char *spelling(WorkItemKind kind) {
  constexpr const char *kSpellings[] = {"let",   "model",   "plan", "mode",      "sweep",
                                        "ranks", "routing", "set",  "optimizer", "emit"};
  return kSpellings[static_cast<size_t>(kind)];
}

} // namespace

void Dumper::dump(const Selector &selector) {
  os_ << " (sel";
  for (const SelPart &part : selector.parts) {
    dump(part.name);
    if (part.indexKind == SelIndex::None)
      continue;
    os_ << (part.indexKind == SelIndex::All ? "[*" : part.indexKind == SelIndex::One ? "[one" : "[range");
    for (const Expr *bound : {part.first, part.last, part.step})
      if (bound)
        dump(bound);
    os_ << ']';
  }
  os_ << ')';
}

void Dumper::selectors(llvm::StringRef word, llvm::ArrayRef<Selector> selectors) {
  if (selectors.empty())
    return;
  os_ << " (" << word;
  for (const Selector &selector : selectors)
    dump(selector);
  os_ << ')';
}

void Dumper::dump(const Options &options) {
  if (!options.present)
    return;
  os_ << " {";
  for (const KeyValue &item : options.items) {
    os_ << ' ' << item.key.text << '=';
    dump(item.value);
  }
  os_ << '}';
}

void Dumper::dump(const Config &config) {
  os_ << " (";
  dump(config.name);
  args(config.args);
  os_ << ')';
}

void Dumper::dump(llvm::ArrayRef<Axis> axes) {
  for (const Axis &axis : axes) {
    os_ << " (axis " << axis.name.text;
    axis.fill ? void(os_ << " *") : dump(axis.size);
    os_ << ')';
  }
}

void Dumper::dump(const PlanBlock &block) {
  os_ << " (block";
  ++depth_;
  for (const PlanItem *item : block.items)
    dump(*item);
  --depth_;
  os_ << ')';
}

void Dumper::dump(const PlanItem &item) {
  begin(spelling(item.kind));
  switch (item.kind) {
  case PlanItemKind::Let:
    dump(llvm::cast<PlanLet>(item).binds);
    break;
  case PlanItemKind::Require:
    dump(llvm::cast<PlanRequire>(item).cond);
    dump(llvm::cast<PlanRequire>(item).message);
    break;
  case PlanItemKind::Include:
    dump(llvm::cast<PlanInclude>(item).call);
    break;
  case PlanItemKind::If: {
    auto &node = llvm::cast<PlanIf>(item);
    dump(node.cond);
    dump(node.thenBlock);
    if (node.hasElse)
      dump(node.elseBlock);
    break;
  }
  case PlanItemKind::Mesh:
    dump(llvm::cast<PlanMesh>(item).axes);
    break;
  case PlanItemKind::Fold:
    dump(llvm::cast<PlanFold>(item).name);
    list(llvm::cast<PlanFold>(item).over);
    dump(llvm::cast<PlanFold>(item).axes);
    break;
  case PlanItemKind::Split: {
    auto &node = llvm::cast<PlanSplit>(item);
    constexpr const char *kModes[] = {"", " or replicate", " pad", " zigzag"};
    for (const SplitDim &dim : node.dims)
      os_ << " (dim " << dim.name.text << (dim.optional ? "?" : "") << kModes[static_cast<size_t>(dim.mode)] << ')';
    list(node.axes);
    selectors("in", node.in);
    break;
  }
  case PlanItemKind::Keep:
    list(llvm::cast<PlanKeep>(item).dims);
    selectors("in", llvm::cast<PlanKeep>(item).in);
    break;
  case PlanItemKind::Pin: {
    auto &node = llvm::cast<PlanPin>(item);
    dump(node.tensor);
    for (const LayoutDim &dim : node.dims) {
      dump(dim.dim);
      list(dim.axes);
    }
    os_ << " @";
    list(node.partial);
    break;
  }
  case PlanItemKind::Run:
    selectors("what", llvm::cast<PlanRun>(item).what);
    dump(llvm::cast<PlanRun>(item).as);
    break;
  case PlanItemKind::Fuse:
    selectors("what", llvm::cast<PlanFuse>(item).what);
    break;
  case PlanItemKind::Zero: {
    auto &node = llvm::cast<PlanZero>(item);
    dump(static_cast<const Expr *>(node.stage));
    list(node.axes);
    selectors("in", node.in);
    dump(node.options);
    break;
  }
  case PlanItemKind::Store: {
    auto &node = llvm::cast<PlanStore>(item);
    constexpr const char *kWhat[] = {" params", " grads", " optimizer", " gathered"};
    os_ << kWhat[static_cast<size_t>(node.what)];
    list(node.axes);
    selectors("in", node.in);
    dump(node.options);
    break;
  }
  case PlanItemKind::Recompute: {
    auto &node = llvm::cast<PlanRecompute>(item);
    constexpr const char *kWhat[] = {" all", " none", ""};
    os_ << kWhat[static_cast<size_t>(node.what)];
    selectors("what", node.selectors);
    dump(node.options);
    break;
  }
  case PlanItemKind::Offload: {
    auto &node = llvm::cast<PlanOffload>(item);
    list(node.what);
    dump(node.to);
    selectors("in", node.in);
    dump(node.options);
    break;
  }
  case PlanItemKind::Microbatch:
    dump(llvm::cast<PlanMicrobatch>(item).size);
    break;
  case PlanItemKind::Pipeline: {
    auto &node = llvm::cast<PlanPipeline>(item);
    dump(node.axis);
    if (node.schedule)
      dump(*node.schedule);
    constexpr const char *kCuts[] = {" even", " balanced", " list"};
    if (node.cutRange.valid())
      os_ << kCuts[static_cast<size_t>(node.cut)];
    for (const StageGroup &group : node.stages) {
      os_ << " (stage";
      for (const StageUnit &unit : group.units) {
        list(unit.path);
        dump(unit.count);
      }
      os_ << " x";
      dump(group.count);
      os_ << ')';
    }
    break;
  }
  case PlanItemKind::Precision:
    dump(llvm::cast<PlanPrecision>(item).options);
    selectors("in", llvm::cast<PlanPrecision>(item).in);
    break;
  }
  os_ << ')';
}

void Dumper::dump(const WorkItem &item) {
  begin(spelling(item.kind));
  switch (item.kind) {
  case WorkItemKind::Let:
    dump(llvm::cast<WorkLet>(item).binds);
    break;
  case WorkItemKind::Model:
  case WorkItemKind::Plan:
    dump(llvm::cast<WorkUse>(item).value);
    break;
  case WorkItemKind::Mode: {
    constexpr const char *kModes[] = {" forward", " train", " prefill", " decode"};
    os_ << kModes[static_cast<size_t>(llvm::cast<WorkMode>(item).mode)];
    dump(llvm::cast<WorkMode>(item).options);
    break;
  }
  case WorkItemKind::Sweep:
    for (const SweepVar &var : llvm::cast<WorkSweep>(item).vars) {
      os_ << " (" << var.name.text;
      dump(var.values);
      os_ << ')';
    }
    dump(llvm::cast<WorkSweep>(item).where);
    break;
  case WorkItemKind::Ranks:
    dump(llvm::cast<WorkRanks>(item).count);
    break;
  case WorkItemKind::Routing:
    dump(llvm::cast<WorkRouting>(item).config);
    selectors("in", llvm::cast<WorkRouting>(item).in);
    break;
  case WorkItemKind::Set:
    dump(llvm::cast<WorkSet>(item).target);
    dump(llvm::cast<WorkSet>(item).value);
    break;
  case WorkItemKind::Optimizer:
    dump(llvm::cast<WorkOptimizer>(item).value);
    selectors("in", llvm::cast<WorkOptimizer>(item).in);
    break;
  case WorkItemKind::Emit:
    dump(llvm::cast<WorkEmit>(item).format);
    dump(llvm::cast<WorkEmit>(item).options);
    break;
  }
  os_ << ')';
}

} // namespace stg::ast
