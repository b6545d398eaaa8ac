//===- Unroll.cpp - a program to the nodes of one rank ----------------------===//
// The nodes of a unit in one phase have ids that follow each other, so a node is the unit's first id of its phase plus
// a place that all units of the body share. `firstId_` holds those first ids for the micro-batch under way: the
// backward finds the forward of its own micro-batch there, and what runs once per step finds the last one. Who makes
// what a slot brings does not depend on the micro-batch (SlotOrigins).
//
// What outlives micro-batches has no place: of a gradient buffer the last node that added to it is kept, of a scalar
// all nodes that did.
//===----------------------------------------------------------------------===//

#include "SlotOrigins.h"
#include "stg/Support/InternalError.h"

namespace stg {
namespace {

class Unroller {
public:
  Unroller(const Program &program, const ProcessGroups &groups, const UnrollOptions &options, PassStats &stats,
           Diagnostics &diags, llvm::function_ref<void(const TraceNode &)> consume)
      : program_(program), groups_(groups), options_(options), stats_(stats), diags_(diags), consume_(consume) {}

  Outcome run() {
    if (program_.level < Level::Typed || program_.level == Level::Laid)
      internalError(program_.text(program_.name), "unrolling needs level Typed, or collectives instead of conversions");
    if (!prepare())
      return Outcome::Failed;
    SlotOrigins origins(program_, templates_);
    origins_ = &origins;
    lastAdded_.assign(origins.buffers(), 0);
    tallied_.resize(program_.scalars.size());
    firstId_.resize(program_.units.size());
    lastCommunication_.assign(std::max<size_t>(groups_.kinds().size(), 1), 0);
    runStep();
    return Outcome::Done;
  }

private:
  /// 1 ns of the fastest memory that is expected.
  static constexpr uint64_t kRootBytes = static_cast<uint64_t>(kRootMachine.memoryGbps);

  bool prepare() {
    templates_.resize(program_.bodies.size());
    bool ok = true;
    uint64_t nodes = 0;
    for (const Unit &unit : program_.units) {
      std::optional<BodyTemplate> &slot = templates_[unit.body.index];
      if (!slot) {
        slot = makeTemplate(program_, program_.body(unit), groups_, options_.detail, stats_, diags_);
        if (!slot) {
          slot.emplace();
          ok = false;
        }
      }
      for (const std::vector<NodeTemplate> &phase : slot->nodes)
        nodes += phase.size();
    }
    if (ok && nodes == 0) {
      diags_.report(diag::NothingToTrace{.program = program_.text(program_.name)})
          .note("a trace needs at least one node, or its reader aborts");
      ok = false;
    }
    if (ok && groups_.collision() && options_.target == TraceTarget::AstraSim)
      diags_
          .report(diag::GroupTagsCollide{.first = std::to_string(groups_.collision()->first),
                                         .second = std::to_string(groups_.collision()->second),
                                         .rank = std::to_string(groups_.collision()->rank)})
          .note("it multiplies ids by 10^6 in 32 bits, which wraps from group 2148 on")
          .help("use fewer ranks or axes for a simulation, or --target=chakra for another reader");
    return ok;
  }

  void runStep() {
    uint32_t units = static_cast<uint32_t>(program_.units.size());
    int64_t batches = std::max<int64_t>(program_.plan.microBatches, 1);
    for (int64_t batch = 0; batch < batches; ++batch) {
      for (uint32_t i = 0; i < units; ++i)
        emit(UnitId(i), Phase::Forward, batch);
      for (uint32_t i = units; i-- > 0;) {
        emit(UnitId(i), Phase::Backward, batch);
        if (batch + 1 == batches && runsPerBatch(UnitId(i)))
          emit(UnitId(i), Phase::Sync, batch);
      }
    }
    for (uint32_t i = units; i-- > 0;)
      if (runsPerBatch(UnitId(i)))
        emit(UnitId(i), Phase::AfterSync, batches - 1);
    for (uint32_t i = 0; i < units; ++i)
      if (!runsPerBatch(UnitId(i))) {
        emit(UnitId(i), Phase::Sync, batches - 1);
        emit(UnitId(i), Phase::AfterSync, batches - 1);
      }
    for (uint32_t i = 0; i < units; ++i)
      emit(UnitId(i), Phase::Step, batches - 1);
  }

  /// Units with sync and step only (of weights of the program, of the loss) wait for all others.
  bool runsPerBatch(UnitId id) const {
    const BodyTemplate &body = templateOf(id);
    return !body.of(Phase::Forward).empty() || !body.of(Phase::Backward).empty();
  }

