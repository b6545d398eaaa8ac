//===- MemoryProfile.h - what the units of one body bring to memory --------===//
// A body runs in parts: its forward, its backward, its step. For each part the profile says how much memory its nodes
// add and release, relative to what was alive before, so that a unit can be run through without looking at its ops.
//
// Most tensors live and die inside one unit. What other units or ranks read is *shared*: whether a part releases it
// depends on who else has still to read it. The nodes at which a shared tensor is made or last read are the *cuts* of
// the part; between two cuts only the largest sum matters.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_ANALYSIS_MEMORYPROFILE_H
#define STG_LIB_ANALYSIS_MEMORYPROFILE_H

#include "stg/Analysis/InPlace.h"
#include "stg/Analysis/Memory.h"
#include "stg/Analysis/Streams.h"
#include <map>

namespace stg {

/// Parts in which traces run a body. Gather: weights that stay gathered for the step. Forward, InputGrad, WeightGrad
/// and Backward, which is the two of them as one, run per micro-batch; what brings weights from their shards for them
/// is issued ahead, and so a run of its own. What is recomputed belongs to the input gradient. AfterSync: what computes
/// on synchronised gradients.
enum class MemoryRun : uint8_t {
  Gather,
  ForwardGathers,
  Forward,
  InputGathers,
  InputGrad,
  WeightGathers,
  WeightGrad,
  BackwardGathers,
  Backward,
  Sync,
  AfterSync,
  Step
};
inline constexpr size_t kMemoryRuns = 12;

inline bool isMerged(MemoryRun run) { return run == MemoryRun::BackwardGathers || run == MemoryRun::Backward; }

/// A tensor that a body makes.
struct MemoryTensor {
  static constexpr uint32_t kNever = ~0u;
  struct Life {
    /// Nodes of the run: where it is made, where it is read last.
    uint32_t made = kNever, read = kNever;
    bool isTouched() const { return made != kNever || read != kNever; }
    uint32_t last() const { return made == kNever ? read : read == kNever ? made : std::max(made, read); }
  };
  ValueId value;
  MemoryKind kind = MemoryKind::Temporaries;
  int64_t bytes = 0;
  /// Read by other units or ranks; or made once per step and read by micro-batches.
  bool isShared = false;
  bool isMadeOncePerStep = false;
  /// Of a reduction of gradients (Reductions.h): read last by it, or made by it for the kernel that adds it. They go
  /// when it has ended, which is not when it stands in the order; sums of runs have the former only, and never release
  /// them.
  bool isReduced = false, isBrought = false;
  std::array<Life, kMemoryRuns> lives = {};
  /// Not shared: the run that releases it, where I and W run by themselves and where they run as one.
  MemoryRun releasedIn = MemoryRun::Forward, releasedInMerged = MemoryRun::Forward;

  Life in(MemoryRun run) const { return lives[static_cast<size_t>(run)]; }
  /// Not shared: whether its last node is in the run.
  bool endsIn(MemoryRun run) const { return run == (isMerged(run) ? releasedInMerged : releasedIn); }
  /// Not shared: whether it is gone behind its last node in the run.
  bool isReleasedIn(MemoryRun run) const { return !isReduced && !isBrought && endsIn(run); }
};

/// A node of a run at which something shared is made or read for the last time in this run; or behind which stands one
/// that begins or ends what is under way.
struct MemoryCut {
  uint32_t node = 0;
  /// An input slot, or else a tensor of the body.
  bool isInput = false;
  uint32_t index = 0;
  bool makes = false;
  /// How many of its readers are done behind it: a merged backward stands for two.
  uint32_t readers = 0;
  /// Only divides the run: there is no tensor.
  bool isMark = false;
  /// The largest sum from the node behind the cut before to this one, and where.
  int64_t most = 0;
  uint32_t mostAt = 0;
};

/// What a node has to do with communication that runs beside compute. Compute: stands in the order of compute nodes.
enum class MemoryRole : uint8_t { None, Compute, Reduction, Gather };

/// What a reduction of gradients has until it has ended; what it brings, with what those before it brought for the same
/// kernel.
struct MemoryReduction {
  MemoryBytes reads;
  int64_t brings = 0;
};

struct RunProfile {
  /// By node: its place among the body's steps.
  std::vector<uint32_t> steps;
  /// By node, in bytes relative to the beginning: while it runs, and behind it. Releases of shared tensors are not in
  /// it.
  std::vector<int64_t> during, behind;
  /// What the run leaves behind of tensors that are not shared.
  MemoryBytes left;
  /// By node.
  std::vector<MemoryRole> roles;
  /// By node that is the first to read what gathers bring: their places among the body's steps.
  std::map<uint32_t, llvm::SmallVector<uint32_t, 2>> gathersRead;
  /// By node that is a reduction of gradients.
  std::map<uint32_t, MemoryReduction> reductions;
  /// By node; several may be at one.
  std::vector<MemoryCut> cuts;
  /// Behind the last cut.
  int64_t most = 0;
  uint32_t mostAt = 0;

  uint32_t nodes() const { return static_cast<uint32_t>(steps.size()); }
};

/// Parts of a unit that have something to do with a tensor; F, I and W count one each.
struct MemoryReaders {
  uint32_t perBatch = 0, perStep = 0;
};

struct BodyProfile {
  BodyKernels kernels;
  std::shared_ptr<const BodyStreams> streams;
  std::vector<MemoryTensor> tensors;
  /// By value: its tensor, or kNever.
  std::vector<uint32_t> tensorOf;
  std::array<RunProfile, kMemoryRuns> runs;
  /// By input slot and by tensor: the parts that make or read it.
  std::vector<MemoryReaders> inputReaders, tensorReaders;
  /// Whether a backward reads what the slot brings.
  std::vector<bool> isInputSaved;

  const RunProfile &of(MemoryRun run) const { return runs[static_cast<size_t>(run)]; }
  bool runsInBatches() const {
    return of(MemoryRun::ForwardGathers).nodes() + of(MemoryRun::Forward).nodes() +
               of(MemoryRun::BackwardGathers).nodes() + of(MemoryRun::Backward).nodes() !=
           0;
  }
};

/// In bytes of a rank; nothing if it has no number below 2^48.
std::optional<int64_t> memorySize(DimExpr bytes);

/// Nothing if a size is no such number.
std::optional<BodyProfile> profileBody(const Program &program, const Body &body, PassStats &stats);

} // namespace stg

#endif
