//===- Kernels.cpp - which ops run as one kernel ----------------------------===//
// Grouping walks the ops in order and keeps the graph of steps free of cycles: an op may join the
// open group of its statement iff no path leads from that group to one of the op's producers, else a path would leave
// the group and come back, and the op opens a new group.
//
// Example: y = silu(x) * f(silu(x)), the layer f inlined. silu opens g1, the ops of f open g2, which reads g1, and the
// product reads g2: it cannot join g1 and becomes g3.
//===----------------------------------------------------------------------===//
#include "stg/Analysis/Kernels.h"
#include "KernelGraph.h"
#include "stg/IR/LayoutOps.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

bool isCollective(OpKind kind) {
  return kind == OpKind::ReduceScatter || kind == OpKind::AllReduce || kind == OpKind::AllToAll ||
         kind == OpKind::AllGather;
}

/// No kernel, but with a place among them.
static bool isOwnStep(OpKind kind) { return isCollective(kind) || isHostTransfer(kind); }

bool isFree(OpKind kind) {
  switch (kind) {
  case OpKind::Input:
  case OpKind::Weight:
  case OpKind::State:
  case OpKind::Constant:
  case OpKind::Iota:
  case OpKind::Stop:
  case OpKind::View:
  case OpKind::Broadcast:
  case OpKind::Update:
  case OpKind::Gradient:
  case OpKind::Assign:
  case OpKind::Tally:
  case OpKind::Total:
  case OpKind::Convert:
  case OpKind::Shard:
  case OpKind::Demote:
    return true;
  default:
    return isOwnStep(kind);
  }
}

bool isLookedThrough(OpKind kind) {
  return kind == OpKind::View || kind == OpKind::Stop || kind == OpKind::Broadcast || kind == OpKind::Convert ||
         kind == OpKind::Shard || kind == OpKind::Demote;
}

bool castsBuffers(const Body &body, const Kernel &kernel) {
  return llvm::all_of(kernel.ops, [&](OpId id) {
    const Op &op = body.op(id);
    return op.kind == OpKind::Map && op.get<MapFields>().fn == MapFn::Cast &&
           body.op(body.value(op.operands[0]).def).kind == OpKind::Gradient;
  });
}

namespace {

constexpr uint32_t kNone = BodyKernels::kNone;

bool standsAlone(OpKind kind) { return kind == OpKind::Contract || kind == OpKind::Call || kind == OpKind::Accumulate; }

/// Operands that are read only where the op takes from them.
bool readsPart(const Op &op, size_t operand) {
  return operand == 0 && (op.kind == OpKind::Gather || op.kind == OpKind::At || op.kind == OpKind::Slice);
}

/// When a part runs, in order.
uint64_t phaseOf(Part part) {
  switch (part) {
  case Part::Gather:
    return 0;
  case Part::Forward:
    return 1;
  case Part::Recompute:
  case Part::InputGrad:
  case Part::WeightGrad:
    return 2;
  case Part::Sync:
    return 3;
  case Part::Step:
    return 4;
  }
  return 4;
}

class Grouping {
public:
  Grouping(const Body &body, IRContext &context, RankShare share, ExpertLoads loads = {})
      : body_(body), context_(context), share_(share) {
    result_.loads = std::move(loads);
  }

  BodyKernels run() {
    traceViews();
    nodeOfOp_.assign(body_.ops.size(), kNone);
    for (uint32_t i = 0; i < body_.ops.size(); ++i)
      if (!isFree(body_.ops[i].kind) || isOwnStep(body_.ops[i].kind))
        place(OpId(i));
    sortSteps();
    collectWrites();
    marks_.assign(body_.values.size(), kNone);
    partMarks_.assign(body_.values.size(), kNone);
    isWhole_.assign(body_.values.size(), false);
    for (uint32_t i = 0; i < result_.kernels.size(); ++i)
      account(i);
    return std::move(result_);
  }

private:
  /// What is grouped: a kernel that grows, or another step.
  struct Node {
    llvm::SmallVector<OpId, 4> ops;
    Part part;
    bool isKernel = true;
  };

  void traceViews() {
    for (uint32_t i = 0; i < body_.values.size(); ++i)
      result_.source.push_back(ValueId(i));
    takenPart_.resize(body_.values.size());
    for (const Op &op : body_.ops) {
      if (!isLookedThrough(op.kind))
        continue;
      for (size_t i = 0; i < op.results.size(); ++i) {
        uint32_t result = op.results[i].index, operand = op.operands[i].index;
        result_.source[result] = result_.source[operand];
        takenPart_[result] = op.kind == OpKind::Shard ? op.results[i] : takenPart_[operand];
      }
    }
  }

  ValueId sourceOf(ValueId value) const { return result_.source[value.index]; }
  OpId definition(ValueId source) const { return body_.value(source).def; }