  const BodyTemplate &templateOf(UnitId id) const { return *templates_[program_.units[id.index].body.index]; }
  bool annotates() const { return options_.detail == UnrollDetail::Annotations; }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  void emit(UnitId unit, Phase phase, int64_t batch) {
    const std::vector<NodeTemplate> &nodes = templateOf(unit).of(phase);
    firstId_[unit.index][static_cast<size_t>(phase)] = nextId_;
    if (nodes.empty())
      return;
    bool perStep = phase != Phase::Forward && phase != Phase::Backward;
    // The action stands in for the first character.
    name_ = perStep ? "S:" : "F" + std::to_string(batch) + ":";
    std::string path = program_.unitPath(program_.units[unit.index]);
    name_ += path;
    size_t prefix = name_.size();
    for (const NodeTemplate &from : nodes) {
      name_.resize(prefix);
      name_[0] = from.action;
      if (!from.name.empty()) {
        if (!path.empty() && from.name[0] != '/')
          name_ += '.';
        name_ += from.name;
      }
      emitNode(unit, from, batch);
    }
  }

  void emitNode(UnitId unit, const NodeTemplate &from, int64_t batch) {
    TraceNode node;
    node.id = nextId_++;
    node.kind = from.kind;
    node.name = name_;
    node.bytes = std::max<uint64_t>(from.bytes, 1);
    uint64_t *last = &lastCompute_;
    if (from.kind == TraceNodeKind::Collective) {
      node.collective = from.collective;
      node.groupKind = from.groupKind;
      node.group = groups_.idOf(from.groupKind, 0);
      last = &lastCommunication_[options_.target == TraceTarget::AstraSim ? 0 : from.groupKind];
    } else {
      node.opType = from.opType;
      node.flops = std::max<uint64_t>(from.flops, 1);
    }
    collectDependencies(unit, from);
    node.dataDeps = dataDeps_;
    uint64_t previous = std::exchange(*last, node.id);
    if (previous != 0)
      node.ctrlDeps = previous;
    if (previous == 0 && dataDeps_.empty() && from.kind == TraceNodeKind::Compute &&
        options_.target == TraceTarget::AstraSim)
      node.bytes = std::max(node.bytes, kRootBytes);
    for (uint32_t slot : from.buffersWritten)
      lastAdded_[origins_->buffer(unit, slot)] = node.id;
    for (uint32_t scalar : from.scalarsWritten)
      tallied_[scalar].push_back(node.id);
    if (annotates())
      consumeAnnotated(unit, from, node, batch);
    else
      consume_(node);
  }

  uint64_t idOf(UnitId unit, NodePlace place) const {
    return firstId_[unit.index][static_cast<size_t>(place.phase)] + place.index;
  }

  void collectDependencies(UnitId unit, const NodeTemplate &from) {
    dataDeps_.clear();
    for (NodePlace place : from.nodes)
      dataDeps_.push_back(idOf(unit, place));
    for (uint32_t slot : from.inputSlots)
      if (const SlotOrigin &origin = origins_->input(unit, slot); origin.kind == SlotOrigin::Kind::Node)
        dataDeps_.push_back(idOf(origin.unit, origin.place));
    for (uint32_t slot : from.buffersRead)
      if (uint64_t writer = lastAdded_[origins_->buffer(unit, slot)])
        dataDeps_.push_back(writer);
    for (uint32_t scalar : from.scalarsRead)
      dataDeps_.append(tallied_[scalar].begin(), tallied_[scalar].end());
    if (dataDeps_.size() < 2)
      return;
    // Two slots may hold one value.
    llvm::sort(dataDeps_);
    dataDeps_.erase(std::unique(dataDeps_.begin(), dataDeps_.end()), dataDeps_.end());
  }

  //===--------------------------------------------------------------------===//
  // Annotations
  //===--------------------------------------------------------------------===//

  static std::string join(std::string path, llvm::StringRef name) {
    if (!path.empty() && !name.empty())
      path += '.';
    return path + name.str();
  }

  /// Owned slots are named by their unit; the others by whose they are.
  template <class Slots, class Bindings, class ProgramList>
  std::string slotName(const Unit &unit, uint32_t slot, const Slots &slots, const Bindings &bindings,
                       const ProgramList &programList, Slots Body::*list) const {
    if (slots[slot].owned)
      return join(program_.unitPath(unit), program_.text(slots[slot].name));
    uint32_t place = 0;
    for (uint32_t i = 0; i < slot; ++i)
      place += !slots[i].owned;
    const auto &binding = bindings[place];
    if (const auto *other = std::get_if<UnitSlot>(&binding)) {
      const Unit &owner = program_.units[other->unit.index];
      return join(program_.unitPath(owner), program_.text((program_.body(owner).*list)[other->slot].name));
    }
    return program_.text(programList[std::get<0>(binding).index].name).str();
  }

