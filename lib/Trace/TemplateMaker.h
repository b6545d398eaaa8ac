//===- TemplateMaker.h - the nodes of one body, one after the other ---------===//
// A step of the body's kernels (Analysis/Kernels.h) is one node; a call that runs as a ring or a halo and the
// collectives beside it are several together (StreamNodes.h).
//===----------------------------------------------------------------------===//
#pragma once

#include "ActionOrder.h"
#include "StreamNodes.h"
#include "UnrollTemplates.h"
#include "fmt/format.h"
#include "stg/Analysis/InPlace.h"
#include "stg/Analysis/Reductions.h"
#include "stg/Analysis/ValueLabels.h"
#include "stg/IR/LayoutOps.h"
#include "stg/Support/InternalError.h"

namespace stg {

namespace templates {

/// Readers hold counts in signed 64-bit fields.
inline constexpr Int128 kLargestCount = INT64_MAX;
/// ASTRA-sim splits an all-gather in four and loops without end where that leaves nothing.
inline constexpr uint64_t kLeastGathered = 4;

inline Phase phaseOf(Part part) {
  switch (part) {
  case Part::Gather:
    return Phase::Gather;
  case Part::Forward:
    return Phase::Forward;
  case Part::InputGrad:
  case Part::Recompute:
    return Phase::InputGrad;
  case Part::WeightGrad:
    return Phase::WeightGrad;
  case Part::Sync:
    return Phase::Sync;
  case Part::Step:
    return Phase::Step;
  }
  return Phase::Step;
}

inline char actionOf(Part part) {
  switch (part) {
  case Part::Gather:
    return 'S';
  case Part::Forward:
    return 'F';
  case Part::InputGrad:
    return 'B';
  case Part::WeightGrad:
    return 'W';
  case Part::Recompute:
    return 'R';
  case Part::Sync:
  case Part::Step:
    return 'S';
  }
  return 'S';
}

inline TraceCollective collectiveOf(OpKind kind) {
  switch (kind) {
  case OpKind::ReduceScatter:
    return TraceCollective::ReduceScatter;
  case OpKind::AllToAll:
    return TraceCollective::AllToAll;
  case OpKind::AllGather:
    return TraceCollective::AllGather;
  default:
    return TraceCollective::AllReduce;
  }
}

template <class List> void sortUnique(List &list) {
  llvm::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
}

class TemplateMaker {
public:
  TemplateMaker(const Program &program, const Body &body, const ProcessGroups &groups, UnrollDetail detail,
                PassStats &stats, Diagnostics &diags)
      : program_(program), body_(body), groups_(groups), detail_(detail), stats_(stats), diags_(diags), share_(program),
        streams_(program, body) {}

  std::optional<BodyTemplate> run() {
    kernels_ = groupKernels(body_, program_);
    inPlace_ = memoryPlaces(body_, kernels_);
    stats_.opVisits += body_.ops.size();
    placeSteps();
    findSideEffects();
    findReads();
    BodyTemplate result;
    for (uint32_t i = 0; i < kernels_.steps.size(); ++i) {
      Phase phase = places_[i].phase;
      std::vector<NodeTemplate> &nodes = result.nodes[static_cast<size_t>(phase)];
      auto first = static_cast<uint32_t>(nodes.size());
      if (const Stream *stream = streamOf(i)) {
        if (isCall(i))
          fillStream(*stream, i, nodes);
      } else {
        fill(i, nodes.emplace_back());
      }
      for (uint32_t node = first; node < nodes.size(); ++node) {
        if (phase == Phase::InputGrad || phase == Phase::WeightGrad)
          result.backward.push_back({phase, node});
        // A weight gradient may run long behind the input gradients of its unit.
        if (phase == Phase::InputGrad)
          for (NodePlace needed : nodes[node].nodes)
            if (needed.phase == Phase::WeightGrad)
              internalError(program_.text(body_.name),
                            "the input gradient `" + nodes[node].name + "` needs a weight gradient");
      }
    }
    for (size_t phase = 0; phase < kPhases; ++phase)
      issueBeforeReaders(result.nodes[phase], static_cast<Phase>(phase));
    for (const BodyOutput &output : body_.outputs)
      result.outputs.push_back(tensor(output.value));
    if (failed_)
      return std::nullopt;
    result.loads = std::move(kernels_.loads);
    return result;
  }

private:
  /// What a gather of weights reads, loaded from the host or cast for it, is there when the gather is issued.
  static void issueBeforeReaders(std::vector<NodeTemplate> &nodes, Phase phase) {
    for (const NodeTemplate &reader : llvm::reverse(nodes))
      for (NodePlace place : reader.nodes)
        if (reader.ahead && place.phase == phase)
          nodes[place.index].ahead = std::max(nodes[place.index].ahead, reader.ahead);
  }

