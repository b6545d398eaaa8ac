//===- Kernels.cpp - which ops run as one kernel ----------------------------===//
// Grouping walks the ops in order. For every kernel it keeps the set of kernels that it depends on (before),
// transitively. An op may join the open group g of its statement iff none of its producers other than g has g before
// it; else a path would leave g and come back, and the op opens a new group. Joining adds the producers (and what is
// before them) to before(g) and to before(q) of every q that has g before it, so the sets stay transitive and no cycle
// can arise.
//
// Example: y = silu(x) * f(silu(x)), the layer f inlined. silu opens g1, the ops of f open g2 with g1 before it, and
// the product reads g2: it cannot join g1 and becomes g3.
//===----------------------------------------------------------------------===//
#include "stg/Analysis/Kernels.h"
#include "llvm/ADT/BitVector.h"

#include <map>
#include <set>

namespace stg {

bool isFree(OpKind kind) {
  switch (kind) {
  case OpKind::Input:
  case OpKind::Weight:
  case OpKind::State:
  case OpKind::Constant:
  case OpKind::Iota:
  case OpKind::Stop:
  case OpKind::View:
  case OpKind::Update:
  case OpKind::Accumulate:
  case OpKind::Gradient:
  case OpKind::Assign:
  case OpKind::Tally:
  case OpKind::Total:
  case OpKind::Convert:
  case OpKind::Shard:
  case OpKind::Demote:
  case OpKind::ReduceScatter:
  case OpKind::AllReduce:
  case OpKind::AllToAll:
  case OpKind::AllGather:
    return true;
  default:
    return false;
  }
}

namespace {

constexpr uint32_t kNone = BodyKernels::kNone;

bool standsAlone(OpKind kind) { return kind == OpKind::Contract || kind == OpKind::Call; }

/// Operands that are read only where the op takes from them.
bool readsPart(const Op &op, size_t operand) {
  return operand == 0 && (op.kind == OpKind::Gather || op.kind == OpKind::At || op.kind == OpKind::Slice);
}

class Grouping {
public:
  Grouping(const Body &body, IRContext &context) : body_(body), context_(context) {}

  BodyKernels run() {
    traceViews();
    result_.kernelOfOp.assign(body_.ops.size(), kNone);
    for (uint32_t i = 0; i < body_.ops.size(); ++i)
      if (!isFree(body_.ops[i].kind))
        place(OpId(i));
    sortKernels();
    collectWrites();
    for (Kernel &kernel : result_.kernels)
      account(kernel);
    return std::move(result_);
  }

private:
  void traceViews() {
    for (uint32_t i = 0; i < body_.values.size(); ++i)
      result_.source.push_back(ValueId(i));
    for (const Op &op : body_.ops)
      if (op.kind == OpKind::View || op.kind == OpKind::Stop)
        result_.source[op.results[0].index] = result_.source[op.operands[0].index];
  }

  ValueId sourceOf(ValueId value) const { return result_.source[value.index]; }
  const Op &producerOp(ValueId source) const { return body_.op(body_.value(source).def); }

  void place(OpId id) {
    const Op &op = body_.op(id);
    llvm::SmallVector<uint32_t, 4> producers;
    for (ValueId operand : op.operands)
      if (uint32_t kernel = result_.producer(body_, operand); kernel != kNone)
        producers.push_back(kernel);
    uint32_t target = kNone;
    if (!standsAlone(op.kind)) {
      auto [open, isNew] = open_.try_emplace(op.kernel, kNone);
      if (!isNew && mayJoin(open->second, producers))
        target = open->second;
    }
    if (target == kNone) {
      target = static_cast<uint32_t>(result_.kernels.size());
      Kernel &kernel = result_.kernels.emplace_back();
      kernel.statement = op.kernel;
      before_.emplace_back();
      if (!standsAlone(op.kind))
        open_[op.kernel] = target;
    }
    result_.kernels[target].ops.push_back(id);
    result_.kernelOfOp[id.index] = target;
    addBefore(target, producers);
  }

  bool has(const llvm::BitVector &set, uint32_t kernel) const { return kernel < set.size() && set.test(kernel); }

  bool mayJoin(uint32_t group, llvm::ArrayRef<uint32_t> producers) const {
    return llvm::none_of(producers,
                         [&](uint32_t producer) { return producer != group && has(before_[producer], group); });
  }

  void addBefore(uint32_t group, llvm::ArrayRef<uint32_t> producers) {
    llvm::BitVector added(static_cast<unsigned>(result_.kernels.size()));
    for (uint32_t producer : producers) {
      if (producer == group)
        continue;
      added.set(producer);
      added |= before_[producer];
    }
    if (added.none())
      return;
    before_[group] |= added;
    for (uint32_t i = 0; i < before_.size(); ++i)
      if (has(before_[i], group))
        before_[i] |= added;
  }

