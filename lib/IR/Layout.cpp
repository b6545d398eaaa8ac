//===- Layout.cpp - local sizes, layouts as text ----------------------------===//
#include "stg/IR/Layout.h"

namespace stg {

AtomList Layout::atomsOn(NameId dim) const {
  AtomList list;
  for (uint32_t i = 0; i < places.size(); ++i)
    if (places[i].isSplit() && places[i].dim == dim)
      list.push_back(i);
  return list;
}

AtomList Layout::partialAtoms() const {
  AtomList list;
  for (uint32_t i = 0; i < places.size(); ++i)
    if (places[i].isPartial())
      list.push_back(i);
  return list;
}

LocalShape localize(const TensorType &type, const Layout &layout, const std::vector<MeshAtom> &atoms,
                    DimContext &dims) {
  LocalShape shape{type.element, {}};
  for (const Dim &dim : type.dims) {
    int64_t parts = groupSize(layout.atomsOn(dim.name), atoms);
    DimExpr size = dim.size;
    if (parts > 1) {
      std::optional<int64_t> value = size.size();
      size = value && *value % parts != 0 ? dims.constant((*value + parts - 1) / parts) : size / dims.constant(parts);
    }
    shape.dims.push_back({dim.name, size});
  }
  return shape;
}

DimExpr elementCount(const LocalShape &shape, DimContext &dims) {
  DimExpr count = dims.constant(int64_t(1));
  for (const Dim &dim : shape.dims)
    count = count * dim.size;
  return count;
}

DimExpr byteCount(const LocalShape &shape, DimContext &dims) {
  return elementCount(shape, dims) * dims.constant(Rational{bitWidth(shape.element), 8});
}

std::string toString(const Layout &layout, llvm::ArrayRef<Dim> dims, const std::vector<MeshAtom> &atoms,
                     const Interner &names) {
  auto atomName = [&](uint32_t atom) { return atom < atoms.size() ? atoms[atom].name : std::string("?"); };
  std::string text = "[";
  for (const Dim &dim : dims) {
    text += (text.size() > 1 ? ", " : "") + names.text(dim.name).str();
    for (uint32_t atom : layout.atomsOn(dim.name))
      text += "/" + atomName(atom);
  }
  std::string partial;
  for (uint32_t atom : layout.partialAtoms()) {
    bool isMax = layout.places[atom].fn == ReduceFn::Max;
    partial += " " + (isMax ? "max(" + atomName(atom) + ")" : atomName(atom));
  }
  if (!partial.empty())
    text += (text.size() > 1 ? " @" : "@") + partial;
  return text + "]";
}

namespace {

/// Puts the atom of this name somewhere; false if there is none or it has a place already.
bool put(Layout &layout, llvm::StringRef name, Place place, const std::vector<MeshAtom> &atoms) {
  for (size_t i = 0; i < atoms.size(); ++i)
    if (atoms[i].name == name && layout.places[i].isWhole()) {
      layout.places[i] = place;
      return true;
    }
  return false;
}

} // namespace

std::optional<Layout> layoutFrom(llvm::StringRef text, llvm::ArrayRef<Dim> dims, const std::vector<MeshAtom> &atoms,
                                 const Interner &names) {
  Layout layout(atoms.size());
  if (!text.consume_front("[") || !text.consume_back("]"))
    return std::nullopt;
  auto [split, partial] = text.split('@');
  split = split.trim();
  for (size_t i = 0; i < dims.size(); ++i) {
    auto [piece, rest] = split.split(',');
    llvm::SmallVector<llvm::StringRef, 4> parts;
    piece.trim().split(parts, '/');
    if (parts[0] != names.text(dims[i].name) || rest.empty() != (i + 1 == dims.size()))
      return std::nullopt;
    for (llvm::StringRef atom : llvm::ArrayRef(parts).drop_front())
      if (!put(layout, atom, Place::split(dims[i].name), atoms))
        return std::nullopt;
    split = rest;
  }
  if (dims.empty() && !split.empty())
    return std::nullopt;
  llvm::SmallVector<llvm::StringRef, 4> pending;
  partial.split(pending, ' ', -1, false);
  for (llvm::StringRef atom : pending) {
    bool isMax = atom.consume_front("max(") && atom.consume_back(")");
    if (!put(layout, atom, Place::partial(isMax ? ReduceFn::Max : ReduceFn::Sum), atoms))
      return std::nullopt;
  }
  return layout;
}

} // namespace stg