  const Op &firstOp(const BodyKernels::Step &step) const {
    return body_.op(step.kernel == BodyKernels::kNone ? step.op : kernels_.kernels[step.kernel].ops.front());
  }

  /// The stream of a step that is a call, or a collective beside one.
  const Stream *streamOf(uint32_t step) const {
    const BodyKernels::Step &at = kernels_.steps[step];
    return streams_.of(at.kernel == BodyKernels::kNone ? at.op : kernels_.kernels[at.kernel].ops.front());
  }
  bool isCall(uint32_t step) const { return kernels_.steps[step].kernel != BodyKernels::kNone; }

  void placeSteps() {
    std::array<uint32_t, kPhases> next = {};
    for (uint32_t i = 0; i < kernels_.steps.size(); ++i) {
      const BodyKernels::Step &step = kernels_.steps[i];
      Phase phase = phaseOf(firstOp(step).part);
      if (phase == Phase::Sync && waitsForSync(step))
        phase = Phase::AfterSync;
      uint32_t &index = next[static_cast<size_t>(phase)];
      places_.push_back({phase, index});
      if (const Stream *stream = streamOf(i)) {
        if (isCall(i))
          index += placeStream(*stream, i);
      } else {
        ++index;
      }
    }
    for (const auto &[step, place] : placesInStreams_)
      places_[step] = place;
  }

  uint32_t placeStream(const Stream &stream, uint32_t step);

  /// Whether it is a kernel of the sync, or a collective behind one. Kernels there (norms) would hold up backward.
  bool waitsForSync(const BodyKernels::Step &step) const {
    if (step.kernel != BodyKernels::kNone)
      return !castsBuffers(body_, kernels_.kernels[step.kernel]);
    return llvm::any_of(body_.op(step.op).operands, [&](ValueId value) {
      uint32_t producer = kernels_.stepOf(body_, value);
      return producer != BodyKernels::kNone && places_[producer].phase == Phase::AfterSync;
    });
  }

  /// What steps do besides making values: add to scalars of the step, give weights their new value.
  void findSideEffects() {
    scalarsOfStep_.resize(kernels_.steps.size());
    assignedByStep_.resize(kernels_.steps.size());
    for (const Op &op : body_.ops) {
      if (op.kind != OpKind::Tally && op.kind != OpKind::Assign)
        continue;
      uint32_t step = kernels_.stepOf(body_, op.operands[0]);
      if (step == BodyKernels::kNone)
        continue;
      if (op.kind == OpKind::Tally)
        scalarsOfStep_[step].push_back(op.get<SlotFields>().slot);
      else
        assignedByStep_[step] = op.get<SlotFields>().slot;
    }
  }

  ValueOrigin origin(ValueId value) const {
    using Kind = ValueOrigin::Kind;
    if (uint32_t step = kernels_.stepOf(body_, value); step != BodyKernels::kNone)
      return {.kind = Kind::Node, .place = places_[step]};
    const Op &op = body_.op(body_.value(kernels_.source[value.index]).def);
    switch (op.kind) {
    case OpKind::Input:
      return {.kind = Kind::Input, .index = op.get<SlotFields>().slot};
    case OpKind::Weight:
      return {.kind = Kind::Weight, .index = op.get<SlotFields>().slot};
    case OpKind::State:
      return {.kind = Kind::State, .index = op.get<SlotFields>().slot};
    case OpKind::Gradient:
      return {.kind = Kind::Gradient, .index = op.get<SlotFields>().slot};
    case OpKind::Total:
      return {.kind = Kind::Scalar, .index = op.get<SlotFields>().slot};
    default:
      return {};
    }
  }