  /// The node that `op` becomes part of, or kNone if it begins one.
  uint32_t openNode(const Op &op, llvm::ArrayRef<uint32_t> producers) {
    if (op.kind == OpKind::Accumulate) {
      // A collective's result, or one of another part, is added by a kernel of its own.
      bool fuses = !producers.empty() && nodes_[producers[0]].isKernel && nodes_[producers[0]].part == op.part;
      if (fuses || !addsShard(producers))
        return fuses ? producers[0] : kNone;
    } else if (standsAlone(op.kind) || isOwnStep(op.kind)) {
      return kNone;
    }
    auto open = open_.find(statementOf(op));
    return open != open_.end() && !graph_.leadsTo(open->second, producers) ? open->second : kNone;
  }

  /// Whether an accumulation adds what a storage collective brings: one kernel does so for all weights of a unit.
  bool addsShard(llvm::ArrayRef<uint32_t> producers) const {
    if (producers.empty() || nodes_[producers[0]].isKernel)
      return false;
    const auto *collective = std::get_if<CollectiveFields>(&body_.op(nodes_[producers[0]].ops.front()).fields);
    return collective && collective->isStorage;
  }

  /// Statements of two parts never fuse.
  static uint64_t statementOf(const Op &op) { return static_cast<uint64_t>(op.part) << 32 | op.kernel; }

  void place(OpId id) {
    const Op &op = body_.op(id);
    producers_.clear();
    for (ValueId operand : op.operands)
      if (uint32_t node = nodeOfOp_[definition(sourceOf(operand)).index]; node != kNone)
        producers_.push_back(node);
    uint32_t target = openNode(op, producers_);
    if (target == kNone) {
      target = graph_.addNode();
      nodes_.push_back({.ops = {}, .part = op.part, .isKernel = !isOwnStep(op.kind)});
      bool adds = op.kind == OpKind::Accumulate && addsShard(producers_);
      if (adds || (!standsAlone(op.kind) && !isOwnStep(op.kind)))
        open_[statementOf(op)] = target;
    }
    nodes_[target].ops.push_back(id);
    nodeOfOp_[id.index] = target;
    graph_.addProducers(target, producers_);
  }

  void sortSteps() {
    std::vector<uint64_t> keys;
    for (const Node &node : nodes_)
      keys.push_back(phaseOf(node.part) << 32 | node.ops.front().index);
    std::vector<uint32_t> step(nodes_.size()), kernel(nodes_.size(), kNone);
    for (uint32_t index : graph_.sorted(keys)) {
      Node &node = nodes_[index];
      step[index] = static_cast<uint32_t>(result_.steps.size());
      if (!node.isKernel) {
        result_.steps.push_back({.kernel = kNone, .op = node.ops.front()});
        continue;
      }
      kernel[index] = static_cast<uint32_t>(result_.kernels.size());
      result_.steps.push_back({.kernel = kernel[index], .op = {}});
      Kernel &made = result_.kernels.emplace_back();
      made.statement = body_.op(node.ops.front()).kernel;
      made.part = node.part;
      made.ops = std::move(node.ops);
    }
    for (uint32_t node : nodeOfOp_) {
      result_.kernelOfOp.push_back(node == kNone ? kNone : kernel[node]);
      result_.stepOfOp.push_back(node == kNone ? kNone : step[node]);
    }
  }

  /// What leaves its kernel: read by another step, or by what outlives the body.
  void collectWrites() {
    leaves_.assign(body_.values.size(), false);
    for (uint32_t i = 0; i < body_.ops.size(); ++i) {
      const Op &op = body_.ops[i];
      for (ValueId operand : op.operands)
        if (!isLookedThrough(op.kind) && result_.producer(body_, operand) != result_.kernelOfOp[i])
          leaves_[sourceOf(operand).index] = true;
      if (op.kind == OpKind::Call)
        for (ValueId result : op.results)
          leaves_[result.index] = true;
    }
    for (const BodyOutput &output : body_.outputs)
      leaves_[sourceOf(output.value).index] = true;
    for (ValueId loss : body_.losses)
      leaves_[sourceOf(loss).index] = true;
  }

  DimExpr bytesOf(ValueId value) const { return share_.bytesOf(body_.value(value)); }

  /// Bytes of the part of an operand that is read; null: all of it.
  DimExpr partBytes(const Op &op, size_t operand) const {
    ValueId value = op.operands[operand];
    if (readsPart(op, operand)) {
      TensorType taken = *body_.value(op.results[0]).type;
      taken.element = body_.value(value).type->element;
      return share_.bytesOf(taken, body_.value(op.results[0]).layout);
    }
    ValueId part = takenPart_[value.index];
    return part ? bytesOf(part) : DimExpr();
  }

  /// An operand that the kernel takes from memory.
  bool isRead(const Op &op, size_t operand, uint32_t kernel) const {
    OpId producer = definition(sourceOf(op.operands[operand]));
    OpKind kind = body_.op(producer).kind;
    bool isAppendedState = op.kind == OpKind::Append && operand == 0;
    return result_.kernelOfOp[producer.index] != kernel && kind != OpKind::Constant && kind != OpKind::Iota &&
           !isAppendedState;
  }

