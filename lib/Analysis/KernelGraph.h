//===- KernelGraph.h - groups of ops that stay free of cycles ---------------===//
// Nodes are kernels and collectives; an edge leads from what makes a value to what reads it. Nodes grow while the body
// is walked, so edges into old nodes appear late. `depth` is more than that of everything before the node; it lets most
// questions be answered without a search.
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_KERNELGRAPH_H
#define STG_ANALYSIS_KERNELGRAPH_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <vector>

namespace stg {

class KernelGraph {
public:
  uint32_t addNode();
  size_t size() const { return nodes_.size(); }

  /// Whether a path leads from `node` to one of `others`, `node` itself not counted.
  bool leadsTo(uint32_t node, llvm::ArrayRef<uint32_t> others);
  /// Edges from `producers` (those that are `node` are passed over). They must not close a cycle.
  void addProducers(uint32_t node, llvm::ArrayRef<uint32_t> producers);

  /// All nodes, each after its producers; of those that could come next the one with the smallest key.
  std::vector<uint32_t> sorted(llvm::ArrayRef<uint64_t> keys) const;

private:
  struct Node {
    llvm::SmallVector<uint32_t, 4> producers; ///< distinct
    llvm::SmallVector<uint32_t, 4> consumers; ///< distinct
    uint32_t depth = 0;
    uint32_t mark = 0; ///< the search that saw it last
  };
  void deepen(uint32_t node, uint32_t depth);

  std::vector<Node> nodes_;
  std::vector<uint32_t> stack_;
  uint32_t searches_ = 0;
};

} // namespace stg

#endif
