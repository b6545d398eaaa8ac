//===- StoredForms.cpp ------------------------------------------------------===//
#include "StoredForms.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

/// `at` with the atoms that it leaves whole on one dim: the first that they divide, else the one that grows least when
/// it is rounded up. A tensor without dims stays as it is.
Layout splitOver(const Layout &at, const TensorType &type, llvm::ArrayRef<uint32_t> atoms,
                 const std::vector<MeshAtom> &mesh) {
  AtomList free;
  for (uint32_t atom : atoms)
    if (at.places[atom].isWhole())
      free.push_back(atom);
  const Dim *best = nullptr;
  double leastGrowth = 0;
  for (const Dim &dim : type.dims) {
    std::optional<int64_t> size = dim.size.size();
    if (!size || *size == 0)
      continue;
    int64_t parts = groupSize(at.atomsOn(dim.name), mesh) * groupSize(free, mesh);
    int64_t rounded = (*size + parts - 1) / parts * parts;
    double growth = static_cast<double>(rounded) / static_cast<double>(*size);
    if (best && growth >= leastGrowth)
      continue;
    best = &dim;
    leastGrowth = growth;
  }
  Layout layout = at;
  if (best)
    for (uint32_t atom : free)
      layout.places[atom] = Place::split(best->name);
  return layout;
}

} // namespace

llvm::SmallVector<uint32_t, 2> storageRulesOf(const Plan &plan, llvm::StringRef weightPath) {
  llvm::SmallVector<uint32_t, 2> rules;
  for (uint32_t i = 0; i < plan.storage.size(); ++i)
    if (matches(plan.storage[i].scopes, weightPath))
      rules.push_back(i);
  return rules;
}

StoredForms storedForms(const Program &program, const TensorType &type, const Layout &home,
                        llvm::StringRef weightPath) {
  const std::vector<MeshAtom> mesh = program.mesh.atoms();
  StoredForms forms;
  AtomList ofStage[4];
  for (uint32_t i : storageRulesOf(program.plan, weightPath)) {
    const StorageRule &rule = program.plan.storage[i];
    if (!forms.rule)
      forms.rule = &rule;
    for (const std::string &axis : rule.axes)
      for (uint32_t atom : program.mesh.atomsOf(axis)) {
        if (!llvm::is_contained(forms.atoms, atom))
          forms.atoms.push_back(atom);
        for (uint32_t stage = 1; stage <= rule.stage; ++stage)
          if (!llvm::is_contained(ofStage[stage], atom))
            ofStage[stage].push_back(atom);
      }
  }
  llvm::sort(forms.atoms);
  forms.weight = splitOver(home, type, ofStage[3], mesh);
  forms.gradient = splitOver(forms.weight, type, ofStage[2], mesh);
  forms.optimizer = splitOver(forms.gradient, type, ofStage[1], mesh);
  // Gathered before the forward instead of behind the step, a weight rests as the optimizer leaves it.
  if (forms.rule && forms.rule->stage < 3 && forms.rule->gathersLate)
    forms.weight = forms.optimizer;
  return forms;
}

std::string weightPath(const Program &program, UnitId unit, uint32_t slot) {
  WeightPlace place = weightAt(program, unit, slot);
  if (const auto *weight = std::get_if<WeightId>(&place))
    return program.text(program.weights[weight->index].name).str();
  auto own = std::get<UnitSlot>(place);
  const Unit &owner = program.units[own.unit.index];
  return program.unitPath(owner) + "." + program.text(program.body(owner).weights[own.slot].name).str();
}

} // namespace stg