  void account(uint32_t index) {
    Kernel &kernel = result_.kernels[index];
    kernel.flops = {zero(), zero()};
    kernel.bytes = zero();
    addReads(kernel, index);
    for (OpId id : kernel.ops) {
      const Op &op = body_.op(id);
      OpCost cost = share_.costOf(op, body_);
      kernel.flops.contraction = kernel.flops.contraction + cost.contraction;
      kernel.flops.other = kernel.flops.other + cost.other;
      addUneven(kernel, result_.loads.splitOf(op), cost.contraction + cost.other, zero());
      if (op.kind == OpKind::Accumulate)
        kernel.bytes = kernel.bytes + bufferBytes(body_.weights[op.get<SlotFields>().slot]) * 2;
      for (ValueId result : op.results) {
        if (op.kind != OpKind::Append && !leaves_[result.index])
          continue;
        kernel.writes.push_back(result);
        addBytes(kernel, op.kind == OpKind::Append ? op.operands[1] : result);
      }
    }
    addDeclared(kernel);
  }

  DimExpr zero() const { return context_.dims.constant(int64_t(0)); }

  void addBytes(Kernel &kernel, ValueId value) {
    kernel.bytes = kernel.bytes + bytesOf(value);
    addUneven(kernel, result_.loads.splitOf(value), zero(), bytesOf(value));
  }

  static void addUneven(Kernel &kernel, uint32_t split, DimExpr flops, DimExpr bytes) {
    if (split == ExpertLoads::kEven)
      return;
    auto known = llvm::find_if(kernel.uneven, [&](const UnevenCost &each) { return each.split == split; });
    if (known == kernel.uneven.end())
      kernel.uneven.push_back({split, flops, bytes});
    else
      *known = {split, known->flops + flops, known->bytes + bytes};
  }

  DimExpr bufferBytes(const WeightSlot &slot) const {
    TensorType type = slot.type;
    type.element = slot.gradient;
    return share_.bytesOf(type, slot.buffer);
  }

  /// Each value once, though read in two places; what is read whole is not read in parts as well.
  void addReads(Kernel &kernel, uint32_t index) {
    struct ReadPart {
      ValueId source, taken;
      DimExpr bytes;
    };
    std::vector<ReadPart> parts;
    llvm::SmallVector<ValueId, 4> whole;
    for (OpId id : kernel.ops) {
      const Op &op = body_.op(id);
      for (size_t i = 0; i < op.operands.size(); ++i) {
        if (!isRead(op, i, index))
          continue;
        ValueId source = sourceOf(op.operands[i]);
        if (std::exchange(marks_[source.index], index) != index)
          kernel.reads.push_back(source);
        if (DimExpr bytes = partBytes(op, i)) {
          // The same local slice twice is one.
          ValueId part = takenPart_[op.operands[i].index];
          if (!part || readsPart(op, i) || std::exchange(partMarks_[part.index], index) != index)
            parts.push_back({source, readsPart(op, i) ? op.results[0] : part, bytes});
        } else if (!isWhole_[source.index]) {
          isWhole_[source.index] = true;
          whole.push_back(source);
        }
      }
    }
    for (ValueId value : whole)
      addBytes(kernel, value);
    for (const ReadPart &part : parts)
      if (!isWhole_[part.source.index]) {
        kernel.bytes = kernel.bytes + part.bytes;
        addUneven(kernel, result_.loads.splitOf(part.taken), zero(), part.bytes);
      }
    for (ValueId value : whole)
      isWhole_[value.index] = false;
  }

  /// A call's own word on its bytes; with what an accumulation behind it moves.
  void addDeclared(Kernel &kernel) {
    const Op &first = body_.op(kernel.ops.front());
    if (first.kind != OpKind::Call)
      return;
    DimExpr declared = share_.declaredBytes(first, body_);
    if (!declared)
      return;
    kernel.bytes = declared;
    // What it declares follows its tokens.
    for (UnevenCost &uneven : kernel.uneven)
      uneven.bytes = uneven.split == result_.loads.splitOf(first) ? declared : zero();
    for (OpId id : kernel.ops)
      if (body_.op(id).kind == OpKind::Accumulate)
        kernel.bytes = kernel.bytes + bufferBytes(body_.weights[body_.op(id).get<SlotFields>().slot]) * 2;
  }

  const Body &body_;
  IRContext &context_;
  RankShare share_;
  BodyKernels result_;
  KernelGraph graph_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> nodeOfOp_;
  llvm::DenseMap<uint64_t, uint32_t> open_; // statement -> its open fused kernel
  llvm::SmallVector<uint32_t, 8> producers_;
  /// Per value: the local slice through which it comes from its source, if it does.
  std::vector<ValueId> takenPart_;
  std::vector<bool> leaves_;
  /// Per value: the last kernel that was found to read it, or the slice of it.
  std::vector<uint32_t> marks_, partMarks_;
  std::vector<bool> isWhole_;
};

} // namespace

BodyKernels groupKernels(const Body &body, const Program &program) {
  return Grouping(body, *program.context, RankShare(program), ExpertLoads(program, body)).run();
}

BodyKernels groupKernels(const Body &body, IRContext &context) {
  return Grouping(body, context, RankShare(context)).run();
}

} // namespace stg
