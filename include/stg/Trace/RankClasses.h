//===- RankClasses.h - ranks that have the same nodes ------------------------===//
// A class is a place in the pipeline and, where the loads of experts are uneven, a choice of coordinates on the atoms
// along which they are: ranks of a class have the same nodes, in groups and with peers of their own. Coordinates with
// equal loads by chance are classes of their own, so that a rank's class is a sum over its coordinates.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/RankFields.h"
#include "stg/IR/Program.h"

namespace stg {

class RankClasses {
public:
  /// `loadAtoms`: in mesh order, none of the pipeline's.
  explicit RankClasses(const Program &program, AtomList loadAtoms = {});

  uint32_t count() const { return places_ * loads_; }
  /// In the pipeline; 0 without one.
  uint32_t placeOf(uint32_t rankClass) const { return rankClass / loads_; }
  /// At another place, the ranks with the same other coordinates.
  uint32_t at(uint32_t place, uint32_t rankClass) const { return place * loads_ + rankClass % loads_; }
  uint32_t firstRank(uint32_t rankClass) const;
  bundle::RankSet ranks(uint32_t rankClass) const;
  /// The coordinates that make up the number of a rank's class.
  const std::vector<bundle::Digit> &digits() const { return digits_; }

private:
  const Mesh &mesh_;
  AtomList pipelineAtoms_, loadAtoms_;
  uint32_t places_ = 1, loads_ = 1;
  std::vector<bundle::Digit> digits_;
};

} // namespace stg
