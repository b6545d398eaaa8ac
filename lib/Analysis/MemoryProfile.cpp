//===- MemoryProfile.cpp ----------------------------------------------------===//
#include "MemoryProfile.h"
#include "stg/Analysis/Reductions.h"
#include "stg/IR/LayoutOps.h"
#include "llvm/ADT/STLExtras.h"
#include <map>

namespace stg {

std::optional<int64_t> memorySize(DimExpr bytes) {
  std::optional<Rational> value = bytes.rational();
  if (!value || value->numerator < 0)
    return std::nullopt;
  Int128 whole = value->numerator / value->denominator + (value->numerator % value->denominator > 0 ? 1 : 0);
  if (whole >= Int128(1) << 48)
    return std::nullopt;
  return static_cast<int64_t>(whole);
}

namespace {

constexpr uint32_t kNever = MemoryTensor::kNever;
/// In the order in which a tensor can go from one to the next, I and W by themselves and as one.
constexpr MemoryRun kInOrder[] = {MemoryRun::Gather,       MemoryRun::ForwardGathers, MemoryRun::Forward,
                                  MemoryRun::InputGathers, MemoryRun::InputGrad,      MemoryRun::WeightGathers,
                                  MemoryRun::WeightGrad,   MemoryRun::Sync,           MemoryRun::AfterSync,
                                  MemoryRun::Step};
constexpr MemoryRun kInMergedOrder[] = {
    MemoryRun::Gather,   MemoryRun::ForwardGathers, MemoryRun::Forward,   MemoryRun::BackwardGathers,
    MemoryRun::Backward, MemoryRun::Sync,           MemoryRun::AfterSync, MemoryRun::Step};

size_t indexOf(MemoryRun run) { return static_cast<size_t>(run); }
bool isPerBatch(MemoryRun run) { return run >= MemoryRun::ForwardGathers && run <= MemoryRun::Backward; }

/// The run in which a half of the backward runs where it is one.
std::optional<MemoryRun> mergedOf(MemoryRun run) {
  switch (run) {
  case MemoryRun::InputGathers:
  case MemoryRun::WeightGathers:
    return MemoryRun::BackwardGathers;
  case MemoryRun::InputGrad:
  case MemoryRun::WeightGrad:
    return MemoryRun::Backward;
  default:
    return std::nullopt;
  }
}

class Profiler {
public:
  Profiler(const Program &program, const Body &body) : program_(program), body_(body) {
    out_.streams = std::make_shared<BodyStreams>(program, body);
  }

  std::optional<BodyProfile> run() {
    out_.kernels = groupKernels(body_, program_);
    places_ = memoryPlaces(body_, out_.kernels);
    findPadded();
    inputLives_.resize(body_.inputs.size());
    placeSteps();
    if (!findTensors())
      return std::nullopt;
    findReaders();
    classify();
    for (size_t run = 0; run < kMemoryRuns; ++run)
      if (!sumUp(static_cast<MemoryRun>(run)))
        return std::nullopt;
    countReaders();
    return std::move(out_);
  }

private:
  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  const Op &firstOp(const BodyKernels::Step &step) const {
    return body_.op(step.kernel == BodyKernels::kNone ? step.op : out_.kernels.kernels[step.kernel].ops.front());
  }

  MemoryRun runOf(uint32_t step) const {
    const BodyKernels::Step &at = out_.kernels.steps[step];
    const Op &op = firstOp(at);
    bool gathers = op.kind == OpKind::Load || isStorageGather(op) || feedsGather(at);
    switch (op.part) {
    case Part::Gather:
      return MemoryRun::Gather;
    case Part::Forward:
      return gathers ? MemoryRun::ForwardGathers : MemoryRun::Forward;
    case Part::Recompute:
    case Part::InputGrad:
      return gathers ? MemoryRun::InputGathers : MemoryRun::InputGrad;
    case Part::WeightGrad:
      return gathers ? MemoryRun::WeightGathers : MemoryRun::WeightGrad;
    case Part::Sync:
      return waitsForSync(at) ? MemoryRun::AfterSync : MemoryRun::Sync;
    case Part::Step:
      return MemoryRun::Step;
    }
    return MemoryRun::Step;
  }

