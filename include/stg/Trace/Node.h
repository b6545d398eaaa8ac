//===- Node.h - one node of a trace, before it is written -----------------===//
// What the unroller produces and a writer consumes: facts of one kernel or one
// communication of one rank, in no file format. Strings and lists are views, so
// that filling a node in a loop allocates nothing; they need to live only until
// the consumer returns.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stg {

enum class TraceNodeKind : uint8_t { Compute, Collective, Send, Recv, MemLoad, MemStore };

/// The values are those of Chakra's CollectiveCommType.
enum class TraceCollective : uint8_t {
  AllReduce = 0,
  Reduce = 1,
  AllGather = 2,
  Gather = 3,
  Scatter = 4,
  Broadcast = 5,
  AllToAll = 6,
  ReduceScatter = 7,
  ReduceScatterBlock = 8,
  Barrier = 9,
};

/// A tensor that a node reads or writes. Keeps its name and size from its writer to its last reader.
struct TraceTensor {
  llvm::StringRef name;
  uint64_t bytes;
};

/// What `--annotate=full` adds to a node; a field left at its default is not written.
struct TraceAnnotations {
  /// Sizes of the factors of a contraction, from which M, N and K can be had.
  llvm::ArrayRef<int64_t> extents;
  llvm::StringRef dtype;
  /// forward, input-grad, weight-grad, recompute, sync or step.
  llvm::StringRef part;
  std::optional<int64_t> microBatch;
  /// Place in the program, `file:line`.
  llvm::StringRef source;
  llvm::ArrayRef<TraceTensor> inputs;
  llvm::ArrayRef<TraceTensor> outputs;
};

struct TraceNode {
  /// Unique in its rank; ids of a rank are dense and dependencies are smaller ids.
  uint64_t id = 0;
  TraceNodeKind kind = TraceNodeKind::Compute;
  /// `F3:blocks[7].attn.q`; for people. No `,` and no `=`.
  llvm::StringRef name;
  /// Kind of the op (`contract`, `map`, ...), for compute nodes.
  llvm::StringRef opType;
  /// Values read.
  llvm::ArrayRef<uint64_t> dataDeps;
  /// Order only.
  llvm::ArrayRef<uint64_t> ctrlDeps;

  /// Compute: floating-point operations, a multiply-add counts 2.
  uint64_t flops = 0;
  /// Compute and memory nodes: bytes moved, all inputs and outputs. Communication: bytes of this rank's input buffer
  /// (of an all-gather, the shard that this rank contributes; of a send or receive, the message).
  uint64_t bytes = 0;

  /// Where parts between ranks are uneven, 0 elsewhere. A collective pads them: bytes that this rank has to give. A
  /// message does not: bytes of the largest part between two ranks.
  uint64_t trueBytes = 0, paddedBytes = 0;

  TraceCollective collective = TraceCollective::AllReduce;
  /// Collectives: id of the process group, 1 or more, of rank 0 where all ranks run this program; and its kind
  /// (ProcessGroups), from which other ranks have theirs.
  uint32_t group = 0;
  uint32_t groupKind = 0;
  /// Sends and receives inside a group of kind `groupKind`: the other end is its member so many places further, around.
  /// 0: the other end is at one distance from all ranks.
  uint32_t shift = 0;
  /// Sends and receives: both ends on both nodes.
  uint32_t sourceRank = 0;
  uint32_t destinationRank = 0;
  uint32_t tag = 0;

  /// Nodes with one number, other than 0, agree in everything but id, name, dependencies and annotations; on all ranks,
  /// but for the group.
  uint32_t likeness = 0;

  const TraceAnnotations *annotations = nullptr;
};

/// What a rank's file says about itself. Nothing that differs between two runs of the same input: no time, host or
/// path.
struct TraceMetadata {
  std::string compilerVersion;
  uint32_t rank = 0;
  uint32_t worldSize = 1;
  /// The mesh as text: `pp 4 x dp 2 x tp 2`.
  std::string mesh;
  /// The axes of each kind of process group, in order, and the distance of two ids of one kind: group id g is of kind
  /// (g - 1) % groupStride. Empty without groups.
  std::string groupKinds;
  uint32_t groupStride = 1;
  /// `zipf(s=1.2, seed=7)`, and how uneven all-to-alls are written (`pad`, `p2p`); empty where loads are even.
  std::string routing, unevenExchange;
  /// Hash of the program, in hexadecimal.
  std::string programHash;
};

/// A process group that the traces use: the order of the ranks is the ring.
struct TraceGroup {
  uint32_t id;
  std::vector<uint32_t> ranks;
};

} // namespace stg
