//===- AxesText.cpp ---------------------------------------------------------===//
#include "stg/Analysis/AxesText.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

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
    llvm::for_each(fold.axes, name);
  std::string text;
  for (const std::string &part : parts)
    if (!part.empty())
      text += (text.empty() ? "" : separator.str()) + part;
  return text;
}

} // namespace stg