  static bool isStorageGather(const Op &op) {
    return op.kind == OpKind::AllGather && op.get<CollectiveFields>().isStorage;
  }

  /// A kernel that casts shards for their gather is issued with it.
  bool feedsGather(const BodyKernels::Step &step) const {
    if (step.kernel == BodyKernels::kNone)
      return false;
    return llvm::any_of(body_.ops, [&](const Op &op) {
      return isStorageGather(op) && llvm::any_of(op.operands, [&](ValueId value) {
               return out_.kernels.producer(body_, value) == step.kernel;
             });
    });
  }

  /// What does not stand right behind the backward: kernels, and collectives behind them.
  bool waitsForSync(const BodyKernels::Step &step) const {
    if (step.kernel != BodyKernels::kNone)
      return !castsBuffers(body_, out_.kernels.kernels[step.kernel]);
    return llvm::any_of(body_.op(step.op).operands, [&](ValueId value) {
      uint32_t producer = out_.kernels.stepOf(body_, value);
      return producer != BodyKernels::kNone && runs_[producer] == MemoryRun::AfterSync;
    });
  }

  void placeSteps() {
    for (uint32_t i = 0; i < out_.kernels.steps.size(); ++i) {
      MemoryRun run = runOf(i);
      runs_.push_back(run);
      auto add = [&](MemoryRun to) {
        std::vector<uint32_t> &steps = out_.runs[indexOf(to)].steps;
        steps.push_back(i);
        return static_cast<uint32_t>(steps.size() - 1);
      };
      nodes_.push_back(add(run));
      std::optional<MemoryRun> merged = mergedOf(run);
      merged_.push_back(merged ? add(*merged) : kNever);
    }
  }

  //===--------------------------------------------------------------------===//
  // Tensors
  //===--------------------------------------------------------------------===//

  bool findTensors() {
    out_.tensorOf.assign(body_.values.size(), kNever);
    for (const BodyKernels::Step &step : out_.kernels.steps) {
      llvm::ArrayRef<ValueId> made;
      if (step.kernel != BodyKernels::kNone)
        made = out_.kernels.kernels[step.kernel].writes;
      else
        made = body_.op(step.op).results;
      for (ValueId value : made)
        if (places_[value.index].kind == MemoryPlace::Kind::Value)
          out_.tensorOf[value.index] = out_.tensorOf[places_[value.index].value.index];
      auto at = static_cast<uint32_t>(&step - out_.kernels.steps.data());
      for (ValueId value : made)
        if (places_[value.index].kind == MemoryPlace::Kind::Own && !add(value, at))
          return false;
    }
    return true;
  }

  /// Both ends of an all-to-all whose parts are padded are as large as it.
  void findPadded() {
    const ExpertLoads &loads = out_.kernels.loads;
    if (loads.splits() == 0 || program_.routing.exchange != UnevenExchange::Pad)
      return;
    for (const Op &op : body_.ops)
      if (std::optional<ExpertExchange> exchange = exchangeOf(op, body_, program_, loads);
          exchange && exchange->isAllToAll())
        for (size_t i = 0; i < op.operands.size(); ++i)
          for (ValueId end : {op.operands[i], op.results[i]}) {
            const ExpertExchange::Part &part = exchange->parts[i];
            LoadRatio ratio = part.split == ExpertLoads::kEven ? LoadRatio() : loads.greatest(part.split);
            padded_[out_.kernels.source[end.index]] =
                static_cast<int64_t>(ratio.of(part.bytes, exchange->members)) * exchange->members;
          }
  }

  /// What the rank whose experts get most holds.
  int64_t ofFullest(ValueId value, int64_t bytes) const {
    if (auto known = padded_.find(value); known != padded_.end())
      return known->second;
    uint32_t split = out_.kernels.loads.splitOf(value);
    return split == ExpertLoads::kEven ? bytes : static_cast<int64_t>(out_.kernels.loads.greatest(split).of(bytes));
  }

