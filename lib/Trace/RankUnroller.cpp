//===- RankUnroller.cpp - the nodes of one class of ranks -------------------===//
// Ids of the nodes of one micro-batch stand in a record: the backward finds those of its own forward there, however
// many micro-batches are under way. A record is given up with the micro-batch's last action, so there are as many as
// the schedule keeps in flight. Who makes what a slot brings depends on neither rank nor micro-batch (SlotOrigins).
//
// What outlives micro-batches has no place: of a gradient buffer the last node that added to it is kept, of a scalar
// all nodes that did.
//===----------------------------------------------------------------------===//
#include "RankUnroller.h"
#include "ActionOrder.h"
#include "Arrivals.h"
#include "BatchRecords.h"
#include "ClassLoads.h"
#include "GroupMessages.h"
#include "NodeNames.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {
namespace {

/// 1 ns of the fastest memory that is expected.
constexpr uint64_t kRootBytes = static_cast<uint64_t>(kRootMachine.memoryGbps);

class RankUnroller {
public:
  RankUnroller(const UnrollPlan &plan, uint32_t rankClass, llvm::function_ref<void(const TraceNode &)> consume)
      : plan_(plan), program_(plan.program), list_(plan.lists[plan.classes->placeOf(rankClass)]), rankClass_(rankClass),
        place_(plan.classes->placeOf(rankClass)), firstRank_(plan.classes->firstRank(rankClass)), consume_(consume),
        names_(plan.program, plan.templates, *plan.origins), loads_(plan.program, plan.templates, firstRank_),
        inGroups_(plan.groups, firstRank_), name_(plan.program) {
    lastAdded_.assign(plan.origins->buffers(), 0);
    tallied_.resize(program_.scalars.size());
    groups_.resize(plan.groups.kinds().size());
    lastCommunication_.resize(std::max<size_t>(plan.groups.kinds().size(), 1));
    placeUnits();
    countActions();
    if (plan.messages)
      received_.resize(plan.messages->count());
  }

  void run() {
    for (position_ = 0; position_ < list_.size(); ++position_)
      runSlot(list_[position_]);
    runStep();
  }

private:
  //===--------------------------------------------------------------------===//
  // What this rank has
  //===--------------------------------------------------------------------===//

  void placeUnits() {
    offsets_.resize(program_.units.size());
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      if (program_.pipeline && !program_.pipeline->runsOn(UnitId(u), place_))
        continue;
      units_.push_back(UnitId(u));
      for (size_t phase = 0; phase < kPhases; ++phase) {
        size_t &end = phase < kBatchPhases ? batchNodes_ : stepNodes_;
        offsets_[u][phase] = end;
        end += plan_.templateOf(UnitId(u)).nodes[phase].size();
      }
      gathersOnce_ |= !plan_.templateOf(UnitId(u)).of(Phase::Gather).empty();
    }
    stepIds_.resize(stepNodes_);
  }

  void countActions() {
    auto count = [&](size_t position, const Action &action) {
      records_.countAction(action.microBatch);
      if (plan_.messages)
        sendsLeft_ += plan_.messages->departures(action).size();
      if (!makesWeightGrad(action))
        return;
      if (action.stage >= lastWeightGrad_.size())
        lastWeightGrad_.resize(action.stage + 1);
      lastWeightGrad_[action.stage] = position;
    };
    for (size_t i = 0; i < list_.size(); ++i) {
      count(i, list_[i].action);
      if (list_[i].overlapped)
        count(i, *list_[i].overlapped);
    }
  }

  /// With two copies of a stage, its gradients are complete when both are.
  bool syncsEarly() const { return !program_.pipeline || program_.pipeline->placement.copies.size() == 1; }

  //===--------------------------------------------------------------------===//
  // Actions
  //===--------------------------------------------------------------------===//

  const std::vector<OrderedNode> &itemsOf(const Action &action) {
    std::vector<OrderedNode> &items = items_[{action.stage, action.kind}];
    if (!items.empty())
      return items;
    items = orderOf(program_, plan_.templates, plan_.firstUnits[action.stage], plan_.firstUnits[action.stage + 1],
                    action.kind);
    return items;
  }

  /// One action on its way: its nodes, and the messages that leave between them.
  struct Course {
    const Action &action;
    const std::vector<OrderedNode> &items;
    llvm::ArrayRef<Messages::Departure> departures;
    size_t done = 0;
    bool finished() const { return done == items.size(); }
  };