  /// Kernels in an order that respects `before_`; of those that could come next, the one whose first op is first.
  void sortKernels() {
    size_t count = result_.kernels.size();
    std::vector<size_t> missing(count);
    std::set<std::pair<uint32_t, uint32_t>> ready; // first op, kernel
    for (uint32_t i = 0; i < count; ++i) {
      missing[i] = before_[i].count();
      if (missing[i] == 0)
        ready.insert({result_.kernels[i].ops.front().index, i});
    }
    std::vector<uint32_t> place(count);
    std::vector<Kernel> sorted;
    while (!ready.empty()) {
      uint32_t next = ready.begin()->second;
      ready.erase(ready.begin());
      place[next] = static_cast<uint32_t>(sorted.size());
      sorted.push_back(std::move(result_.kernels[next]));
      for (uint32_t i = 0; i < count; ++i)
        if (has(before_[i], next) && --missing[i] == 0)
          ready.insert({result_.kernels[i].ops.front().index, i});
    }
    result_.kernels = std::move(sorted);
    for (uint32_t &kernel : result_.kernelOfOp)
      if (kernel != kNone)
        kernel = place[kernel];
  }

  /// What leaves its kernel: read by another one, or by what outlives the body.
  void collectWrites() {
    leaves_.assign(body_.values.size(), false);
    for (uint32_t i = 0; i < body_.ops.size(); ++i) {
      const Op &op = body_.ops[i];
      for (ValueId operand : op.operands) {
        bool viewed = op.kind == OpKind::View || op.kind == OpKind::Stop;
        if (!viewed && (op.kind == OpKind::Update || result_.producer(body_, operand) != result_.kernelOfOp[i]))
          leaves_[sourceOf(operand).index] = true;
      }
      if (op.kind == OpKind::Call)
        for (ValueId result : op.results)
          leaves_[result.index] = true;
    }
    for (const BodyOutput &output : body_.outputs)
      leaves_[sourceOf(output.value).index] = true;
    for (ValueId loss : body_.losses)
      leaves_[sourceOf(loss).index] = true;
  }

  DimExpr bytesOf(ValueId value) { return byteCount(*body_.value(value).type, context_.dims); }

  void account(Kernel &kernel) {
    DimExpr zero = context_.dims.constant(int64_t(0));
    kernel.flops = {zero, zero};
    uint32_t self = result_.kernelOfOp[kernel.ops.front().index];
    std::vector<std::pair<ValueId, DimExpr>> parts; // read in part: bytes so far
    llvm::SmallVector<ValueId, 4> whole;
    DimExpr written = zero;
    for (OpId id : kernel.ops) {
      const Op &op = body_.op(id);
      OpCost cost = costOf(op, body_, context_);
      kernel.flops.contraction = kernel.flops.contraction + cost.contraction;
      kernel.flops.other = kernel.flops.other + cost.other;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        ValueId source = sourceOf(op.operands[i]);
        OpKind producer = producerOp(source).kind;
        bool isAppendedState = op.kind == OpKind::Append && i == 0;
        if (result_.kernelOfOp[body_.value(source).def.index] == self || producer == OpKind::Constant ||
            producer == OpKind::Iota || isAppendedState)
          continue;
        if (!llvm::is_contained(kernel.reads, source))
          kernel.reads.push_back(source);
        if (readsPart(op, i))
          parts.push_back(
              {source, elementCount(*body_.value(op.results[0]).type, context_.dims) *
                           context_.dims.constant(Rational{bitWidth(body_.value(source).type->element), 8})});
        else if (!llvm::is_contained(whole, source))
          whole.push_back(source);
      }
      for (ValueId result : op.results) {
        if (op.kind == OpKind::Append) {
          kernel.writes.push_back(result);
          written = written + bytesOf(op.operands[1]);
        } else if (leaves_[result.index]) {
          kernel.writes.push_back(result);
          written = written + bytesOf(result);
        }
      }
    }
    kernel.bytes = written;
    for (ValueId value : whole)
      kernel.bytes = kernel.bytes + bytesOf(value);
    for (const auto &[value, bytes] : parts)
      if (!llvm::is_contained(whole, value))
        kernel.bytes = kernel.bytes + bytes;
    const Op &first = body_.op(kernel.ops.front());
    if (first.kind == OpKind::Call && first.get<CallFields>().bytes)
      kernel.bytes = first.get<CallFields>().bytes;
  }

  const Body &body_;
  IRContext &context_;
  BodyKernels result_;
  std::vector<llvm::BitVector> before_;
  std::map<uint32_t, uint32_t> open_; // statement -> its open fused kernel
  std::vector<bool> leaves_;
};

} // namespace

BodyKernels groupKernels(const Body &body, IRContext &context) { return Grouping(body, context).run(); }

} // namespace stg
