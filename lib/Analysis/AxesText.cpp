//===- AxesText.cpp ---------------------------------------------------------===//
#include "stg/Analysis/AxesText.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

/// Whether the axis has these atoms and no others.
static bool isWhole(llvm::ArrayRef<uint32_t> atoms, const MeshAxis &axis, const Mesh &mesh) {
  AtomList own = mesh.atomsOf(axis.name);
  return own.size() == atoms.size() &&
         llvm::all_of(own, [&](uint32_t atom) { return llvm::is_contained(atoms, atom); });
}

std::string axesText(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh, llvm::StringRef separator) {
  std::vector<MeshAtom> all = mesh.atoms();
  std::vector<std::string> parts; // per atom; of an axis all but the first are empty
  for (uint32_t atom : atoms)
    parts.push_back(all[atom].name);
  std::vector<bool> named(atoms.size(), false);
  auto name = [&](const MeshAxis &axis) {
    AtomList own = mesh.atomsOf(axis.name);
    auto isOwn = [&](size_t i) { return !named[i] && llvm::is_contained(own, atoms[i]); };
    size_t found = 0;
    for (size_t i = 0; i < atoms.size(); ++i)
      found += isOwn(i);
    if (own.empty() || found != own.size())
      return;
    bool isFirst = true;
    for (size_t i = 0; i < atoms.size(); ++i)
      if (isOwn(i)) {
        parts[i] = isFirst ? axis.name : "";
        named[i] = true;
        isFirst = false;
      }
  };
  llvm::for_each(mesh.axes, name);
  for (const MeshFold &fold : mesh.folds)
    for (const MeshAxis &axis : fold.axes) {
      if (llvm::is_contained(named, false) && isWhole(atoms, axis, mesh))
        return axis.name;
      name(axis);
    }
  std::string text;
  for (const std::string &part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : separator.str()) + part;
  return text;
}

} // namespace stg
