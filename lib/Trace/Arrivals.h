//===- Arrivals.h - what stands for all messages of an exchange ---------------===//
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cstdint>
#include <map>
#include <vector>

namespace stg {

/// An exchange that is written as messages has no node of its own. A key in the place of an id stands for all nodes
/// that a reader of what it brings waits for: its receives, and, as a rank keeps a part, what made that.
class Arrivals {
public:
  /// A key for these nodes.
  uint64_t add(llvm::ArrayRef<uint64_t> ids) {
    all_.emplace_back(ids.begin(), ids.end());
    return kKey | (all_.size() - 1);
  }
  /// Puts the nodes in the place of keys; ids then ascend, each once.
  template <class List> void expand(List &ids) const {
    if (all_.empty() || llvm::none_of(ids, [](uint64_t id) { return (id & kKey) != 0; }))
      return;
    List expanded;
    for (uint64_t id : ids)
      if ((id & kKey) != 0)
        expanded.append(all_[id & ~kKey].begin(), all_[id & ~kKey].end());
      else
        expanded.push_back(id);
    llvm::sort(expanded);
    expanded.erase(std::unique(expanded.begin(), expanded.end()), expanded.end());
    ids = std::move(expanded);
  }

  /// The last message to or from a rank, 0 if there is none.
  uint64_t &lastTo(uint32_t rank) { return to_[rank]; }
  uint64_t &lastFrom(uint32_t rank) { return from_[rank]; }

private:
  static constexpr uint64_t kKey = uint64_t{1} << 63;
  std::vector<llvm::SmallVector<uint64_t, 8>> all_;
  std::map<uint32_t, uint64_t> to_, from_;
};

} // namespace stg
