//===- BatchRanks.cpp - which ranks share a batch ------------------------------===//
#include "stg/IR/BatchRanks.h"

namespace stg {

BatchRanks batchRanks(const Mesh &mesh, llvm::ArrayRef<SplitRule> splits, NameId batch) {
  BatchRanks result;
  std::vector<MeshAtom> atoms = mesh.atoms();
  std::vector<bool> taken(atoms.size(), false);
  for (const SplitRule &rule : splits) {
    if (!rule.scopes.empty() || rule.dims.empty())
      continue;
    for (const std::string &axis : rule.axes) {
      int64_t size = 1;
      for (uint32_t atom : mesh.atomsOf(axis)) {
        size *= taken[atom] ? 1 : atoms[atom].size;
        taken[atom] = true;
      }
      if (rule.dims.front().dim != batch || size == 1)
        continue;
      result.count *= size;
      result.axes += (result.axes.empty() ? "" : " x ") + axis + " = " + std::to_string(size);
    }
  }
  return result;
}

} // namespace stg
