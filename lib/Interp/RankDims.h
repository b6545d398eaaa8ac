//===- RankDims.h - which positions of a dim a rank holds -------------------===//
// A dim's positions are read as mixed-radix numbers with one digit per atom ever placed on it, in mesh order, major
// first (language.md 5.2); a rank holds those whose digits, for the atoms that a layout has on the dim, are its
// coordinates. Dims that a rename joins are one dim; dims of one name and different sizes are not.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_RANKDIMS_H
#define STG_LIB_INTERP_RANKDIMS_H

#include "stg/IR/Program.h"
#include "stg/Interp/Tensor.h"
#include <map>

namespace stg::interp {

class RankDims {
public:
  /// Collects what the layouts of the program's units place on each dim.
  explicit RankDims(const Program &program);

  int64_t ranks() const { return ranks_; }
  const std::vector<MeshAtom> &atoms() const { return atoms_; }

  /// Without a layout the dim is whole. Throws InterpFault if the atoms ever placed on it do not divide it, unless the
  /// plan pads: then the last ranks hold fewer positions, as padding is no part of the value.
  TensorDim held(const Dim &dim, const Layout *layout, int64_t rank);
  TensorDims held(const TensorType &type, const Layout *layout, int64_t rank);

private:
  using DimKey = std::pair<NameId, int64_t>;                ///< name and size
  using Digits = std::vector<std::pair<uint32_t, int64_t>>; ///< atoms and coordinates on them

  DimKey rootOf(DimKey dim) const;
  void join(DimKey a, DimKey b);
  void place(const TensorType &type, const std::optional<Layout> &layout);
  void collectBody(const Body &body);
  void collectZigzag(const Program &program);
  std::shared_ptr<const HeldPositions> positions(const DimKey &dim, const Digits &fixed) const;

  int64_t ranks_ = 1;
  bool pads_ = false;
  std::vector<MeshAtom> atoms_;
  std::map<DimKey, DimKey> parents_;
  std::map<DimKey, std::vector<bool>> placed_; ///< by dim as it was met, per atom; by root once all are met
  std::map<DimKey, std::vector<bool>> zigzag_; ///< by root, per atom
  std::map<std::pair<DimKey, Digits>, std::shared_ptr<const HeldPositions>> parts_;
};

} // namespace stg::interp

#endif
