//===- Kernels.h - which ops run as one kernel, and what it reads and writes ===//
// One statement is one kernel (language.md 2.3): each contraction and each call is a kernel of its own, the other ops
// of one kernel number fuse. Views, stops, constants, iotas, slots and updates are no work and belong to none.
//
// A fused kernel is convex: no path leaves it and comes back. Where a contraction, a call or an inlined layer stands
// between ops of one statement, the statement has several fused kernels.
//
// Bytes: every value from outside is read once and what is used outside is written once; views are looked through.
// Gather, at and slice read what they take, not the whole operand. Append reads and writes the addition only. A call
// that declares its bytes has those, and otherwise all its operands and results.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_KERNELS_H
#define STG_ANALYSIS_KERNELS_H

#include "stg/Analysis/Cost.h"

namespace stg {

struct Kernel {
  /// In the order of the body; the last one gives the kernel its name.
  llvm::SmallVector<OpId, 4> ops;
  /// The statement's number.
  uint32_t statement = 0;
  /// Values of other kernels or of the body's slots, each once, in order of first use. No views, no constants.
  llvm::SmallVector<ValueId, 4> reads;
  /// Results that other kernels, outputs, losses or states use, in order of definition. A call: all its results.
  llvm::SmallVector<ValueId, 2> writes;
  /// In FLOPs.
  OpCost flops;
  /// Read plus written.
  DimExpr bytes;
};

/// The kernels of one body.
struct BodyKernels {
  static constexpr uint32_t kNone = ~0u;

  /// In an order in which they can run: a kernel comes after those it reads from, otherwise by the source.
  std::vector<Kernel> kernels;
  /// Per op: its kernel, or kNone.
  std::vector<uint32_t> kernelOfOp;
  /// Per value: what it is a view of, or itself.
  std::vector<ValueId> source;

  /// The kernel that computes `value` (through views), or kNone for slots, constants and iotas.
  uint32_t producer(const Body &body, ValueId value) const {
    return kernelOfOp[body.value(source[value.index]).def.index];
  }
};

/// `body` must be Typed.
BodyKernels groupKernels(const Body &body, IRContext &context);

/// Whether an op is no work: it belongs to no kernel.
bool isFree(OpKind kind);

} // namespace stg

#endif
