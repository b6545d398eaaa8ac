//===- Kernels.h - which ops run as one kernel, and what it reads and writes ===//
// One statement is one kernel (language.md 2.3): each contraction and each call is a kernel of its own, the other ops
// of one kernel number and part fuse. Views, stops, broadcasts, local slices, constants, iotas and slots are no work
// and belong to none. `accumulate` runs in the kernel that makes its operand, unless that is of another part; of what a
// storage collective brings, one kernel adds all.
//
// A fused kernel is convex: no path leaves it and comes back. Where a contraction, a call, a collective or an inlined
// layer stands between ops of one statement, the statement has several fused kernels. Collectives and transfers to and
// from the host are no kernels, but have their place among them.
//
// Bytes: every value from outside is read once and what is used outside is written once; views are looked through.
// Gather, at, slice and a local slice read what they take, not the whole operand. Append reads and writes the addition
// only. Accumulate reads and writes the gradient buffer. A call that declares its bytes has those, and otherwise all
// its operands and results. From level Laid on, costs and bytes are those of one rank.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_KERNELS_H
#define STG_ANALYSIS_KERNELS_H

#include "stg/Analysis/Cost.h"
#include "stg/Analysis/ExpertLoads.h"

namespace stg {

/// Ops that move nothing: the result is another form of the operand, which readers take from where that one is.
bool isLookedThrough(OpKind kind);

/// What of a kernel's cost follows the tokens that the experts of a rank get: part of the even figures.
struct UnevenCost {
  uint32_t split = ExpertLoads::kEven;
  DimExpr flops, bytes;
};

struct Kernel {
  /// In the order of the body; the last one with a result gives the kernel its name.
  llvm::SmallVector<OpId, 4> ops;
  /// The statement's number.
  uint32_t statement = 0;
  Part part = Part::Forward;
  /// Values of other kernels, of collectives or of the body's slots, each once, in order of first use. No views, no
  /// constants.
  llvm::SmallVector<ValueId, 4> reads;
  /// Results that other kernels, collectives, outputs, losses, states or weights use, in order of definition. A call:
  /// all its results.
  llvm::SmallVector<ValueId, 2> writes;
  /// In FLOPs.
  OpCost flops;
  /// Read plus written.
  DimExpr bytes;
  llvm::SmallVector<UnevenCost, 1> uneven;
};

/// The kernels of one body.
struct BodyKernels {
  static constexpr uint32_t kNone = ~0u;

  /// A kernel, a collective or a transfer to or from the host.
  struct Step {
    /// Index into `kernels`, or kNone.
    uint32_t kernel = kNone;
    /// What is no kernel.
    OpId op;
  };

  /// In an order in which they can run: a kernel comes after those it reads from, otherwise by the source.
  std::vector<Kernel> kernels;
  /// All steps in such an order: forward, backward, sync, then step.
  std::vector<Step> steps;
  /// Per op: its kernel, or kNone.
  std::vector<uint32_t> kernelOfOp;
  /// Per op: its step, or kNone.
  std::vector<uint32_t> stepOfOp;
  /// Per value: what it is a view of, or itself.
  std::vector<ValueId> source;
  ExpertLoads loads;

  /// The kernel that computes `value` (through views), or kNone for slots, constants, iotas and what a collective
  /// or a transfer makes.
  uint32_t producer(const Body &body, ValueId value) const {
    return kernelOfOp[body.value(source[value.index]).def.index];
  }
  /// The step behind `value` (through views), or kNone for slots, constants and iotas.
  uint32_t stepOf(const Body &body, ValueId value) const { return stepOfOp[body.value(source[value.index]).def.index]; }
};

/// `body` must be Typed.
BodyKernels groupKernels(const Body &body, const Program &program);
/// The same with global costs and bytes, whatever the level.
BodyKernels groupKernels(const Body &body, IRContext &context);

/// Whether the kernel only casts gradient buffers, for what sums them over ranks: it waits for no other unit.
bool castsBuffers(const Body &body, const Kernel &kernel);

/// Whether an op is no work: it belongs to no kernel.
bool isFree(OpKind kind);
/// Whether it is communication: reduce-scatter, all-reduce, all-to-all, all-gather.
bool isCollective(OpKind kind);

} // namespace stg

#endif
