//===- Memory.h - what is in the memory of a rank over a step --------------===//
// Needs    Typed or later (sizes of a rank from Laid on); with a pipeline, Scheduled. Optimizer states are there from
//          Stored on.
// Gives    for each class of ranks (a place in the pipeline) the peak over a step: how much, when, and what is alive
//          then, by category and by unit; and the curve over the step.
//          Tensors are what kernels write and what collectives and receives bring; values inside a kernel never exist,
//          views and what is handed on are the memory that they come from, and some results take the place of a slot
//          (InPlace.h). A tensor lives from its writer to its last reader on the rank, in the order in which the rank's
//          trace has them; what is sent, until it is sent; gradients on their way to shards, until that is awaited.
//          Parameters, gradient buffers, optimizer states and the model's own states live all the time. The inputs of
//          the model are not counted: they are the caller's.
// Cost     an op is visited once per body. A class costs O(actions x units) integers, an overlapped pair O(its nodes).
// Tests    unittests/Driver/MemoryTraceTest (against traces), MemoryFactsTest (against publications),
//          test/Driver/explain-memory.test (by hand)
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_MEMORY_H
#define STG_ANALYSIS_MEMORY_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "llvm/ADT/ArrayRef.h"
#include <array>
#include <memory>

namespace stg {

enum class MemoryKind : uint8_t {
  Parameters,
  /// Buffers; they live all the step.
  Gradients,
  /// Moments and master copies.
  Optimizer,
  /// Of the model: caches.
  States,
  /// What a forward makes or receives and a backward reads.
  Activations,
  /// Weights that are brought together from their shards.
  Gathered,
  /// Results of collectives and messages that no backward waits for.
  Communication,
  /// Everything else: of one action, and gradients of activations.
  Temporaries,
  /// In the memory of the host: what rests there, and activations that wait there for their backward. Beside the peak,
  /// not in it.
  Host
};
inline constexpr size_t kMemoryKinds = 9;
/// Those of the device stand first.
inline constexpr size_t kDeviceMemoryKinds = 8;
/// `parameters`, `gathered weights`.
llvm::StringRef nameOf(MemoryKind kind);

/// By MemoryKind, in bytes.
struct MemoryBytes {
  std::array<int64_t, kMemoryKinds> of = {};

  int64_t &operator[](MemoryKind kind) { return of[static_cast<size_t>(kind)]; }
  int64_t operator[](MemoryKind kind) const { return of[static_cast<size_t>(kind)]; }
  /// Of the device.
  int64_t total() const;
  MemoryBytes &operator+=(const MemoryBytes &other);
  bool operator==(const MemoryBytes &) const = default;
};

/// What stands still: parameters, gradients, optimizer, states.
inline bool isKept(MemoryKind kind) { return kind <= MemoryKind::States; }

/// A moment of a step.
struct MemoryTime {
  /// Nothing behind the actions: in the sync of gradients or the optimizer's step.
  std::optional<Action> action;
  UnitId unit;
  /// What runs, as traces call it: `F3:blocks[7].ffn.h`; empty while messages arrive for the action.
  std::string node;
};

/// Of one unit at the peak: its activations and all else that it or its messages brought. Kept memory is not in it.
struct UnitMemory {
  UnitId unit;
  MemoryBytes bytes;
  /// Between their forward and the end of their backward.
  uint32_t microBatches = 0;
};

struct MemoryPeak {
  MemoryBytes alive;
  MemoryTime when;
  /// Without those that have nothing; largest first.
  std::vector<UnitMemory> units;

  int64_t bytes() const { return alive.total(); }
  /// The most that is on the host, perhaps at another time.
  int64_t host = 0;
};

/// A point of the curve: a unit has run.
struct MemoryPoint {
  std::optional<Action> action;
  UnitId unit;
  /// Behind it.
  MemoryBytes alive;
  /// The most while it ran, all kinds together.
  int64_t most = 0;
};

class MemoryOverTime {
public:
  /// Nothing if a size has no number, or one of 2^48 bytes or more. `program` outlives it.
  static std::optional<MemoryOverTime> create(const Program &program, PassStats &stats);
  MemoryOverTime(MemoryOverTime &&) noexcept;
  ~MemoryOverTime();

  /// Places in the pipeline; 1 without one.
  uint32_t classes() const;
  /// Nothing if a sum leaves 2^60.
  std::optional<MemoryPeak> peak(uint32_t rankClass) const;
  /// In order of time.
  std::vector<MemoryPoint> curve(uint32_t rankClass) const;
  /// Of one micro-batch: what a forward of the unit makes for its own backward and shares with no other unit.
  int64_t savedInside(UnitId unit) const;

private:
  struct Profiles;
  explicit MemoryOverTime(std::unique_ptr<Profiles> profiles);
  std::unique_ptr<Profiles> profiles_;
};

} // namespace stg

#endif