  //===--------------------------------------------------------------------===//
  // Counts
  //===--------------------------------------------------------------------===//

  /// Reports a count that is too large at most once per body, as all of its kernels would be.
  uint64_t count(DimExpr expression, llvm::StringRef what, const Op &op) {
    std::optional<Rational> value = expression.rational();
    if (!value && !expression.overflowed())
      internalError(program_.text(body_.name), "`" + expression.str() + "` has no value at level Typed");
    Int128 whole = 0;
    if (value) {
      // Shares of a kernel round up.
      whole = value->numerator / value->denominator;
      if (value->numerator % value->denominator > 0)
        ++whole;
    }
    if (value && whole >= 0 && whole <= kLargestCount)
      return static_cast<uint64_t>(whole);
    if (!failed_)
      diags_
          .report(
              op.where,
              diag::CountTooLarge{.what = what, .kernel = labelOf(program_, body_, op), .formula = expression.str()})
          .note("traces hold counts below 2^63");
    failed_ = true;
    return 0;
  }

  TensorTemplate tensor(ValueId value) {
    const Value &source = body_.value(kernels_.source[value.index]);
    std::string name =
        source.name ? program_.text(source.name).str() : "value" + std::to_string(kernels_.source[value.index].index);
    // Beside the names of the shards of weights and gradients, which are those of their slots.
    const Op &maker = body_.op(source.def);
    if (isCollective(maker.kind) && maker.get<CollectiveFields>().isStorage)
      name += maker.kind == OpKind::AllGather ? ".gathered" : ".reduced";
    else if (origin(value).kind == ValueOrigin::Kind::Node && isSlotName(name)) // cast behind such a collective
      name += ".value";
    return {.origin = origin(value),
            .name = std::move(name),
            .bytes = source.type ? count(streams_.bytesOf(kernels_.source[value.index]), "bytes", maker) : 0,
            .split = kernels_.loads.splitOf(kernels_.source[value.index])};
  }

  /// Whether tensors of a slot, or of its gradient buffer, are called so.
  bool isSlotName(llvm::StringRef name) const {
    name.consume_back(".grad");
    auto has = [&](const auto &slots) {
      return llvm::any_of(slots, [&](const auto &slot) { return program_.text(slot.name) == name; });
    };
    return has(body_.weights) || has(body_.states);
  }

  /// As a tensor in memory: what takes the place of a slot's goes by its name.
  TensorTemplate stored(ValueId value) {
    using Kind = ValueOrigin::Kind;
    TensorTemplate made = tensor(value);
    MemoryPlace place = inPlace_[kernels_.source[value.index].index];
    if (place.kind == MemoryPlace::Kind::Value)
      return tensor(place.value);
    if (place.kind != MemoryPlace::Kind::Own)
      made.origin = {.kind = place.kind == MemoryPlace::Kind::Weight  ? Kind::Weight
                             : place.kind == MemoryPlace::Kind::State ? Kind::State
                                                                      : Kind::Gradient,
                     .index = place.slot};
    return made;
  }

  //===--------------------------------------------------------------------===//
  // Nodes
  //===--------------------------------------------------------------------===//

  void fill(uint32_t step, NodeTemplate &out) {
    const BodyKernels::Step &at = kernels_.steps[step];
    out.action = actionOf(firstOp(at).part);
    if (at.kernel == BodyKernels::kNone && isHostTransfer(firstOp(at).kind))
      fillTransfer(firstOp(at), out);
    else if (at.kernel == BodyKernels::kNone)
      fillCollective(firstOp(at), out);
    else
      fillKernel(kernels_.kernels[at.kernel], step, out);
    for (uint32_t scalar : scalarsOfStep_[step])
      out.scalarsWritten.push_back(scalar);
    sortUnique(out.inputSlots);
    sortUnique(out.buffersRead);
    sortUnique(out.scalarsRead);
    sortUnique(out.scalarsWritten);
  }

