//===- RankDims.h - which positions of a dim a rank holds -------------------===//
// A dim's positions are read as mixed-radix numbers with one digit per atom ever placed on it, in mesh order, major
// first (language.md 5.2); a rank holds those whose digits, for the atoms that a layout has on the dim, are its
// coordinates. Dims that a rename joins are one dim; dims of one name and different sizes are not.
//
// Ranks are counted from 0 among those that run together: all of the mesh, or one rank of the pipeline, whose members
// have the coordinates on the pipeline's atoms in common.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_RANKDIMS_H
#define STG_LIB_INTERP_RANKDIMS_H

#include "stg/IR/Program.h"
#include "stg/Interp/Tensor.h"
#include <map>
#include <set>

namespace stg::interp {

class RankDims {
public:
  /// Collects what the layouts of the program's units place on each dim.
  explicit RankDims(const Program &program);
  /// One rank of the pipeline.
  RankDims(const RankDims &all, const Program &program, uint32_t pipelineRank);

  int64_t ranks() const { return ranks_; }
  const std::vector<MeshAtom> &atoms() const { return atoms_; }
  bool areAll() const { return some_.empty(); }
  /// The number in the mesh.
  int64_t meshRank(int64_t rank) const { return some_.empty() ? rank : some_[static_cast<size_t>(rank)]; }
  int64_t coordinate(int64_t rank, uint32_t atom) const { return stg::coordinate(meshRank(rank), atoms_[atom]); }
  /// Whether no rank has a smaller coordinate.
  bool isFirst(int64_t rank, uint32_t atom) const { return coordinate(rank, atom) == coordinate(0, atom); }
  /// Whether the ranks have their coordinates in common, although the mesh has others.
  bool isCommon(uint32_t atom) const { return llvm::is_contained(common_, atom); }

  /// Without a layout the dim is whole; an enumeration is then as many positions as ranks have together. Throws
  /// InterpFault if the atoms ever placed on it do not divide it, unless the plan pads or stores in shards: then the
  /// last ranks hold fewer positions, as padding is no part of the value.
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
  int64_t wholeSize(const Dim &dim) const;
  std::shared_ptr<const HeldPositions> positions(const DimKey &dim, int64_t size, const Digits &fixed) const;

  int64_t ranks_ = 1;
  std::vector<int64_t> some_; ///< numbers in the mesh, ascending; empty: all
  AtomList common_;
  bool pads_ = false;
  std::vector<MeshAtom> atoms_;
  std::set<NameId> enumerations_;
  std::map<DimKey, DimKey> parents_;
  std::map<DimKey, std::vector<bool>> placed_; ///< by dim as it was met, per atom; by root once all are met
  std::map<DimKey, std::vector<bool>> zigzag_; ///< by root, per atom
  std::map<std::pair<DimKey, Digits>, std::shared_ptr<const HeldPositions>> parts_;
};

} // namespace stg::interp

#endif