  Course begin(const Action &action) {
    receive(action);
    return {action, itemsOf(action),
            plan_.messages ? plan_.messages->departures(action) : llvm::ArrayRef<Messages::Departure>()};
  }

  void sendWhatIsMade(Course &course) {
    while (!course.departures.empty() && course.departures.front().after == course.done) {
      emitSend(course.departures.front().transfer, course.action.microBatch);
      course.departures = course.departures.drop_front();
    }
  }

  void advance(Course &course) {
    const OrderedNode &item = course.items[course.done++];
    if (gathersOnce_ && course.action.kind == ActionKind::Forward)
      gatherOnce(course.action.stage, item.turn);
    emitNode(item.unit, item.place, course.action.microBatch);
    sendWhatIsMade(course);
  }

  /// Weights that stay gathered for the whole step: in the turns of the first forward of a stage.
  void gatherOnce(uint32_t stage, UnitId turn) {
    uint32_t first = plan_.firstUnits[stage], last = plan_.firstUnits[stage + 1];
    uint32_t &next = gathered_.try_emplace(stage, first).first->second;
    for (; next < last && next <= uint64_t{turn.index} + prefetchOf(program_.plan); ++next)
      emitPhase(UnitId(next), Phase::Gather);
  }

  void runSlot(const Slot &slot) {
    records_.open(slot.action.microBatch, batchNodes_);
    if (slot.overlapped)
      records_.open(slot.overlapped->microBatch, batchNodes_);
    Course first = begin(slot.action);
    if (slot.overlapped) {
      Course second = begin(*slot.overlapped);
      sendWhatIsMade(first);
      sendWhatIsMade(second);
      while (!first.finished() || !second.finished())
        advance(second.finished() || (!first.finished() && forwardIsNext(first.done + 1, first.items.size(),
                                                                         second.done + 1, second.items.size()))
                    ? first
                    : second);
      syncBehind(*slot.overlapped, 0);
    } else {
      sendWhatIsMade(first);
      runAlone(first);
    }
    records_.close(slot.action.microBatch);
    if (slot.overlapped)
      records_.close(slot.overlapped->microBatch);
  }

  /// In the last backward of a stage the sync of a unit follows its own nodes.
  void runAlone(Course &course) {
    if (!syncsBehind(course.action)) {
      while (!course.finished())
        advance(course);
      return;
    }
    uint32_t last = plan_.firstUnits[course.action.stage + 1];
    uint32_t synced = 0;
    while (!course.finished()) {
      for (; last - 1 - synced > course.items[course.done].turn.index; ++synced)
        syncUnit(UnitId(last - 1 - synced));
      advance(course);
    }
    syncBehind(course.action, synced);
  }

  bool syncsBehind(const Action &action) const {
    return makesWeightGrad(action) && syncsEarly() && lastWeightGrad_[action.stage] == position_;
  }

  /// Of the stage's units, last ones first, all but those that are.
  void syncBehind(const Action &action, uint32_t synced) {
    if (!syncsBehind(action))
      return;
    uint32_t first = plan_.firstUnits[action.stage], last = plan_.firstUnits[action.stage + 1];
    for (; synced < last - first; ++synced)
      syncUnit(UnitId(last - 1 - synced));
  }

  /// A message that others wait for goes before gradients that nobody waits for.
  void syncUnit(UnitId unit) {
    if (!plan_.templateOf(unit).runsInBatches())
      return;
    if (sendsLeft_ == 0)
      emitPhase(unit, Phase::Sync);
    else
      unsynced_.push_back(unit);
  }

  void syncWhatWaited() {
    for (UnitId unit : unsynced_)
      emitPhase(unit, Phase::Sync);
    unsynced_.clear();
  }

  //===--------------------------------------------------------------------===//
  // The step
  //===--------------------------------------------------------------------===//

  void runStep() {
    sumCopies();
    auto runsInBatches = [&](UnitId unit) { return plan_.templateOf(unit).runsInBatches(); };
    for (UnitId unit : llvm::reverse(units_))
      if (runsInBatches(unit) && !syncsEarly())
        emitPhase(unit, Phase::Sync);
    for (UnitId unit : llvm::reverse(units_))
      if (runsInBatches(unit))
        emitPhase(unit, Phase::AfterSync);
    for (UnitId unit : units_)
      if (!runsInBatches(unit)) {
        emitPhase(unit, Phase::Sync);
        emitPhase(unit, Phase::AfterSync);
      }
    for (const OrderedNode &item : orderOfStep(program_, plan_.templates, units_))
      emitNode(item.unit, item.place, 0);
  }