  void dependOn(ValueId value, NodeTemplate &out) const {
    ValueOrigin from = origin(value);
    switch (from.kind) {
    case ValueOrigin::Kind::Node:
      if (!llvm::is_contained(out.nodes, from.place))
        out.nodes.push_back(from.place);
      if (auto further = furtherPlaces_.find(kernels_.stepOf(body_, value)); further != furtherPlaces_.end())
        for (NodePlace place : further->second)
          if (!llvm::is_contained(out.nodes, place))
            out.nodes.push_back(place);
      break;
    case ValueOrigin::Kind::Input:
      out.inputSlots.push_back(from.index);
      break;
    case ValueOrigin::Kind::Gradient:
      out.buffersRead.push_back(from.index);
      break;
    case ValueOrigin::Kind::Scalar:
      out.scalarsRead.push_back(from.index);
      break;
    default:
      break;
    }
  }

  /// The kind of its ops; a call goes by the name of what is called.
  llvm::StringRef opType(const Kernel &kernel) const {
    const Op &first = body_.op(kernel.ops.front());
    if (first.kind == OpKind::Call)
      return program_.text(first.get<CallFields>().callee);
    for (OpId op : kernel.ops) {
      OpKind kind = body_.op(op).kind;
      if (kind != first.kind && kind != OpKind::Accumulate)
        return "fused";
    }
    return mnemonic(first.kind);
  }

  /// The op that names the kernel.
  const Op &lastResult(const Kernel &kernel) const {
    for (OpId op : llvm::reverse(kernel.ops))
      if (!body_.op(op).results.empty())
        return body_.op(op);
    return body_.op(kernel.ops.back());
  }

  /// What the weight is called stands for a kernel that gives it its new value, or that only adds up its gradient.
  std::string kernelName(const Kernel &kernel, uint32_t step) const {
    if (std::optional<uint32_t> slot = assignedByStep_[step])
      return program_.text(body_.weights[*slot].name).str();
    const Op &last = lastResult(kernel);
    if (last.kind == OpKind::Accumulate)
      return program_.text(body_.weights[last.get<SlotFields>().slot].name).str();
    return labelOf(program_, body_, last);
  }

  void fillKernel(const Kernel &kernel, uint32_t step, NodeTemplate &out) {
    const Op &last = lastResult(kernel);
    out.addsShards = addsShards(body_, kernels_, kernel);
    out.name = out.addsShards ? "grad_shards" : kernelName(kernel, step);
    out.opType = opType(kernel);
    out.flops = count(kernel.flops.contraction + kernel.flops.other, "FLOPs", last);
    out.bytes = count(kernel.bytes, "bytes", last);
    for (const UnevenCost &uneven : kernel.uneven)
      out.uneven.push_back({uneven.split, count(uneven.flops, "FLOPs", last), count(uneven.bytes, "bytes", last)});
    for (ValueId value : kernel.reads)
      dependOn(value, out);
    for (OpId id : kernel.ops)
      if (const Op &op = body_.op(id); op.kind == OpKind::Accumulate) {
        // It reads what was added before.
        out.buffersRead.push_back(op.get<SlotFields>().slot);
        out.buffersWritten.push_back(op.get<SlotFields>().slot);
      }
    if (detail_ == UnrollDetail::Annotations)
      annotateKernel(kernel, last, out);
  }

  /// What is communicated, by the name of its first tensor.
  std::string tensorName(ValueId value) const {
    ValueOrigin from = origin(value);
    if (from.kind == ValueOrigin::Kind::Gradient || from.kind == ValueOrigin::Kind::Weight)
      return program_.text(body_.weights[from.index].name).str();
    if (from.kind == ValueOrigin::Kind::Scalar)
      return program_.text(program_.scalars[from.index]).str();
    return labelOf(program_, body_, body_.value(value).name ? value : kernels_.source[value.index]);
  }