  bool add(ValueId value, uint32_t step) {
    std::optional<int64_t> bytes = memorySize(out_.streams->bytesOf(value));
    if (!bytes)
      return false;
    out_.tensorOf[value.index] = static_cast<uint32_t>(out_.tensors.size());
    MemoryTensor &tensor = out_.tensors.emplace_back();
    tensor.value = value;
    tensor.bytes = ofFullest(value, *bytes);
    tensor.lives[indexOf(runs_[step])].made = nodes_[step];
    if (merged_[step] != kNever)
      tensor.lives[indexOf(*mergedOf(runs_[step]))].made = merged_[step];
    tensor.isMadeOncePerStep = !isPerBatch(runs_[step]);
    return true;
  }

  void findReaders() {
    for (uint32_t i = 0; i < out_.kernels.steps.size(); ++i) {
      const BodyKernels::Step &step = out_.kernels.steps[i];
      if (step.kernel != BodyKernels::kNone) {
        const Kernel &kernel = out_.kernels.kernels[step.kernel];
        for (ValueId value : kernel.reads)
          read(value, i);
        // The rank's own blocks, which it computes on first.
        if (const Stream *stream = out_.streams->of(kernel.ops.front()))
          for (OpId gather : stream->gathers)
            read(body_.op(gather).operands[0], i);
      } else {
        for (ValueId value : body_.op(step.op).operands)
          read(value, i);
      }
    }
  }

  void read(ValueId value, uint32_t step) {
    ValueId source = out_.kernels.source[value.index];
    std::array<MemoryTensor::Life, kMemoryRuns> *lives = nullptr;
    if (uint32_t tensor = out_.tensorOf[source.index]; tensor != kNever)
      lives = &out_.tensors[tensor].lives;
    else if (const Op &op = body_.op(body_.value(source).def); op.kind == OpKind::Input)
      lives = &inputLives_[op.get<SlotFields>().slot];
    else
      return;
    // Steps come in the order of their nodes.
    (*lives)[indexOf(runs_[step])].read = nodes_[step];
    if (merged_[step] != kNever)
      (*lives)[indexOf(*mergedOf(runs_[step]))].read = merged_[step];
  }

  void classify() {
    for (const BodyOutput &output : body_.outputs)
      if (uint32_t tensor = out_.tensorOf[out_.kernels.source[output.value.index].index]; tensor != kNever)
        out_.tensors[tensor].isShared = true;
    for (MemoryTensor &tensor : out_.tensors) {
      const Op &maker = body_.op(body_.value(tensor.value).def);
      auto lastOf = [&](llvm::ArrayRef<MemoryRun> order) {
        MemoryRun last = MemoryRun::Forward;
        for (MemoryRun run : order)
          if (tensor.in(run).isTouched() && (tensor.isMadeOncePerStep || isPerBatch(run)))
            last = run;
        return last;
      };
      tensor.releasedIn = lastOf(kInOrder);
      tensor.releasedInMerged = lastOf(kInMergedOrder);
      if (tensor.isMadeOncePerStep && isPerBatch(tensor.releasedIn))
        tensor.isShared = true;
      markReduced(tensor);
      bool isBack = maker.kind == OpKind::Load && isBackward(maker.part); // from where it waited
      bool isSaved = (maker.part == Part::Forward || isBack) && tensor.in(MemoryRun::Backward).read != kNever;
      if (maker.kind == OpKind::Store)
        tensor.kind = MemoryKind::Host;
      else if (bringsWeight(body_, maker) && maker.part != Part::Step)
        tensor.kind = MemoryKind::Gathered;
      else if (maker.kind == OpKind::AllGather && maker.get<CollectiveFields>().isStorage)
        tensor.kind = MemoryKind::Gathered;
      else if (isSaved)
        tensor.kind = MemoryKind::Activations;
      else if (isCollective(maker.kind))
        tensor.kind = MemoryKind::Communication;
    }
  }