  /// What several ranks of the pipeline hold.
  void sumCopies() {
    if (!program_.pipeline)
      return;
    for (size_t i = 0; i < program_.pipeline->sums.size(); ++i) {
      const BufferSum &sum = program_.pipeline->sums[i];
      if (!llvm::is_contained(sum.ranks, place_))
        continue;
      llvm::SmallVector<uint32_t, 8> buffers;
      if (const auto *unit = std::get_if<UnitId>(&sum.of)) {
        const Body &body = program_.body(program_.units[unit->index]);
        for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
          if (body.weights[slot].owned && body.weights[slot].buffer)
            buffers.push_back(plan_.origins->buffer(*unit, slot));
      } else {
        buffers.push_back(SlotOrigins::buffer(std::get<WeightId>(sum.of)));
      }
      emitSum(sum, buffers, plan_.sumBytes[i]);
    }
  }

  void emitSum(const BufferSum &sum, llvm::ArrayRef<uint32_t> buffers, uint64_t bytes) {
    TraceNode node;
    node.kind = TraceNodeKind::Collective;
    node.collective = TraceCollective::AllReduce;
    node.groupKind = plan_.groups.kindOfSum(sum.ranks);
    node.group = groupOf(node.groupKind);
    node.bytes = bytes;
    name_.setSum(sum, plan_.groups.kinds()[node.groupKind].axes);
    dataDeps_.clear();
    for (uint32_t buffer : buffers)
      if (lastAdded_[buffer] != 0)
        dataDeps_.push_back(lastAdded_[buffer]);
    sortDependencies();
    TraceAnnotations annotations;
    annotations.part = spelling(Part::Sync);
    chain(node, lastCommunication_[orderOfGroup(node.groupKind)]);
    emit(node, annotations);
    for (uint32_t buffer : buffers)
      lastAdded_[buffer] = node.id;
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  void receive(const Action &action) {
    if (!plan_.messages)
      return;
    for (uint32_t transfer : plan_.messages->arrivals(action)) {
      // Earlier messages of the sender are posted first.
      uint32_t sender = plan_.messages->sender(transfer, action.microBatch);
      auto order = plan_.messages->between(sender, place_);
      for (size_t &next = posted_[sender]; next <= plan_.messages->tag(transfer, action.microBatch); ++next)
        emitReceive(sender, order[next]);
    }
  }

  const TensorTemplate &tensorOf(const Transfer &transfer) const {
    return plan_.templateOf(transfer.value.unit).outputs[transfer.value.output];
  }

  uint32_t firstRankAt(uint32_t place) const { return plan_.classes->firstRank(plan_.classes->at(place, rankClass_)); }

  uint64_t bytesOf(UnitId unit, const TensorTemplate &tensor) const {
    return loads_.bytesOf(program_.units[unit.index].body, tensor);
  }

  TraceNode message(uint32_t transferNumber, uint32_t microBatch) const {
    TraceNode node;
    const Transfer &transfer = program_.pipeline->transfers[transferNumber];
    node.bytes = std::max<uint64_t>(bytesOf(transfer.value.unit, tensorOf(transfer)), 1);
    node.sourceRank = firstRankAt(plan_.messages->sender(transferNumber, microBatch));
    node.destinationRank = firstRankAt(plan_.messages->receiver(transferNumber, microBatch));
    node.tag = plan_.messages->tag(transferNumber, microBatch);
    return node;
  }

  void emitMessage(TraceNode &node, const Transfer &transfer, uint32_t microBatch) {
    TraceAnnotations annotations;
    std::string name;
    TraceTensor tensor;
    if (annotates()) {
      name = names_.nameOf(transfer.value.unit, tensorOf(transfer), microBatch);
      tensor = {name, bytesOf(transfer.value.unit, tensorOf(transfer))};
      (node.kind == TraceNodeKind::Send ? annotations.inputs : annotations.outputs) = tensor;
      annotations.part = spelling(transfer.isForward() ? Part::Forward : Part::InputGrad);
      annotations.microBatch = microBatch;
    }
    emit(node, annotations);
  }

  void emitSend(uint32_t transferNumber, uint32_t microBatch) {
    const Transfer &transfer = program_.pipeline->transfers[transferNumber];
    TraceNode node = message(transferNumber, microBatch);
    node.kind = TraceNodeKind::Send;
    uint32_t receiver = plan_.messages->receiver(transferNumber, microBatch);
    name_.setMessage(transfer, microBatch, "send", int64_t{receiver} - int64_t{place_});
    dataDeps_.clear();
    dependOn(plan_.origins->output(transfer.value), microBatch);
    // One order of sends and collectives, or one for each receiver.
    chain(node, isAstraSim() ? lastCommunication_[0] : lastSent_[receiver]);
    emitMessage(node, transfer, microBatch);
    if (--sendsLeft_ == 0)
      syncWhatWaited();
  }

  void emitReceive(uint32_t sender, const Messages::Message &what) {
    const Transfer &transfer = program_.pipeline->transfers[what.transfer];
    TraceNode node = message(what.transfer, what.microBatch);
    node.kind = TraceNodeKind::Recv;
    name_.setMessage(transfer, what.microBatch, "recv", int64_t{sender} - int64_t{place_});
    dataDeps_.clear();
    chain(node, lastReceived_[sender]);
    emitMessage(node, transfer, what.microBatch);
    received_[plan_.messages->number(what.transfer, what.microBatch)] = node.id;
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  bool annotates() const { return plan_.options.detail == UnrollDetail::Annotations; }
  bool isAstraSim() const { return plan_.options.target == TraceTarget::AstraSim; }
  uint32_t orderOfGroup(uint32_t kind) const { return isAstraSim() ? 0 : kind; }
  uint32_t groupOf(uint32_t kind) {
    if (groups_[kind] == 0)
      groups_[kind] = plan_.groups.idOf(kind, firstRank_);
    return groups_[kind];
  }

  uint64_t &idOf(UnitId unit, NodePlace place, uint32_t microBatch) {
    size_t offset = offsets_[unit.index][static_cast<size_t>(place.phase)] + place.index;
    return runsPerBatch(place.phase) ? records_.at(microBatch, offset) : stepIds_[offset];
  }

  void emitPhase(UnitId unit, Phase phase) {
    for (uint32_t i = 0; i < plan_.templateOf(unit).of(phase).size(); ++i)
      emitNode(unit, {phase, i}, 0);
  }

  void fillGroupMessage(UnitId unit, const NodeTemplate &from, uint32_t microBatch, TraceNode &node) {
    bool isSend = from.kind == TraceNodeKind::Send;
    inGroups_.address(from, node);
    chain(node, isSend && isAstraSim() ? lastCommunication_[0] : inGroups_.last(from));
    node.tag = isSend ? inGroups_.tagOfSend(node.id) : inGroups_.tagOfReceive(idOf(unit, from.send, microBatch));
  }

  void emitNode(UnitId unit, NodePlace place, uint32_t microBatch) {
    const NodeTemplate &from = plan_.templateOf(unit).at(place);
    bool isPerBatch = runsPerBatch(place.phase);
    name_.set(unit, from, isPerBatch, microBatch);
    collectDependencies(unit, from, microBatch);
    if (from.isMessages) {
      idOf(unit, place, microBatch) = emitExchange(unit, from, isPerBatch, microBatch);
      return;
    }
    TraceNode node;
    node.kind = from.kind;
    node.likeness = from.number;
    loads_.weigh(program_.units[unit.index].body, from, node);
    if (from.kind == TraceNodeKind::Collective) {
      node.collective = from.collective;
      node.groupKind = from.groupKind;
      node.group = groupOf(from.groupKind);
      chain(node, lastCommunication_[orderOfGroup(from.groupKind)]);
      if (from.reducesShards)
        awaited_ = std::exchange(lastReduction_, node.id);
    } else if (from.kind == TraceNodeKind::Send || from.kind == TraceNodeKind::Recv) {
      fillGroupMessage(unit, from, microBatch, node);
    } else if (from.kind == TraceNodeKind::MemLoad || from.kind == TraceNodeKind::MemStore) {
      chain(node, from.kind == TraceNodeKind::MemLoad ? lastLoaded_ : lastStored_);
    } else {
      node.opType = from.opType;
      node.flops = std::max<uint64_t>(node.flops, 1);
      uint64_t none = 0;
      chain(node, from.addsShards ? none : lastCompute_);
      if (previous_ == 0 && dataDeps_.empty() && isAstraSim() && node.bytes < kRootBytes) {
        node.bytes = kRootBytes;
        node.likeness = 0;
      }
    }
    // Gradients that wait for their reduction need memory: as FSDP2 does, compute lets one wait, not two.
    if (node.kind == TraceNodeKind::Compute && !from.addsShards)
      follow(std::exchange(awaited_, 0));
    // It begins with the turn in which it stands, not as soon as there is nothing else to send.
    if ((from.ahead && node.kind != TraceNodeKind::Compute) || !from.overlaps)
      follow(lastCompute_);
    if (!from.overlaps)
      lastCompute_ = node.id;
    idOf(unit, place, microBatch) = node.id;
    for (uint32_t slot : from.buffersWritten)
      lastAdded_[plan_.origins->buffer(unit, slot)] = node.id;
    for (uint32_t scalar : from.scalarsWritten)
      tallied_[scalar].push_back(node.id);
    if (annotates())
      emitAnnotated(unit, from, node, isPerBatch, microBatch);
    else
      finish(node);
  }

  /// The messages of an all-to-all whose parts are uneven; gives what stands for what it brings.
  uint64_t emitExchange(UnitId unit, const NodeTemplate &from, bool isPerBatch, uint32_t microBatch) {
    arrivals_.expand(dataDeps_);
    llvm::SmallVector<uint64_t, 8> reads = dataDeps_, brings = dataDeps_;
    bool isFirst = true; // with annotations it writes the tensor
    uint32_t tag = inGroups_.tagOfExchange();
    for (const PeerMessage &message : loads_.messagesOf(from)) {
      uint64_t &last = message.isSend ? arrivals_.lastTo(message.peer) : arrivals_.lastFrom(message.peer);
      TraceNode node = message.node(firstRank_, tag);
      name_.set(unit, from, isPerBatch, microBatch);
      name_.append(message.suffix(from.axes));
      if (message.isSend)
        dataDeps_ = reads;
      else
        dataDeps_.clear();
      chain(node, message.isSend && isAstraSim() ? lastCommunication_[0] : last);
      if (!message.isSend)
        brings.push_back(node.id);
      if (annotates())
        emitAnnotated(unit, from, node, isPerBatch, microBatch, message.isSend, std::exchange(isFirst, false));
      else
        finish(node);
    }
    return arrivals_.add(brings);
  }

  /// Gives the node its id and its place in an order.
  void chain(TraceNode &node, uint64_t &last) {
    node.id = nextId_++;
    previous_ = std::exchange(last, node.id);
    order_.clear();
    if (previous_ != 0)
      order_.push_back(previous_);
  }

  void follow(uint64_t id) {
    if (id != 0 && !llvm::is_contained(order_, id))
      order_.push_back(id);
  }

  void finish(TraceNode &node) {
    arrivals_.expand(dataDeps_);
    node.name = name_.text();
    node.dataDeps = dataDeps_;
    llvm::sort(order_);
    node.ctrlDeps = order_;
    consume_(node);
  }

  void emit(TraceNode &node, const TraceAnnotations &annotations) {
    if (annotates())
      node.annotations = &annotations;
    finish(node);
    node.annotations = nullptr;
  }

  void dependOn(const SlotOrigin &origin, uint32_t microBatch) {
    if (origin.kind == SlotOrigin::Kind::Node)
      dataDeps_.push_back(idOf(origin.unit, origin.place, microBatch));
    else if (origin.kind == SlotOrigin::Kind::Message)
      dataDeps_.push_back(received_[plan_.messages->number(origin.transfer, microBatch)]);
  }

  void collectDependencies(UnitId unit, const NodeTemplate &from, uint32_t microBatch) {
    dataDeps_.clear();
    for (NodePlace place : from.nodes)
      dataDeps_.push_back(idOf(unit, place, microBatch));
    for (uint32_t slot : from.inputSlots)
      dependOn(plan_.origins->input(unit, slot), microBatch);
    for (uint32_t slot : from.buffersRead)
      if (uint64_t writer = lastAdded_[plan_.origins->buffer(unit, slot)])
        dataDeps_.push_back(writer);
    for (uint32_t scalar : from.scalarsRead)
      dataDeps_.append(tallied_[scalar].begin(), tallied_[scalar].end());
    sortDependencies();
  }

  /// Two slots may hold one value.
  void sortDependencies() {
    if (dataDeps_.size() < 2)
      return;
    llvm::sort(dataDeps_);
    dataDeps_.erase(std::unique(dataDeps_.begin(), dataDeps_.end()), dataDeps_.end());
  }

  void emitAnnotated(UnitId unit, const NodeTemplate &from, TraceNode &node, bool isPerBatch, uint32_t microBatch,
                     bool isReader = true, bool isWriter = true) {
    std::vector<std::string> names;
    names.reserve(from.reads.size() + from.writes.size());
    auto named = [&](const std::vector<TensorTemplate> &tensors) {
      std::vector<TraceTensor> list;
      for (const TensorTemplate &tensor : tensors)
        list.push_back({names.emplace_back(names_.nameOf(unit, tensor, microBatch)), bytesOf(unit, tensor)});
      return list;
    };
    std::vector<TraceTensor> inputs, outputs;
    if (isReader)
      inputs = named(from.reads);
    if (isWriter)
      outputs = named(from.writes);
    TraceAnnotations annotations{.extents = from.extents,
                                 .dtype = from.dtype,
                                 .part = from.part,
                                 .microBatch = std::nullopt,
                                 .source = from.source,
                                 .inputs = inputs,
                                 .outputs = outputs};
    if (isPerBatch)
      annotations.microBatch = microBatch;
    emit(node, annotations);
  }

  const UnrollPlan &plan_;
  const Program &program_;
  const ActionList &list_;
  uint32_t rankClass_, place_, firstRank_; ///< place_: in the pipeline
  llvm::function_ref<void(const TraceNode &)> consume_;
  TensorNames names_;
  ClassLoads loads_;

  std::vector<UnitId> units_; ///< of this rank, ascending
  /// Per unit and phase: its first node in a record of a micro-batch, or in stepIds_.
  std::vector<std::array<size_t, kPhases>> offsets_;
  size_t batchNodes_ = 0, stepNodes_ = 0;
  std::map<std::pair<uint32_t, ActionKind>, std::vector<OrderedNode>> items_;
  std::vector<size_t> lastWeightGrad_; ///< by stage: place in the list

  size_t position_ = 0;
  size_t sendsLeft_ = 0;
  std::vector<UnitId> unsynced_; ///< complete, behind sends that are still to come
  BatchRecords records_;
  std::vector<uint64_t> stepIds_;
  std::vector<uint64_t> received_; ///< by number of the message
  /// Per gradient buffer: the last node that added to it, or 0.
  std::vector<uint64_t> lastAdded_;
  /// Per scalar of the step.
  std::vector<std::vector<uint64_t>> tallied_;

  std::vector<uint32_t> groups_; ///< ids by kind, once they are known

  uint64_t nextId_ = 1;
  /// Last nodes of the orders; 0: none yet. By group kind, and by rank of the pipeline.
  uint64_t lastCompute_ = 0, lastLoaded_ = 0, lastStored_ = 0;
  uint64_t lastReduction_ = 0, awaited_ = 0; ///< of gradients; the one before it, until a compute node follows it
  std::map<uint32_t, uint64_t> lastSent_, lastReceived_;
  GroupMessages inGroups_;
  std::vector<uint64_t> lastCommunication_; ///< one for all, or by group kind
  std::map<uint32_t, size_t> posted_;       ///< receives by sender
  uint64_t previous_ = 0;                   ///< before the node at hand
  bool gathersOnce_ = false;
  std::map<uint32_t, uint32_t> gathered_; ///< by stage: the unit whose weights are gathered for the step next

  NodeName name_;
  Arrivals arrivals_;
  llvm::SmallVector<uint64_t, 8> dataDeps_;
  llvm::SmallVector<uint64_t, 2> order_; ///< of the node at hand: what it follows
};

} // namespace

void unrollRank(const UnrollPlan &plan, uint32_t rankClass, llvm::function_ref<void(const TraceNode &)> consume) {
  RankUnroller(plan, rankClass, consume).run();
}

} // namespace stg
