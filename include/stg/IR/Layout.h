//===- Layout.h - where a tensor lives on the mesh --------------------------===//
// A layout gives each atom of the mesh one place: a dim of the tensor that it splits, a pending reduction (partial), or
// nothing (whole: every member holds the same). Written `[B/dp, S/cp, D @ tp]` (language.md 5.2). Which part of a split
// dim a rank holds: read the dim's positions as mixed-radix numbers with one digit per atom ever placed on that dim,
// in mesh order, major first; splitting over an atom fixes its digit.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_LAYOUT_H
#define STG_IR_LAYOUT_H

#include "stg/IR/Mesh.h"
#include "stg/IR/Types.h"

namespace stg {

enum class ReduceFn : uint8_t { Sum, Max, Min, Prod };

enum class PlaceKind : uint8_t { Whole, Split, Partial };

/// What one atom does to one tensor.
struct Place {
  PlaceKind kind = PlaceKind::Whole;
  NameId dim;                  ///< of a split
  ReduceFn fn = ReduceFn::Sum; ///< of a partial: Sum or Max
  bool operator==(const Place &) const = default;

  static Place whole() { return {}; }
  static Place split(NameId dim) { return {PlaceKind::Split, dim, ReduceFn::Sum}; }
  static Place partial(ReduceFn fn = ReduceFn::Sum) { return {PlaceKind::Partial, NameId(), fn}; }
  bool isWhole() const { return kind == PlaceKind::Whole; }
  bool isSplit() const { return kind == PlaceKind::Split; }
  bool isPartial() const { return kind == PlaceKind::Partial; }
};

struct Layout {
  /// One per atom of the mesh, in mesh order.
  llvm::SmallVector<Place, 4> places;

  Layout() = default;
  /// Whole on every atom.
  explicit Layout(size_t atoms) : places(atoms) {}
  bool operator==(const Layout &) const = default;

  bool isPartial() const {
    for (const Place &place : places)
      if (place.isPartial())
        return true;
    return false;
  }
  /// The atoms on `dim`, in mesh order.
  AtomList atomsOn(NameId dim) const;
  AtomList partialAtoms() const;
};

/// Sizes on one rank. A type of its own, so that a local size is never taken for a global one.
struct LocalShape {
  ElementType element = ElementType::F32;
  llvm::SmallVector<Dim, 6> dims;
};

/// The part of a tensor that one rank holds: each dim divided by the atoms on it, rounded up where they don't divide it
/// (`pad`).
LocalShape localize(const TensorType &type, const Layout &layout, const std::vector<MeshAtom> &atoms, DimContext &dims);
DimExpr elementCount(const LocalShape &shape, DimContext &dims);
DimExpr byteCount(const LocalShape &shape, DimContext &dims);

/// `[B/dp, S, D @ tp]`; a pending maximum is `@ max(tp)`.
std::string toString(const Layout &layout, llvm::ArrayRef<Dim> dims, const std::vector<MeshAtom> &atoms,
                     const Interner &names);
/// Reads what toString prints. Nothing if the text is no layout of these dims: another dim, an unknown atom, an atom
/// twice.
std::optional<Layout> layoutFrom(llvm::StringRef text, llvm::ArrayRef<Dim> dims, const std::vector<MeshAtom> &atoms,
                                 const Interner &names);

} // namespace stg

#endif