  std::string weightName(const Unit &unit, uint32_t slot) const {
    return slotName(unit, slot, program_.body(unit).weights, unit.weights, program_.weights, &Body::weights);
  }

  /// Each micro-batch has activations of its own.
  std::string perBatch(std::string name, int64_t batch) const {
    return program_.plan.microBatches > 1 ? name + "#" + std::to_string(batch) : name;
  }

  std::string inputName(UnitId unit, uint32_t slot, int64_t batch) const {
    const SlotOrigin &origin = origins_->input(unit, slot);
    if (origin.kind == SlotOrigin::Kind::Program)
      return perBatch(program_.text(program_.inputs[origin.input.index].name).str(), batch);
    return tensorName(origin.unit, templateOf(origin.unit).outputs[origin.output], batch);
  }

  std::string tensorName(UnitId id, const TensorTemplate &tensor, int64_t batch) const {
    const Unit &unit = program_.units[id.index];
    switch (tensor.origin.kind) {
    case ValueOrigin::Kind::Node: {
      std::string name = join(program_.unitPath(unit), tensor.name);
      Phase phase = tensor.origin.place.phase;
      return phase == Phase::Forward || phase == Phase::Backward ? perBatch(name, batch) : name;
    }
    case ValueOrigin::Kind::Nowhere:
      return join(program_.unitPath(unit), tensor.name);
    case ValueOrigin::Kind::Input:
      return inputName(id, tensor.origin.index, batch);
    case ValueOrigin::Kind::Weight:
      return weightName(unit, tensor.origin.index);
    case ValueOrigin::Kind::Gradient:
      return weightName(unit, tensor.origin.index) + ".grad";
    case ValueOrigin::Kind::Scalar:
      return program_.text(program_.scalars[tensor.origin.index]).str();
    case ValueOrigin::Kind::State:
      return slotName(unit, tensor.origin.index, program_.body(unit).states, unit.states, program_.states,
                      &Body::states);
    }
    return "";
  }

  void consumeAnnotated(UnitId unit, const NodeTemplate &from, TraceNode &node, int64_t batch) {
    std::vector<std::string> names;
    names.reserve(from.reads.size() + from.writes.size());
    auto named = [&](const std::vector<TensorTemplate> &tensors) {
      std::vector<TraceTensor> list;
      for (const TensorTemplate &tensor : tensors)
        list.push_back({names.emplace_back(tensorName(unit, tensor, batch)), tensor.bytes});
      return list;
    };
    std::vector<TraceTensor> inputs = named(from.reads), outputs = named(from.writes);
    TraceAnnotations annotations{.extents = from.extents,
                                 .dtype = from.dtype,
                                 .part = from.part,
                                 .microBatch = std::nullopt,
                                 .source = from.source,
                                 .inputs = inputs,
                                 .outputs = outputs};
    if (from.action != 'S')
      annotations.microBatch = batch;
    node.annotations = &annotations;
    consume_(node);
  }

  const Program &program_;
  const ProcessGroups &groups_;
  const UnrollOptions &options_;
  PassStats &stats_;
  Diagnostics &diags_;
  llvm::function_ref<void(const TraceNode &)> consume_;
  std::vector<std::optional<BodyTemplate>> templates_;
  const SlotOrigins *origins_ = nullptr;
  /// Per unit and phase, of the micro-batch under way.
  std::vector<std::array<uint64_t, kPhases>> firstId_;
  /// Per gradient buffer: the last node that added to it, or 0.
  std::vector<uint64_t> lastAdded_;
  /// Per scalar of the step.
  std::vector<std::vector<uint64_t>> tallied_;
  uint64_t nextId_ = 1;
  uint64_t lastCompute_ = 0;
  /// Per order of communication; 0: none yet.
  std::vector<uint64_t> lastCommunication_;
  std::string name_;
  llvm::SmallVector<uint64_t, 8> dataDeps_;
};

} // namespace

Outcome unroll(const Program &program, const ProcessGroups &groups, const UnrollOptions &options,
               llvm::function_ref<void(const TraceNode &)> consume, PassStats &stats, Diagnostics &diags) {
  return Unroller(program, groups, options, stats, diags, consume).run();
}

} // namespace stg
