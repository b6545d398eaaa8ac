//===- MemoryWalk.cpp -------------------------------------------------------===//
// The order is that of the rank's trace: actions, in each the units, between them messages, the sync of gradients
// behind the last backward of a stage, then the step. Invariant: `live_` is what is alive behind the last node, all
// kinds and units together; `alive_` has the same by unit, but what a unit does not share enters it when its run has
// ended.
//
// Why runs can be taken as a whole: between two cuts of a run nothing depends on other units, so its largest sum there
// is that of the profile, moved by what is alive. An overlapped pair has no such stretches: it is walked node by node.
//===----------------------------------------------------------------------===//
#include "MemoryWalk.h"
#include "ReductionsUnderWay.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {
namespace {

constexpr uint32_t kNone = MemoryTensor::kNever;

class RankWalk {
public:
  RankWalk(const Program &program, const MemoryFlow &flow, uint32_t rank, uint64_t event,
           llvm::function_ref<void(const MemoryPoint &)> consume)
      : program_(program), flow_(flow), list_(flow.list(rank)), rank_(rank), target_(event), consume_(consume) {
    size_t units = program.units.size();
    alive_.resize(units);
    inFlight_.resize(units);
    made_.resize(units);
    inputs_.resize(units);
    placeUnits();
    findShared();
    countActions();
  }

  WalkResult run() {
    for (position_ = 0; position_ < list_.size(); ++position_)
      runSlot(list_[position_]);
    runStep();
    return std::move(result_);
  }

private:
  //===--------------------------------------------------------------------===//
  // What this rank has
  //===--------------------------------------------------------------------===//

  /// A tensor that units share, one per micro-batch or one for the step.
  struct Shared {
    int64_t bytes = 0;
    MemoryKind kind = MemoryKind::Temporaries;
    UnitId unit;
    MemoryReaders readers;
    bool isOncePerStep = false;
  };

  void placeUnits() {
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      if (!program_.pipeline || program_.pipeline->runsOn(UnitId(u), rank_))
        units_.push_back(UnitId(u));
  }

  void findShared() {
    for (UnitId unit : units_) {
      const BodyProfile &profile = flow_.profileOf(unit);
      made_[unit.index].assign(profile.tensors.size(), kNone);
      for (uint32_t i = 0; i < profile.tensors.size(); ++i) {
        const MemoryTensor &tensor = profile.tensors[i];
        if (!tensor.isShared)
          continue;
        made_[unit.index][i] = static_cast<uint32_t>(shared_.size());
        shared_.push_back({tensor.bytes, tensor.kind, unit, profile.tensorReaders[i], tensor.isMadeOncePerStep});
      }
    }
    for (UnitId unit : units_)
      readInputs(unit);
    sendWhatWasThere();
    for (Shared &shared : shared_)
      if (shared.isOncePerStep)
        shared.readers.perStep += shared.readers.perBatch * batchesPerUnit();
    stepReaders_.resize(shared_.size());
    for (size_t i = 0; i < shared_.size(); ++i)
      stepReaders_[i] = shared_[i].readers.perStep;
  }

  uint32_t batchesPerUnit() const {
    return program_.pipeline ? program_.pipeline->placement.microBatchesPerCopy()
                             : static_cast<uint32_t>(std::max<int64_t>(program_.plan.microBatches, 1));
  }

  /// The tensor behind an origin, a message that arrives for `reader` included.
  uint32_t sharedOf(const MemoryOrigin &origin, UnitId reader) {
    if (origin.kind == MemoryOrigin::Kind::Made)
      return made_[origin.unit.index].empty() ? kNone : made_[origin.unit.index][origin.index];
    if (origin.kind != MemoryOrigin::Kind::Message)
      return kNone;
    auto [entry, isNew] = messages_.try_emplace(origin.index, static_cast<uint32_t>(shared_.size()));
    if (isNew)
      shared_.push_back({bytesOfMessage(origin.index), MemoryKind::Communication, reader, {}, false});
    return entry->second;
  }

