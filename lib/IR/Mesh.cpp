//===- Mesh.cpp - the atoms of a mesh ---------------------------------------===//
#include "stg/IR/Mesh.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

/// Strides of the atoms of one axis inside it: 1, its cuts, its size.
llvm::SmallVector<int64_t, 4> bounds(const MeshAxis &axis) {
  llvm::SmallVector<int64_t, 4> list = {1};
  list.append(axis.cuts.begin(), axis.cuts.end());
  list.push_back(axis.size);
  return list;
}

std::string atomName(const MeshAxis &axis, size_t part) {
  if (axis.cuts.empty())
    return axis.name;
  return axis.name + std::string(part + 1, '\'');
}

/// Inserts a cut if it nests with those that are there.
bool cut(MeshAxis &axis, int64_t stride) {
  if (stride <= 1 || stride >= axis.size || llvm::is_contained(axis.cuts, stride))
    return axis.size % std::max<int64_t>(stride, 1) == 0;
  for (int64_t other : axis.cuts)
    if (other < stride ? stride % other != 0 : other % stride != 0)
      return false;
  if (axis.size % stride != 0)
    return false;
  axis.cuts.insert(llvm::upper_bound(axis.cuts, stride), stride);
  return true;
}

} // namespace

std::vector<MeshAtom> Mesh::atoms() const {
  std::vector<MeshAtom> list;
  int64_t stride = ranks();
  for (uint32_t a = 0; a < axes.size(); ++a) {
    auto limits = bounds(axes[a]);
    for (size_t i = limits.size() - 1; i > 0; --i) {
      int64_t size = limits[i] / limits[i - 1];
      if (size == 1)
        continue;
      stride /= size;
      list.push_back({atomName(axes[a], limits.size() - 1 - i), size, stride, a});
    }
  }
  return list;
}

const MeshAxis *Mesh::findAxis(llvm::StringRef name) const {
  for (const MeshAxis &axis : axes)
    if (axis.name == name)
      return &axis;
  for (const MeshFold &fold : folds)
    for (const MeshAxis &axis : fold.axes)
      if (axis.name == name)
        return &axis;
  return nullptr;
}

AtomList Mesh::atomsOf(llvm::StringRef name) const {
  AtomList found;
  std::vector<MeshAtom> all = atoms();
  for (uint32_t i = 0; i < all.size(); ++i)
    if (axes[all[i].axis].name == name)
      found.push_back(i);
  for (const MeshFold &fold : folds) {
    // Atoms of the spanned axes, minor first; the fold's axes take them from the minor end.
    AtomList spanned;
    for (const std::string &over : llvm::reverse(fold.over))
      for (uint32_t i = static_cast<uint32_t>(all.size()); i-- > 0;)
        if (axes[all[i].axis].name == over)
          spanned.push_back(i);
    size_t next = 0;
    for (const MeshAxis &axis : llvm::reverse(fold.axes)) {
      AtomList taken;
      for (int64_t left = axis.size; left > 1 && next < spanned.size(); ++next) {
        taken.push_back(spanned[next]);
        left /= all[spanned[next]].size;
      }
      if (axis.name == name)
        found.append(taken.rbegin(), taken.rend());
    }
  }
  return found;
}

bool Mesh::addFold(MeshFold fold) {
  std::vector<MeshAxis> cutAxes = axes;
  int64_t total = 1, product = 1;
  for (const std::string &over : fold.over)
    for (const MeshAxis &axis : axes)
      total *= axis.name == over ? axis.size : 1;
  for (const MeshAxis &axis : fold.axes)
    product *= axis.size;
  if (total != product)
    return false;
  int64_t position = 1; // product of the fold's axes from the minor end
  for (const MeshAxis &axis : llvm::reverse(fold.axes)) {
    position *= axis.size;
    int64_t inside = position;
    for (const std::string &over : llvm::reverse(fold.over)) {
      auto found = llvm::find_if(cutAxes, [&](const MeshAxis &each) { return each.name == over; });
      if (found == cutAxes.end())
        return false;
      if (inside < found->size) {
        if (!cut(*found, inside))
          return false;
        break;
      }
      if (inside % found->size != 0)
        return false;
      inside /= found->size;
    }
  }
  axes = std::move(cutAxes);
  folds.push_back(std::move(fold));
  return true;
}

void Mesh::cutAtom(uint32_t atom, int64_t major) {
  std::vector<MeshAtom> all = atoms();
  MeshAxis &axis = axes[all[atom].axis];
  int64_t inside = 1; // stride inside the axis
  for (size_t i = atom + 1; i < all.size() && all[i].axis == all[atom].axis; ++i)
    inside *= all[i].size;
  cut(axis, inside * (all[atom].size / major));
}

bool Mesh::cutAtStride(int64_t ranks) {
  std::vector<MeshAtom> all = atoms();
  for (uint32_t i = 0; i < all.size(); ++i) {
    const MeshAtom &atom = all[i];
    if (atom.stride >= ranks || atom.stride * atom.size <= ranks)
      continue;
    if (ranks % atom.stride != 0 || atom.size % (ranks / atom.stride) != 0)
      return false;
    cutAtom(i, atom.size / (ranks / atom.stride));
    return true;
  }
  return true;
}

std::string namesOf(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh, llvm::StringRef separator) {
  std::vector<MeshAtom> all = mesh.atoms();
  std::string text;
  for (uint32_t atom : atoms)
    text += (text.empty() ? "" : separator.str()) + (atom < all.size() ? all[atom].name : "?");
  return text;
}

int64_t groupSize(llvm::ArrayRef<uint32_t> atoms, const std::vector<MeshAtom> &all) {
  int64_t product = 1;
  for (uint32_t atom : atoms)
    product *= all[atom].size;
  return product;
}

} // namespace stg