  void fillCollective(const Op &op, NodeTemplate &out) {
    out.kind = TraceNodeKind::Collective;
    out.collective = collectiveOf(op.kind);
    const auto &fields = op.get<CollectiveFields>();
    out.exchange = exchangeOf(op, body_, program_, kernels_.loads);
    out.isMessages = isMessages(out.exchange, program_);
    out.axes = axesText(fields.atoms, program_.mesh);
    if (!out.isMessages)
      out.groupKind = groups_.kindOf(fields.atoms);
    if (fields.isStorage && op.kind == OpKind::AllGather && op.part != Part::Step)
      out.ahead = prefetchOf(program_.plan);
    out.reducesShards = reducesToShards(op);
    // What moves the tensors of a whole unit has the unit's name.
    bool isOfUnit = fields.isStorage && op.operands.size() > 1;
    out.name = isOfUnit ? "" : tensorName(op.operands[0]);
    if (!out.isMessages)
      out.name += fmt::format("/{}({})", std::string_view(mnemonic(op.kind)), out.axes);
    DimExpr bytes = program_.context->dims.constant(int64_t(0));
    for (ValueId operand : op.operands) {
      DimExpr own = share_.bytesOf(body_.value(operand));
      bytes = bytes + own;
      if (uint32_t split = kernels_.loads.splitOf(operand); split != ExpertLoads::kEven)
        out.uneven.push_back({split, 0, count(own, "bytes", op)});
      dependOn(operand, out);
    }
    out.leastBytes = op.kind == OpKind::AllGather ? kLeastGathered : 1;
    // A rank without tokens still has something for each member.
    if (out.exchange || !out.uneven.empty())
      out.leastBytes = std::max(out.leastBytes, static_cast<uint64_t>(groupSize(fields.atoms, program_.mesh.atoms())));
    out.bytes = std::max(count(bytes, "bytes", op), out.leastBytes);
    if (detail_ == UnrollDetail::Annotations) {
      annotate(op, out);
      for (ValueId operand : op.operands)
        out.reads.push_back(stored(operand));
      for (ValueId result : op.results)
        write(result, out);
    }
  }

  // Streams (TemplateStreams.cpp)

  void fillStream(const Stream &stream, uint32_t step, std::vector<NodeTemplate> &nodes);
  NodeTemplate stepOf(const Stream &stream, const StreamNode &part, const NodeTemplate &whole, StepShare share);
  bool isInStream(const Stream &stream, NodePlace place) const;
  NodeTemplate messageOf(const Stream &stream, const StreamNode &part, char action);

  /// Only the end on the device is a tensor to its annotations.
  void fillTransfer(const Op &op, NodeTemplate &out) {
    const auto &fields = op.get<HostFields>();
    bool isLoad = op.kind == OpKind::Load;
    out.kind = isLoad ? TraceNodeKind::MemLoad : TraceNodeKind::MemStore;
    out.overlaps = fields.overlaps;
    if (isLoad)
      out.ahead = fields.prefetch;
    ValueId first = op.operands[0];
    if (const Op &store = body_.op(body_.value(first).def); store.kind == OpKind::Store)
      first = store.operands[body_.value(first).result];
    out.name =
        fmt::format("{}/{}", op.operands.size() > 1 ? "" : tensorName(first), std::string_view(mnemonic(op.kind)));
    DimExpr bytes = program_.context->dims.constant(int64_t(0));
    for (ValueId operand : op.operands) {
      bytes = bytes + share_.bytesOf(body_.value(operand));
      dependOn(operand, out);
    }
    out.bytes = count(bytes, "bytes", op);
    if (detail_ == UnrollDetail::Costs)
      return;
    annotate(op, out);
    for (ValueId value : isLoad ? llvm::ArrayRef<ValueId>(op.results) : llvm::ArrayRef<ValueId>(op.operands))
      isLoad ? write(value, out) : out.reads.push_back(stored(value));
  }

  //===--------------------------------------------------------------------===//
  // Annotations
  //===--------------------------------------------------------------------===//

  void annotate(const Op &op, NodeTemplate &out) {
    if (!op.results.empty() && body_.value(op.results[0]).type)
      out.dtype = spelling(body_.value(op.results[0]).type->element);
    out.part = spelling(op.part);
    if (op.where.valid()) {
      const SourceManager &sources = diags_.sources();
      out.source = fmt::format("{}:{}", std::string_view(sources.name(op.where.file)),
                               sources.lineOf(op.where.file, op.where.begin));
    }
  }