  const BodyKernels::Step &stepAt(MemoryRun run, uint32_t node) const {
    return out_.kernels.steps[out_.runs[indexOf(run)].steps[node]];
  }

  MemoryRole roleOf(const BodyKernels::Step &step) const {
    if (step.kernel == BodyKernels::kNone) {
      const Op &op = body_.op(step.op);
      return reducesToShards(op) ? MemoryRole::Reduction : isStorageGather(op) ? MemoryRole::Gather : MemoryRole::None;
    }
    bool isBeside = addsShards(body_, out_.kernels, out_.kernels.kernels[step.kernel]);
    return isBeside ? MemoryRole::None : MemoryRole::Compute;
  }

  void markReduced(MemoryTensor &tensor) const {
    MemoryTensor::Life life = tensor.in(tensor.releasedIn);
    if (tensor.isShared || life.read == kNever)
      return;
    const BodyKernels::Step &reader = stepAt(tensor.releasedIn, life.read);
    tensor.isReduced = life.read == life.last() && roleOf(reader) == MemoryRole::Reduction;
    tensor.isBrought = life.made != kNever && roleOf(stepAt(tensor.releasedIn, life.made)) == MemoryRole::Reduction &&
                       reader.kernel != BodyKernels::kNone && roleOf(reader) == MemoryRole::None;
  }

  //===--------------------------------------------------------------------===//
  // Sums
  //===--------------------------------------------------------------------===//

  /// False if a sum leaves 2^50.
  bool sumUp(MemoryRun run) {
    RunProfile &profile = out_.runs[indexOf(run)];
    std::vector<Int128> added(profile.nodes(), 0), released(profile.nodes(), 0);
    for (uint32_t i = 0; i < out_.tensors.size(); ++i) {
      const MemoryTensor &tensor = out_.tensors[i];
      MemoryTensor::Life life = tensor.in(run);
      if (!life.isTouched() || tensor.isBrought)
        continue;
      int64_t onDevice = tensor.kind == MemoryKind::Host ? 0 : tensor.bytes;
      if (life.made != kNever)
        added[life.made] += onDevice;
      if (tensor.isShared) {
        cut(profile, i, tensor, run);
        continue;
      }
      if (life.made != kNever)
        profile.left[tensor.kind] += tensor.bytes;
      if (tensor.isReleasedIn(run)) {
        released[life.last()] += onDevice;
        profile.left[tensor.kind] -= tensor.bytes;
      }
    }
    for (uint32_t slot = 0; slot < inputLives_.size(); ++slot)
      if (uint32_t node = inputLives_[slot][indexOf(run)].read; node != kNever)
        profile.cuts.push_back(
            {.node = node, .isInput = true, .index = slot, .readers = halves(inputLives_[slot], run)});
    Int128 sum = 0;
    for (uint32_t node = 0; node < profile.nodes(); ++node) {
      sum += added[node];
      if (sum >= Int128(1) << 50)
        return false;
      profile.during.push_back(static_cast<int64_t>(sum));
      sum -= released[node];
      profile.behind.push_back(static_cast<int64_t>(sum));
    }
    findRoles(profile, run);
    findMost(profile);
    return true;
  }

