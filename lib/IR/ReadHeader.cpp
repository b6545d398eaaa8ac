//===- ReadHeader.cpp - mesh, sizes, plan and inputs from text -------------------===//
#include "ProgramReader.h"

namespace stg::detail {

void ProgramReader::readHeader() {
  lex_.wantWord("program");
  program_.name = nameId("the program's name");
  lex_.wantWord("mode");
  program_.mode = enumeration(modeFrom, "a mode");
  if (lex_.takeWord("mesh"))
    do
      program_.mesh.axes.push_back(axis());
    while (lex_.take(","));

  while (lex_.takeWord("fold"))
    readFold();
  atoms_ = program_.mesh.atoms();
  if (lex_.takeWord("sizes"))
    do
      readSize();
    while (lex_.take(","));
  while (lex_.takeWord("factor")) {
    Factoring factoring;
    factoring.whole = nameId("a dim");
    lex_.want("=");
    names(factoring.parts);
    program_.factorings.push_back(std::move(factoring));
  }
  while (lex_.takeWord("from")) {
    Enumeration enumeration;
    enumeration.dim = nameId("a dim");
    lex_.want("=");
    names(enumeration.sources);
    program_.enumerations.push_back(std::move(enumeration));
  }
  while (readPlanLine())
    ;
  if (lex_.takeWord("routing"))
    readRouting();
  while (lex_.takeWord("scalar")) {
    uint32_t begin = lex_.position();
    std::string name = lex_.name("a scalar");
    define(scalars_, "scalar", name, static_cast<uint32_t>(program_.scalars.size()), begin);
    program_.scalars.push_back(context_.name(name));
  }
  while (lex_.takeWord("input"))
    readGlobal<InputId>(program_.inputs, inputs_, "input");
  while (lex_.takeWord("weight"))
    readGlobal<WeightId>(program_.weights, weights_, "weight");
  while (lex_.takeWord("state"))
    readGlobal<StateId>(program_.states, states_, "state");
}

void ProgramReader::readRouting() {
  Routing &routing = program_.routing;
  routing.kind = enumeration(routingKindFrom, "a routing");
  if (routing.kind == RoutingKind::Zipf) {
    routing.exponent = lex_.number<double>("the exponent");
    lex_.wantWord("seed");
    routing.seed = lex_.number<uint64_t>("the seed");
  } else if (routing.kind == RoutingKind::Trace) {
    lex_.list('(', ')', [&] { routing.loads.push_back(lex_.number<uint64_t>("the load of an expert")); });
  }
  routing.drops = lex_.takeWord("drop");
  lex_.wantWord("exchange");
  routing.exchange = enumeration(unevenExchangeFrom, "`pad` or `p2p`");
}

MeshAxis ProgramReader::axis() {
  MeshAxis axis;
  axis.name = lex_.name("a mesh axis");
  lex_.want("=");
  uint32_t begin = lex_.position();
  axis.size = lex_.number<int64_t>("the size of the axis");
  // Ranks are numbered in 32 bits.
  ranks_ *= axis.size;
  if (axis.size < 1 || ranks_ > INT32_MAX) {
    lex_.diags()
        .report(lex_.since(begin), diag::IRBadSize{.text = std::to_string(axis.size)})
        .help("axes have 1 rank or more, a mesh fewer than 2^31");
    throw ReadFailure();
  }
  if (lex_.takeWord("cut"))
    lex_.list('(', ')', [&] { axis.cuts.push_back(lex_.number<int64_t>("a stride")); });
  return axis;
}

void ProgramReader::axisNames(std::vector<std::string> &into) {
  lex_.list('(', ')', [&] { into.push_back(lex_.name("a mesh axis")); });
}

void ProgramReader::readFold() {
  MeshFold fold;
  fold.name = lex_.name("the fold's name");
  lex_.wantWord("over");
  axisNames(fold.over);
  ranks_ = 1;
  lex_.list('(', ')', [&] { fold.axes.push_back(axis()); });
  program_.mesh.folds.push_back(std::move(fold));
}

void ProgramReader::readSize() {
  uint32_t begin = lex_.position();
  std::string name = lex_.name("a size parameter");
  std::optional<int64_t> value;
  if (lex_.take("=")) {
    uint32_t numberBegin = lex_.position();
    value = lex_.number<int64_t>("a whole number");
    if (*value < 1) {
      lex_.diags()
          .report(lex_.since(numberBegin), diag::IRBadSize{.text = std::to_string(*value)})
          .help("sizes are 1 or more");
      throw ReadFailure();
    }
  }
  define(sizes_, "size", name, true, begin);
  program_.sizes.push_back({context_.name(name), context_.dims.symbol(name, value)});
}

template <class GlobalId, class Global>
void ProgramReader::readGlobal(std::vector<Global> &globals, llvm::StringMap<GlobalId> &index, llvm::StringRef kind) {
  uint32_t begin = lex_.position();
  std::string name = lex_.name("a name");
  define(index, kind, name, GlobalId(static_cast<uint32_t>(globals.size())), begin);
  lex_.want(":");
  TensorType global = type();
  globals.push_back({context_.name(name), std::move(global), lex_.since(begin)});
}

PathPattern ProgramReader::pattern() {
  uint32_t begin = lex_.position();
  std::string text = lex_.string();
  std::optional<PathPattern> read = pathPatternFrom(text);
  if (!read)
    unknown("path pattern", text, begin);
  return std::move(*read);
}

Scopes ProgramReader::scopes() {
  Scopes list;
  if (lex_.takeWord("in"))
    lex_.list('(', ')', [&] { list.push_back(pattern()); });
  return list;
}

SplitRule::Target ProgramReader::splitTarget() {
  SplitRule::Target target;
  target.dim = nameId("a dim");
  target.zigzag = lex_.takeWord("zigzag");
  if (lex_.takeWord("or")) {
    lex_.wantWord("replicate");
    target.remainder = Remainder::Replicate;
  } else if (lex_.takeWord("pad")) {
    target.remainder = Remainder::Pad;
  }
  return target;
}

bool ProgramReader::readPlanLine() {
  Plan &plan = program_.plan;
  uint32_t begin = lex_.position();
  if (lex_.takeWord("split")) {
    SplitRule rule;
    lex_.list('(', ')', [&] { rule.dims.push_back(splitTarget()); });
    lex_.wantWord("over");
    axisNames(rule.axes);
    rule.scopes = scopes();
    rule.where = lex_.since(begin);
    plan.splits.push_back(std::move(rule));
  } else if (lex_.takeWord("keep")) {
    KeepRule rule;
    rule.dim = nameId("a dim");
    rule.scopes = scopes();
    rule.where = lex_.since(begin);
    plan.keeps.push_back(std::move(rule));
  } else if (lex_.takeWord("pin")) {
    PinRule rule;
    rule.value = pattern();
    lex_.list('(', ')', [&] {
      NameId dim = nameId("a dim");
      lex_.wantWord("over");
      axisNames(rule.dims.emplace_back(dim, std::vector<std::string>()).second);
    });
    if (lex_.takeWord("partial"))
      axisNames(rule.partial);
    rule.where = lex_.since(begin);
    plan.pins.push_back(std::move(rule));
  } else if (lex_.takeWord("gathered")) {
    KeepGatheredRule rule;
    axisNames(rule.axes);
    rule.scopes = scopes();
    rule.where = lex_.since(begin);
    plan.keepGathered.push_back(std::move(rule));
  } else if (lex_.takeWord("zero")) {
    readStorageRule(begin);
  } else if (lex_.takeWord("gemm")) {
    GemmRule rule;
    rule.element = element();
    rule.scopes = scopes();
    rule.where = lex_.since(begin);
    plan.gemms.push_back(std::move(rule));
  } else if (lex_.takeWord("run")) {
    RunRule rule;
    rule.algorithm = enumeration(runAlgorithmFrom, "an algorithm");
    if (lex_.takeWord("node"))
      rule.node = lex_.number<uint32_t>("the ranks of a node");
    rule.scopes = scopes();
    rule.where = lex_.since(begin);
    plan.runs.push_back(std::move(rule));
  } else if (lex_.takeWord("recompute")) {
    RecomputeRule rule;
    rule.recomputes = !lex_.takeWord("none");
    rule.scopes = scopes();
    rule.keepsCommunication = lex_.takeWord("keep_communication");
    rule.stopsEarly = !lex_.takeWord("to_the_end");
    rule.where = lex_.since(begin);
    plan.recompute.push_back(std::move(rule));
  } else if (lex_.takeWord("offload")) {
    OffloadRule rule;
    rule.weights = lex_.takeWord("weights");
    rule.masters = lex_.takeWord("masters");
    rule.moments = lex_.takeWord("moments");
    rule.activations = lex_.takeWord("activations");
    rule.scopes = scopes();
    rule.overlaps = !lex_.takeWord("in_turn");
    lex_.wantWord("prefetch");
    rule.prefetch = lex_.number<uint32_t>("how many units ahead");
    rule.where = lex_.since(begin);
    plan.offload.push_back(std::move(rule));
  } else if (lex_.takeWord("optimizer")) {
    readOptimizer(begin);
  } else if (lex_.takeWord("pipeline")) {
    readPipelineRule(begin);
  } else if (lex_.takeWord("microbatches")) {
    plan.microBatches = lex_.number<int64_t>("the number of micro-batches");
  } else if (lex_.takeWord("clip")) {
    plan.clip = lex_.number<double>("the largest gradient norm");
  } else {
    return false;
  }
  return true;
}

void ProgramReader::readStorageRule(uint32_t begin) {
  StorageRule rule;
  rule.stage = lex_.number<uint32_t>("the stage, 1 to 3");
  lex_.wantWord("over");
  axisNames(rule.axes);
  rule.scopes = scopes();
  rule.regather = !lex_.takeWord("gathered_once");
  rule.regatherLast = lex_.takeWord("last_too");
  rule.gatherUnread = lex_.takeWord("unread_too");
  rule.unit = lex_.takeWord("by_weight") ? StorageUnit::Weight : StorageUnit::Unit;
  rule.sync = lex_.takeWord("sync_each") ? GradientSync::MicroBatch : GradientSync::Step;
  rule.allReduces = lex_.takeWord("all_reduced");
  rule.gathersLate = lex_.takeWord("gathered_late");
  lex_.wantWord("prefetch");
  rule.prefetch = lex_.number<uint32_t>("how many units ahead");
  rule.where = lex_.since(begin);
  program_.plan.storage.push_back(std::move(rule));
}

void ProgramReader::readOptimizer(uint32_t begin) {
  OptimizerRule rule;
  if (!lex_.takeWord("none"))
    rule.name = nameId("an optimizer or `none`");
  rule.scopes = scopes();
  if (lex_.peek('('))
    lex_.list('(', ')', [&] {
      OptimizerBody &entry = rule.bodies.emplace_back();
      entry.weight = type();
      precision(entry);
      lex_.want("=");
      uint32_t bodyBegin = lex_.position();
      std::string name = lex_.name("the name of a body");
      optimizerBodies_.push_back(
          {program_.plan.optimizers.size(), rule.bodies.size() - 1, name, lex_.since(bodyBegin)});
    });
  rule.where = lex_.since(begin);
  program_.plan.optimizers.push_back(std::move(rule));
}

} // namespace stg::detail