  /// A tensor that is new. ASTRA-sim takes each to be written once, and one that nobody reads to stay for ever: what is
  /// updated in place is an input only, and what nobody reads is none.
  void write(ValueId value, NodeTemplate &out) {
    ValueId source = kernels_.source[value.index];
    TensorTemplate made = stored(value);
    if (inPlace_[source.index].kind == MemoryPlace::Kind::Own) {
      if (isRead_[source.index])
        out.writes.push_back(std::move(made));
      return;
    }
    bool isThere = llvm::any_of(out.reads, [&](const TensorTemplate &other) {
      if (other.origin.kind != made.origin.kind)
        return false;
      return made.origin.kind == ValueOrigin::Kind::Node ? other.name == made.name
                                                         : other.origin.index == made.origin.index;
    });
    if (!isThere)
      out.reads.push_back(std::move(made));
  }

  void findReads() {
    isRead_.assign(body_.values.size(), false);
    for (const Op &op : body_.ops)
      if (!isLookedThrough(op.kind) && op.kind != OpKind::Tally)
        for (ValueId operand : op.operands)
          isRead_[kernels_.source[operand.index].index] = true;
    for (const BodyOutput &output : body_.outputs)
      isRead_[kernels_.source[output.value.index].index] = true;
  }

  void annotateKernel(const Kernel &kernel, const Op &last, NodeTemplate &out) {
    annotate(last, out);
    if (last.kind == OpKind::Contract || last.kind == OpKind::Call)
      out.extents = extents(last);
    for (ValueId value : kernel.reads)
      out.reads.push_back(stored(value));
    for (ValueId value : kernel.writes)
      write(value, out);
    for (uint32_t slot : out.buffersWritten) {
      TensorType type = body_.weights[slot].type;
      type.element = body_.weights[slot].gradient;
      TensorTemplate buffer{.origin = {.kind = ValueOrigin::Kind::Gradient, .index = slot},
                            .name = {},
                            .bytes = count(share_.bytesOf(type, body_.weights[slot].buffer), "bytes", last)};
      out.reads.push_back(buffer);
    }
  }

  /// Sizes of the result's dims, then of those summed over, as they stand in the op; of a call those of its factors. On
  /// a rank: its part.
  std::vector<int64_t> extents(const Op &op) const {
    std::vector<int64_t> extents;
    if (op.kind == OpKind::Call) {
      for (const Factor &factor : op.get<CallFields>().factors)
        extents.push_back(factor.dim.size.size().value_or(0));
      return extents;
    }
    auto add = [&](ValueId value, NameId dim) {
      const Value &of = body_.value(value);
      if (of.type->has(dim))
        extents.push_back(share_.sizeOf(of, dim).size().value_or(0));
      return of.type->has(dim);
    };
    for (const Dim &dim : body_.value(op.results[0]).type->dims)
      add(op.results[0], dim.name);
    for (NameId reduced : op.get<ContractFields>().reduced)
      for (ValueId operand : op.operands)
        if (add(operand, reduced))
          break;
    return extents;
  }

  const Program &program_;
  const Body &body_;
  const ProcessGroups &groups_;
  UnrollDetail detail_;
  PassStats &stats_;
  Diagnostics &diags_;
  RankShare share_;
  BodyStreams streams_;
  BodyKernels kernels_;
  std::vector<MemoryPlace> inPlace_;
  // Per step.
  std::vector<NodePlace> places_;
  std::vector<llvm::SmallVector<uint32_t, 1>> scalarsOfStep_;
  std::vector<std::optional<uint32_t>> assignedByStep_;
  /// By step. Of streams: their nodes, the first of these, and where what they make is complete.
  std::map<uint32_t, StreamNodes> streamNodes_;
  std::map<uint32_t, uint32_t> firstOfStream_;
  std::map<uint32_t, NodePlace> placesInStreams_;
  std::map<uint32_t, llvm::SmallVector<NodePlace, 2>> furtherPlaces_;
  std::vector<bool> isRead_; ///< by value: some node or unit reads it
  bool failed_ = false;
};

} // namespace templates
} // namespace stg