  /// Divides the run in front of each reduction and gather, of the first node that computes behind one or at the
  /// beginning, and of the first reader of each gather.
  void findRoles(RunProfile &profile, MemoryRun run) const {
    bool mayWait = true;
    std::vector<bool> isRead(out_.kernels.steps.size(), false); // gathers
    for (uint32_t node = 0; node < profile.nodes(); ++node) {
      MemoryRole role = roleOf(stepAt(run, node));
      profile.roles.push_back(role);
      bool communicates = role == MemoryRole::Reduction || role == MemoryRole::Gather;
      bool waits = role == MemoryRole::Compute && std::exchange(mayWait, false);
      if (role == MemoryRole::Compute)
        for (ValueId value : out_.kernels.kernels[stepAt(run, node).kernel].reads)
          if (uint32_t step = out_.kernels.stepOf(body_, value);
              step != BodyKernels::kNone && !isRead[step] && roleOf(out_.kernels.steps[step]) == MemoryRole::Gather) {
            isRead[step] = waits = true;
            profile.gathersRead[node].push_back(step);
          }
      if (node > 0 && (communicates || waits))
        profile.cuts.push_back({.node = node - 1, .isMark = true});
      mayWait |= communicates;
      if (role == MemoryRole::Gather)
        profile.cuts.push_back({.node = node, .isMark = true});
      if (role != MemoryRole::Reduction)
        continue;
      MemoryReduction &reduction = profile.reductions[node];
      for (const MemoryTensor &tensor : out_.tensors) {
        if (tensor.isReduced && tensor.endsIn(run) && tensor.in(run).read == node)
          reduction.reads[tensor.kind] += tensor.bytes;
        // One kernel adds what several bring.
        if (tensor.isBrought && tensor.endsIn(run) && tensor.in(run).made <= node && tensor.in(run).read > node)
          reduction.brings += tensor.bytes;
      }
    }
  }

  /// A merged backward does what an input and a weight gradient do.
  static uint32_t halves(const std::array<MemoryTensor::Life, kMemoryRuns> &lives, MemoryRun run) {
    uint32_t count = 0;
    for (MemoryRun half : kInOrder)
      count += mergedOf(half) == run && lives[indexOf(half)].isTouched();
    return isMerged(run) ? count : 1;
  }

  static void cut(RunProfile &profile, uint32_t index, const MemoryTensor &tensor, MemoryRun run) {
    MemoryTensor::Life life = tensor.in(run);
    if (life.made != kNever && life.last() != life.made)
      profile.cuts.push_back({.node = life.made, .index = index, .makes = true});
    profile.cuts.push_back(
        {.node = life.last(), .index = index, .makes = life.made == life.last(), .readers = halves(tensor.lives, run)});
  }

  static void findMost(RunProfile &profile) {
    llvm::stable_sort(profile.cuts, [](const MemoryCut &a, const MemoryCut &b) { return a.node < b.node; });
    uint32_t next = 0;
    auto mostUpTo = [&](uint32_t end, int64_t &most, uint32_t &mostAt) {
      most = 0;
      mostAt = next;
      for (bool first = true; next < end; ++next, first = false)
        if (first || profile.during[next] > most) {
          most = profile.during[next];
          mostAt = next;
        }
    };
    for (MemoryCut &each : profile.cuts)
      mostUpTo(each.node + 1, each.most, each.mostAt);
    mostUpTo(profile.nodes(), profile.most, profile.mostAt);
  }

  void countReaders() {
    auto count = [](const std::array<MemoryTensor::Life, kMemoryRuns> &lives) {
      MemoryReaders readers;
      for (MemoryRun run : kInOrder)
        (isPerBatch(run) ? readers.perBatch : readers.perStep) += lives[indexOf(run)].isTouched();
      return readers;
    };
    for (const auto &lives : inputLives_) {
      out_.inputReaders.push_back(count(lives));
      out_.isInputSaved.push_back(lives[indexOf(MemoryRun::Backward)].read != kNever);
    }
    for (const MemoryTensor &tensor : out_.tensors)
      out_.tensorReaders.push_back(count(tensor.lives));
  }

  const Program &program_;
  const Body &body_;
  std::map<ValueId, int64_t> padded_; ///< bytes
  BodyProfile out_;
  std::vector<MemoryPlace> places_;
  /// By step: its run, its node there and in the merged backward.
  std::vector<MemoryRun> runs_;
  std::vector<uint32_t> nodes_, merged_;
  std::vector<std::array<MemoryTensor::Life, kMemoryRuns>> inputLives_;
};

} // namespace

std::optional<BodyProfile> profileBody(const Program &program, const Body &body, PassStats &stats) {
  stats.opVisits += body.ops.size();
  return Profiler(program, body).run();
}

} // namespace stg
