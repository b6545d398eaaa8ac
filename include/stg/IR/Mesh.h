//===- Mesh.h - ordered named axes, folds, and their atoms ------------------===//
// Axes stand major to minor: the last joins neighbouring ranks. A fold is a second factorisation of the ranks that some
// axes span. The coarsest common refinement of both are the *atoms* (language.md 5.1); layouts place atoms, never axes.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_MESH_H
#define STG_IR_MESH_H

#include "stg/Support/SourceManager.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace stg {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
  /// Where the axis is cut into atoms: strides inside the axis, from 1 (exclusive) to its size (exclusive), increasing,
  /// each dividing the next.
  llvm::SmallVector<int64_t, 2> cuts = {};
  SourceRange where = {}; ///< in the plan; not part of what the axis is
  bool operator==(const MeshAxis &other) const {
    return name == other.name && size == other.size && cuts == other.cuts;
  }
};

/// `fold expert over dp { edp = 2, ep = 64 }`: axes major to minor, their product that of `over`.
struct MeshFold {
  std::string name;
  std::vector<std::string> over;
  std::vector<MeshAxis> axes;
  bool operator==(const MeshFold &) const = default;
};

/// One digit of a rank's number.
struct MeshAtom {
  std::string name; ///< that of its axis; `dp'`, `dp''` and on where the axis has several
  int64_t size = 1;
  int64_t stride = 1; ///< product of the atoms after it: the distance of neighbouring ranks
  uint32_t axis = 0;  ///< index into Mesh::axes
  bool operator==(const MeshAtom &) const = default;
};

/// Indices into Mesh::atoms(), in mesh order (major first).
using AtomList = llvm::SmallVector<uint32_t, 4>;

struct Mesh {
  std::vector<MeshAxis> axes; ///< none: one rank
  std::vector<MeshFold> folds;

  int64_t ranks() const {
    int64_t product = 1;
    for (const MeshAxis &axis : axes)
      product *= axis.size;
    return product;
  }

  /// Atoms in mesh order; none of size 1. Rank = sum of coordinate * stride.
  std::vector<MeshAtom> atoms() const;
  /// The atoms of an axis or of an axis of a fold, major first; empty if its size is 1 or there is no such axis.
  AtomList atomsOf(llvm::StringRef axis) const;
  /// The axis or folded axis of this name; null if there is none.
  const MeshAxis *findAxis(llvm::StringRef name) const;

  /// Adds a fold and cuts the axes that it spans. False, and nothing changed, if it does not nest: an axis of the fold
  /// would take part of an axis that is no factor of it.
  bool addFold(MeshFold fold);
  /// Cuts atom `atom` so that its major part has `major` members; `major` divides its size. Indices of later atoms move
  /// up by one.
  void cutAtom(uint32_t atom, int64_t major);

  /// Cuts the atom, if there is one, whose members are both inside `ranks` consecutive ranks and outside. False, and
  /// nothing changed, if that cannot be: no atom's members would make up what is inside.
  bool cutAtStride(int64_t ranks);

  bool operator==(const Mesh &) const = default;
};

/// The coordinate of `rank` on an atom.
inline int64_t coordinate(int64_t rank, const MeshAtom &atom) { return rank / atom.stride % atom.size; }
/// `dp * cp`: the names of atoms.
std::string namesOf(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh, llvm::StringRef separator = "*");
/// Product of the sizes.
int64_t groupSize(llvm::ArrayRef<uint32_t> atoms, const std::vector<MeshAtom> &all);

} // namespace stg

#endif
