//===- ReductionsUnderWay.h - gradients that are being reduced ---------------===//
// Storage collectives run beside compute, one after the other. Where the walk stands at a compute node, any of those
// that need not have ended may be at work: the reductions before it have given back what they read, those behind it
// have not begun, and weights that are gathered behind it are not there yet. What counts is the largest sum of these
// states.
//
// Example: R7 G5 R6 G4 are issued, and the backward of unit 5, which waits for G5, computes. R7 and G5 have ended. R6
// may be at work: what it reads and brings is there and G4 is not; or G4 is.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_ANALYSIS_REDUCTIONSUNDERWAY_H
#define STG_LIB_ANALYSIS_REDUCTIONSUNDERWAY_H

#include "stg/IR/Program.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

class ReductionsUnderWay {
public:
  /// In bytes.
  void begin(UnitId unit, int64_t reads, int64_t brings) { list_.push_back({unit, reads, brings, 0, {}}); }

  /// Weights of the unit are gathered, at this place of its body's steps; the caller counts them from now on.
  void gather(UnitId unit, uint32_t step, int64_t bytes) {
    if (list_.empty())
      return;
    list_.back().gathered += bytes;
    list_.back().gathers.push_back({unit, step});
  }

  /// Behind a gather: what it read goes when it has run. The caller counts that no more.
  void gathered(int64_t bytes) {
    if (!list_.empty())
      list_.back().gathered -= bytes;
  }

  /// A compute node begins: all but the last have ended, those before the gathers of its unit that it reads too, and in
  /// the step all.
  void compute(UnitId unit, llvm::ArrayRef<uint32_t> gathers, bool isStep) {
    if (list_.empty())
      return;
    size_t ended = isStep ? list_.size() : list_.size() - 1;
    for (size_t i = ended; i < list_.size(); ++i)
      for (uint32_t step : gathers)
        if (llvm::is_contained(list_[i].gathers, std::pair(unit, step)))
          ended = i + 1;
    list_.erase(list_.begin(), list_.begin() + static_cast<std::ptrdiff_t>(ended));
  }

  /// The most that they have, beyond what is counted without them.
  int64_t bytes() const {
    int64_t most = 0, later = 0;
    for (const Reduction &each : llvm::reverse(list_)) {
      later += each.reads - each.gathered;
      most = std::max(most, later + each.brings);
    }
    return most;
  }

  /// The unit of the first one; there is one where `bytes` are.
  UnitId first() const { return list_.front().unit; }

private:
  struct Reduction {
    UnitId unit;
    int64_t reads = 0, brings = 0;
    int64_t gathered = 0; ///< behind it
    llvm::SmallVector<std::pair<UnitId, uint32_t>, 2> gathers;
  };
  std::vector<Reduction> list_; ///< in their order
};

} // namespace stg

#endif