  int64_t bytesOfMessage(uint32_t transfer) const {
    UnitValue value = program_.pipeline->transfers[transfer].value;
    const Body &body = program_.body(program_.units[value.unit.index]);
    ValueId source = flow_.profileOf(value.unit).kernels.source[body.outputs[value.output].value.index];
    return memorySize(RankShare(program_).bytesOf(body.value(source))).value_or(0);
  }

  void readInputs(UnitId unit) {
    const Body &body = program_.body(program_.units[unit.index]);
    const BodyProfile &profile = flow_.profileOf(unit);
    for (uint32_t slot = 0; slot < body.inputs.size(); ++slot) {
      uint32_t tensor = sharedOf(flow_.input(unit, slot), unit);
      inputs_[unit.index].push_back(tensor);
      if (tensor == kNone)
        continue;
      Shared &shared = shared_[tensor];
      shared.readers.perBatch += profile.inputReaders[slot].perBatch;
      shared.readers.perStep += profile.inputReaders[slot].perStep;
      // What a forward makes and a later backward reads is kept.
      if (body.inputs[slot].role == SlotRole::Value && profile.isInputSaved[slot] &&
          shared.kind != MemoryKind::Gathered)
        shared.kind = MemoryKind::Activations;
    }
  }

  /// Of values that no action of the sending stage makes, sending is one more reader.
  void sendWhatWasThere() {
    if (!program_.pipeline)
      return;
    const std::vector<std::vector<uint32_t>> &copies = program_.pipeline->placement.copies;
    for (uint32_t stage = 0; stage < program_.pipeline->stages(); ++stage)
      if (llvm::any_of(copies, [&](const auto &copy) { return copy[stage] == rank_; }))
        for (ActionKind kind : {ActionKind::Forward, ActionKind::Backward})
          for (const MemoryFlow::Departure &departure : flow_.departures({kind, stage, 0}))
            if (departure.after == 0)
              if (uint32_t tensor = sentTensor(departure.transfer); tensor != kNone)
                ++shared_[tensor].readers.perBatch;
  }

  uint32_t sentTensor(uint32_t transfer) {
    UnitValue value = program_.pipeline->transfers[transfer].value;
    return sharedOf(flow_.output(value), value.unit);
  }

  void countActions() {
    auto count = [&](size_t position, const Action &action) {
      if (action.microBatch >= readers_.size())
        readers_.resize(action.microBatch + 1);
      sendsLeft_ += flow_.departures(action).size();
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

  //===--------------------------------------------------------------------===//
  // Tensors that units share
  //===--------------------------------------------------------------------===//

  uint32_t &readersLeft(uint32_t tensor, uint32_t microBatch) {
    if (shared_[tensor].isOncePerStep)
      return stepReaders_[tensor];
    std::vector<uint32_t> &readers = readers_[microBatch];
    if (readers.empty())
      for (const Shared &shared : shared_)
        readers.push_back(shared.readers.perBatch);
    return readers[tensor];
  }

  void addAlive(uint32_t tensor, int64_t sign) {
    const Shared &shared = shared_[tensor];
    alive_[shared.unit.index][shared.kind] += sign * shared.bytes;
    sum_[shared.kind] += sign * shared.bytes;
  }

  void done(uint32_t tensor, uint32_t microBatch, uint32_t readers) {
    uint32_t &left = readersLeft(tensor, microBatch);
    left -= readers;
    if (left != 0)
      return;
    live_ -= shared_[tensor].bytes;
    addAlive(tensor, -1);
  }

  //===--------------------------------------------------------------------===//
  // Runs
  //===--------------------------------------------------------------------===//

  /// A unit on its way through one of its runs.
  struct Cursor {
    std::optional<Action> action;
    UnitId unit;
    const BodyProfile *body = nullptr;
    MemoryRun run = MemoryRun::Forward;
    uint32_t next = 0; ///< node
    size_t cut = 0;
    int64_t most = 0;

    const RunProfile &profile() const { return body->of(run); }
    bool finished() const { return next == profile().nodes(); }
    uint32_t microBatch() const { return action ? action->microBatch : 0; }
  };

  Cursor begin(UnitId unit, MemoryRun run, std::optional<Action> action = std::nullopt) const {
    return {action, unit, &flow_.profileOf(unit), run};
  }

  /// Nodes up to `end`, of which the one at `mostAt` has the most alive: `most` in the profile.
  void advance(Cursor &cursor, uint32_t end, int64_t most, uint32_t mostAt) {
    const RunProfile &profile = cursor.profile();
    meetCommunication(cursor);
    int64_t before = live_ - (cursor.next == 0 ? 0 : profile.behind[cursor.next - 1]);
    note(before + most, cursor, mostAt);
    cursor.most = std::max(cursor.most, before + most + reductions_.bytes());
    live_ = before + profile.behind[end - 1];
    cursor.next = end;
    for (; cursor.cut < profile.cuts.size() && profile.cuts[cursor.cut].node < end; ++cursor.cut)
      pass(cursor, profile.cuts[cursor.cut]);
    if (cursor.finished())
      finish(cursor);
  }

  void pass(const Cursor &cursor, const MemoryCut &cut) {
    if (cut.isMark) {
      const RunProfile &profile = cursor.profile();
      if (profile.roles[cut.node] == MemoryRole::Gather)
        reductions_.gathered(profile.during[cut.node] - profile.behind[cut.node]);
      return;
    }
    uint32_t tensor = (cut.isInput ? inputs_ : made_)[cursor.unit.index][cut.index];
    if (tensor == kNone)
      return;
    if (cut.makes)
      addAlive(tensor, 1);
    if (cut.readers != 0)
      done(tensor, cursor.microBatch(), cut.readers);
  }

  //===--------------------------------------------------------------------===//
  // Reductions of gradients, which run beside compute
  //===--------------------------------------------------------------------===//

  /// The next node of the run begins.
  void meetCommunication(const Cursor &cursor) {
    const RunProfile &profile = cursor.profile();
    switch (profile.roles[cursor.next]) {
    case MemoryRole::None:
      return;
    case MemoryRole::Compute: {
      auto read = profile.gathersRead.find(cursor.next);
      llvm::ArrayRef<uint32_t> gathers;
      if (read != profile.gathersRead.end())
        gathers = read->second;
      return reductions_.compute(cursor.unit, gathers, cursor.run == MemoryRun::Step);
    }
    case MemoryRole::Reduction: {
      const MemoryReduction &reduction = profile.reductions.at(cursor.next);
      reductions_.begin(cursor.unit, reduction.reads.total(), reduction.brings);
      live_ -= reduction.reads.total();
      for (size_t kind = 0; kind < kMemoryKinds; ++kind) {
        alive_[cursor.unit.index].of[kind] -= reduction.reads.of[kind];
        sum_.of[kind] -= reduction.reads.of[kind];
      }
      return;
    }
    case MemoryRole::Gather:
      return reductions_.gather(cursor.unit, profile.steps[cursor.next],
                                profile.during[cursor.next] - (cursor.next == 0 ? 0 : profile.behind[cursor.next - 1]));
    }
  }

  void finish(const Cursor &cursor) {
    alive_[cursor.unit.index] += cursor.profile().left;
    sum_ += cursor.profile().left;
    result_.mostOnHost = std::max(result_.mostOnHost, sum_[MemoryKind::Host]);
    if (live_ >= int64_t{1} << 60) {
      result_.fits = false;
      live_ = 0;
    }
    if (!consume_)
      return;
    MemoryPoint point{cursor.action, cursor.unit, sum_, cursor.most};
    point.alive[MemoryKind::Temporaries] += reductions_.bytes();
    consume_(point);
  }

  /// To the next cut, or to the end.
  void advanceToCut(Cursor &cursor) {
    const RunProfile &profile = cursor.profile();
    if (cursor.cut == profile.cuts.size())
      return advance(cursor, profile.nodes(), profile.most, profile.mostAt);
    const MemoryCut &cut = profile.cuts[cursor.cut];
    advance(cursor, cut.node + 1, cut.most, cut.mostAt);
  }

  void advanceNode(Cursor &cursor) {
    advance(cursor, cursor.next + 1, cursor.profile().during[cursor.next], cursor.next);
  }

  void runOnce(UnitId unit, MemoryRun run) {
    Cursor cursor = begin(unit, run);
    active_.push_back(&cursor);
    while (!cursor.finished())
      advanceToCut(cursor);
    active_.pop_back();
  }

  //===--------------------------------------------------------------------===//
  // Actions
  //===--------------------------------------------------------------------===//

  /// An action on its way: the runs of its units, and the messages that leave between them.
  struct Course {
    Action action;
    llvm::ArrayRef<MemoryFlow::Leg> legs;
    llvm::ArrayRef<MemoryFlow::Departure> departures;
    uint32_t total = 0, done = 0;
    size_t leg = 0; ///< the next one
    Cursor cursor;
    bool finished() const { return done == total; }
    bool isBetweenLegs() const { return done == 0 || cursor.finished(); }
  };

  Course begin(const Action &action) {
    receive(action);
    for (uint32_t u = flow_.firstUnits()[action.stage]; u < flow_.firstUnits()[action.stage + 1]; ++u)
      inFlight_[u] += action.kind == ActionKind::Forward;
    return {action, flow_.legs(action), flow_.departures(action), flow_.nodesOf(action), 0, 0, {}};
  }

  void end(const Action &action) {
    if (program_.mode == Mode::Train && !makesWeightGrad(action))
      return;
    for (uint32_t u = flow_.firstUnits()[action.stage]; u < flow_.firstUnits()[action.stage + 1]; ++u)
      --inFlight_[u];
  }

  /// Those of values that were there before leave first.
  void sendAtOnce(Course &course) {
    for (; !course.departures.empty() && course.departures.front().after == 0;
         course.departures = course.departures.drop_front()) {
      if (uint32_t tensor = sentTensor(course.departures.front().transfer); tensor != kNone)
        done(tensor, course.action.microBatch, 1);
      countSend();
    }
  }

  void countSend() {
    if (--sendsLeft_ == 0)
      syncWhatWaited();
  }

  /// A message of a made value leaves behind its node, before anything else is made.
  template <class Step> void advance(Course &course, Step step) {
    if (course.isBetweenLegs()) {
      const MemoryFlow::Leg &leg = course.legs[course.leg++];
      if (course.action.kind == ActionKind::Forward)
        gatherOnce(course.action.stage, leg.turn);
      course.cursor = begin(leg.unit, leg.run, course.action);
    }
    uint32_t before = course.cursor.next;
    active_.push_back(&course.cursor);
    step(course.cursor);
    course.done += course.cursor.next - before;
    if (course.cursor.finished())
      active_.pop_back();
    for (; !course.departures.empty() && course.departures.front().after <= course.done;
         course.departures = course.departures.drop_front())
      countSend();
    if (!course.cursor.finished())
      active_.pop_back();
  }

  /// Weights that stay gathered for the whole step: in the turns of the first forward of a stage.
  void gatherOnce(uint32_t stage, UnitId turn) {
    uint32_t first = flow_.firstUnits()[stage], last = flow_.firstUnits()[stage + 1];
    uint32_t &next = gathered_.try_emplace(stage, first).first->second;
    for (; next < last && next <= uint64_t{turn.index} + flow_.prefetch(); ++next)
      runOnce(UnitId(next), MemoryRun::Gather);
  }

  void runSlot(const Slot &slot) {
    Course first = begin(slot.action);
    if (!slot.overlapped) {
      sendAtOnce(first);
      runAlone(first);
      return end(slot.action);
    }
    Course second = begin(*slot.overlapped);
    sendAtOnce(first);
    sendAtOnce(second);
    auto step = [&](Cursor &cursor) { advanceNode(cursor); };
    while (!first.finished() || !second.finished()) {
      bool takesFirst = second.finished() || (!first.finished() && forwardTakesTurn(first.done + 1, first.total,
                                                                                    second.done + 1, second.total));
      Course &other = takesFirst ? second : first;
      bool isUnderWay = other.done != 0 && !other.cursor.finished();
      if (isUnderWay)
        active_.push_back(&other.cursor);
      advance(takesFirst ? first : second, step);
      if (isUnderWay)
        active_.pop_back();
    }
    syncBehind(*slot.overlapped, 0);
    end(slot.action);
    end(*slot.overlapped);
  }

  /// In the last backward of a stage the sync of a unit follows its own nodes.
  void runAlone(Course &course) {
    bool syncs = syncsBehind(course.action);
    uint32_t last = flow_.firstUnits()[course.action.stage + 1], synced = 0;
    while (!course.finished()) {
      if (syncs && course.isBetweenLegs())
        for (; last - 1 - synced > course.legs[course.leg].turn.index; ++synced)
          syncUnit(UnitId(last - 1 - synced));
      advance(course, [&](Cursor &cursor) { advanceToCut(cursor); });
    }
    syncBehind(course.action, synced);
  }

  //===--------------------------------------------------------------------===//
  // Sync and step
  //===--------------------------------------------------------------------===//

  /// With two copies of a stage, its gradients are complete when both are.
  bool syncsEarly() const { return !program_.pipeline || program_.pipeline->placement.copies.size() == 1; }

  bool syncsBehind(const Action &action) const {
    return makesWeightGrad(action) && syncsEarly() && lastWeightGrad_[action.stage] == position_;
  }

  void syncBehind(const Action &action, uint32_t synced) {
    if (!syncsBehind(action))
      return;
    uint32_t first = flow_.firstUnits()[action.stage], last = flow_.firstUnits()[action.stage + 1];
    for (; synced < last - first; ++synced)
      syncUnit(UnitId(last - 1 - synced));
  }

  /// A message that others wait for goes before gradients that nobody waits for.
  void syncUnit(UnitId unit) {
    if (!flow_.profileOf(unit).runsInBatches())
      return;
    if (sendsLeft_ == 0)
      runOnce(unit, MemoryRun::Sync);
    else
      unsynced_.push_back(unit);
  }

  void syncWhatWaited() {
    for (UnitId unit : std::exchange(unsynced_, {}))
      runOnce(unit, MemoryRun::Sync);
  }

  void runStep() {
    auto runsInBatches = [&](UnitId unit) { return flow_.profileOf(unit).runsInBatches(); };
    for (UnitId unit : llvm::reverse(units_))
      if (runsInBatches(unit) && !syncsEarly())
        runOnce(unit, MemoryRun::Sync);
    for (UnitId unit : llvm::reverse(units_))
      if (runsInBatches(unit))
        runOnce(unit, MemoryRun::AfterSync);
    for (UnitId unit : units_)
      if (!runsInBatches(unit)) {
        runOnce(unit, MemoryRun::Sync);
        runOnce(unit, MemoryRun::AfterSync);
      }
    for (UnitId unit : units_)
      runOnce(unit, MemoryRun::Step);
  }

  //===--------------------------------------------------------------------===//
  // Messages
  //===--------------------------------------------------------------------===//

  /// Earlier messages of the sender are posted first.
  void receive(const Action &action) {
    for (uint32_t transfer : flow_.arrivals(action)) {
      uint32_t sender = flow_.sender(transfer, action.microBatch);
      llvm::ArrayRef<MemoryFlow::Message> order = flow_.between(sender, rank_);
      for (size_t &next = posted_[sender]; next <= flow_.placeOf(transfer, action.microBatch); ++next)
        arrive(order[next], action);
    }
  }

  void arrive(const MemoryFlow::Message &message, const Action &action) {
    auto found = messages_.find(message.transfer);
    if (found == messages_.end())
      return;
    uint32_t tensor = found->second;
    live_ += shared_[tensor].bytes;
    addAlive(tensor, 1);
    note(live_, action, shared_[tensor].unit, kNone);
    if (readersLeft(tensor, message.microBatch) == 0)
      done(tensor, message.microBatch, 0);
  }

  //===--------------------------------------------------------------------===//
  // The peak
  //===--------------------------------------------------------------------===//

  void note(int64_t bytes, const Cursor &cursor, uint32_t node) {
    note(bytes, cursor.action, cursor.unit, cursor.profile().steps[node]);
    if (events_ == target_)
      takeDown(&cursor, node);
  }

  void note(int64_t bytes, std::optional<Action> action, UnitId unit, uint32_t step) {
    ++events_;
    bytes += reductions_.bytes();
    if (bytes > result_.peak.bytes)
      result_.peak = {bytes, events_, action, unit, step};
    if (events_ == target_ && step == kNone)
      takeDown(nullptr, 0);
  }

  /// What is alive while `node` runs, in the run of `now`; of the other runs that are under way, behind their last
  /// node.
  void takeDown(const Cursor *now, uint32_t node) {
    std::vector<MemoryBytes> alive = alive_;
    for (const Cursor *cursor : active_)
      addRun(*cursor, cursor == now ? node + 1 : cursor->next, cursor == now, alive[cursor->unit.index]);
    if (int64_t bytes = reductions_.bytes())
      alive[reductions_.first().index][MemoryKind::Temporaries] += bytes;
    for (UnitId unit : units_)
      if (alive[unit.index].total() != 0)
        result_.units.push_back({unit, alive[unit.index], inFlight_[unit.index]});
  }

  /// Of a run whose nodes before `end` are done, or done but for the releases of the last one.
  void addRun(const Cursor &cursor, uint32_t end, bool isRunning, MemoryBytes &alive) const {
    for (const MemoryTensor &tensor : cursor.body->tensors) {
      MemoryTensor::Life life = tensor.in(cursor.run);
      if (tensor.isBrought)
        continue;
      if (life.made != kNone && life.made < end && (!tensor.isShared || life.made >= cursor.next))
        alive[kindOf(cursor.unit, tensor)] += tensor.bytes;
      bool isReleased = life.isTouched() && life.last() + isRunning < end && tensor.isReleasedIn(cursor.run);
      if (!tensor.isShared && isReleased)
        alive[tensor.kind] -= tensor.bytes;
    }
  }

  MemoryKind kindOf(UnitId unit, const MemoryTensor &tensor) const {
    if (!tensor.isShared)
      return tensor.kind;
    auto index = static_cast<size_t>(&tensor - flow_.profileOf(unit).tensors.data());
    return shared_[made_[unit.index][index]].kind;
  }

  const Program &program_;
  const MemoryFlow &flow_;
  const ActionList &list_;
  uint32_t rank_;
  uint64_t target_;
  llvm::function_ref<void(const MemoryPoint &)> consume_;

  std::vector<UnitId> units_; ///< of this rank, ascending
  std::vector<Shared> shared_;
  // By unit: by tensor of its body, and by input slot, the one in `shared_`, or kNone.
  std::vector<std::vector<uint32_t>> made_, inputs_;
  std::map<uint32_t, uint32_t> messages_;      ///< by transfer
  std::vector<size_t> lastWeightGrad_;         ///< by stage: place in the list
  std::vector<std::vector<uint32_t>> readers_; ///< by micro-batch: those left of each in `shared_`
  std::vector<uint32_t> stepReaders_;

  size_t position_ = 0;
  size_t sendsLeft_ = 0;
  std::vector<UnitId> unsynced_;
  std::map<uint32_t, size_t> posted_;     ///< receives by sender
  std::map<uint32_t, uint32_t> gathered_; ///< by stage: the unit whose weights are gathered for the step next

  ReductionsUnderWay reductions_;

  int64_t live_ = 0;
  MemoryBytes sum_;
  std::vector<MemoryBytes> alive_; ///< by unit
  std::vector<uint32_t> inFlight_; ///< by unit: micro-batches
  std::vector<const Cursor *> active_;
  uint64_t events_ = 0;
  WalkResult result_;
};

} // namespace

WalkResult walkRank(const Program &program, const MemoryFlow &flow, uint32_t rank, uint64_t event,
                    llvm::function_ref<void(const MemoryPoint &)> consume) {
  return RankWalk(program, flow, rank, event, consume).run();
}

} // namespace stg
