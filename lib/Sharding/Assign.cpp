//===- Assign.cpp - the one procedure that places atoms ----------------------===//
#include "stg/Sharding/Assign.h"
#include <numeric>

namespace stg {

namespace {

/// Places atoms one after the other; knows what each item carries so far.
class Placer {
public:
  Placer(const Plan &plan, llvm::ArrayRef<Factoring> factorings, const std::vector<MeshAtom> &atoms,
         llvm::ArrayRef<AssignItem> items)
      : plan_(plan), factorings_(factorings), atoms_(atoms), items_(items), parts_(items.size(), 1),
        closed_(items.size(), false) {
    result_.atoms.resize(atoms.size());
    for (const AssignItem &item : items)
      sizes_.push_back(item.size.size());
  }

  void close(uint32_t item) { closed_[item] = true; }

  /// One rule offers one atom. False if the mesh must be cut first.
  bool offer(uint32_t ruleIndex, uint32_t atom) {
    AtomPlacement &place = result_.atoms[atom];
    const SplitRule &rule = plan_.splits[ruleIndex];
    if (place.rule >= 0) {
      if (std::optional<uint32_t> wanted = firstItem(rule); wanted && place.rule != static_cast<int32_t>(ruleIndex))
        place.losers.push_back({ruleIndex, *wanted});
      return true;
    }
    std::optional<Refusal> refusal;
    bool replicated = false;
    for (uint32_t t = 0; t < rule.dims.size(); ++t) {
      const SplitRule::Target &target = rule.dims[t];
      // The factors of a composite dim are tried one after the other; another dim is not.
      if (refusal && !sameComposite(rule.dims[refusal->target].dim, target.dim))
        break;
      for (uint32_t item = 0; item < items_.size(); ++item) {
        if (!answers(item, target.dim))
          continue;
        if (divides(item, atom) || target.remainder == Remainder::Pad) {
          place.item = static_cast<int32_t>(item);
          place.rule = static_cast<int32_t>(ruleIndex);
          parts_[item] *= atoms_[atom].size;
          return true;
        }
        if (target.remainder != Remainder::Replicate) {
          if (!refusal)
            refusal = Refusal{ruleIndex, t, item, atom};
          continue;
        }
        if (int64_t part = commonPart(item, atom); part > 1) {
          result_.cut = AtomCut{atom, part};
          return false;
        }
        replicated = true;
      }
    }
    if (replicated)
      place.rule = static_cast<int32_t>(ruleIndex);
    else if (refusal)
      result_.refusals.push_back(*refusal);
    return true;
  }

  Assignment take() { return std::move(result_); }

private:
  bool answers(uint32_t item, NameId dim) const {
    return items_[item].open && !closed_[item] && llvm::is_contained(items_[item].names, dim);
  }
  std::optional<uint32_t> firstItem(const SplitRule &rule) const {
    for (const SplitRule::Target &target : rule.dims)
      for (uint32_t item = 0; item < items_.size(); ++item)
        if (answers(item, target.dim))
          return item;
    return std::nullopt;
  }
  bool divides(uint32_t item, uint32_t atom) const {
    std::optional<int64_t> size = sizes_[item];
    return items_[item].roundsUp || (size && *size % (parts_[item] * atoms_[atom].size) == 0);
  }
  /// What of the atom divides the rest of the item.
  int64_t commonPart(uint32_t item, uint32_t atom) const {
    std::optional<int64_t> size = sizes_[item];
    return size && *size % parts_[item] == 0 ? std::gcd(*size / parts_[item], atoms_[atom].size) : 1;
  }
  bool sameComposite(NameId a, NameId b) const {
    return llvm::any_of(factorings_, [&](const Factoring &factoring) {
      auto within = [&](NameId dim) { return dim == factoring.whole || llvm::is_contained(factoring.parts, dim); };
      return within(a) && within(b);
    });
  }

  const Plan &plan_;
  llvm::ArrayRef<Factoring> factorings_;
  const std::vector<MeshAtom> &atoms_;
  llvm::ArrayRef<AssignItem> items_;
  llvm::SmallVector<std::optional<int64_t>, 6> sizes_;
  std::vector<int64_t> parts_; // product of the atoms on each item
  std::vector<bool> closed_;
  Assignment result_;
};

} // namespace

Assigner::Assigner(const Program &program)
    : plan_(program.plan), factorings_(program.factorings), atoms_(program.mesh.atoms()) {
  for (const SplitRule &rule : plan_.splits) {
    auto &axes = ruleAxes_.emplace_back();
    for (const std::string &axis : rule.axes)
      axes.push_back(program.mesh.atomsOf(axis));
  }
}

bool Assigner::isKept(const AssignItem &item, llvm::StringRef scope) const {
  return llvm::any_of(plan_.keeps, [&](const KeepRule &keep) {
    return llvm::is_contained(item.names, keep.dim) && matches(keep.scopes, scope);
  });
}

Assignment Assigner::assign(llvm::ArrayRef<AssignItem> items, llvm::StringRef scope) const {
  Placer placer(plan_, factorings_, atoms_, items);
  for (uint32_t item = 0; item < items.size(); ++item)
    if (isKept(items[item], scope))
      placer.close(item);
  for (uint32_t rule = 0; rule < plan_.splits.size(); ++rule) {
    if (!matches(plan_.splits[rule].scopes, scope))
      continue;
    for (const AtomList &axis : ruleAxes_[rule])
      for (uint32_t atom : axis)
        if (!placer.offer(rule, atom))
          return placer.take();
  }
  return placer.take();
}

/// What an enumeration answers to besides its own name.
static void addSources(const Program &program, AssignItem &item) {
  for (NameId name : llvm::SmallVector<NameId, 2>(item.names))
    if (const Enumeration *enumeration = program.enumerationOf(name)) {
      item.roundsUp = true;
      for (NameId source : enumeration->sources)
        if (!llvm::is_contained(item.names, source))
          item.names.push_back(source);
    }
}

AssignItems itemsOf(const Program &program, const TensorType &type) {
  AssignItems items;
  for (const Dim &dim : type.dims) {
    items.push_back({{dim.name}, dim.size, true});
    addSources(program, items.back());
  }
  return items;
}

AssignItems itemsOf(const Program &program, llvm::ArrayRef<OpFactor> factors) {
  AssignItems items;
  for (const OpFactor &factor : factors) {
    AssignItem &item = items.emplace_back();
    item.size = factor.size;
    item.open = factor.kind == FactorKind::Map || factor.kind == FactorKind::Sum || factor.kind == FactorKind::Max ||
                factor.kind == FactorKind::Carry;
    auto addNames = [&](llvm::ArrayRef<NameId> names) {
      for (NameId name : names)
        if (name && !llvm::is_contained(item.names, name))
          item.names.push_back(name);
    };
    if (factor.ownDim) { // what it is carried to answers elsewhere
      item.names.push_back(factor.ownDim);
    } else {
      addNames(factor.operandDims);
      addNames(factor.resultDims);
    }
    addSources(program, item);
  }
  return items;
}

Layout layoutOf(const Assignment &assignment, const TensorType &type) {
  Layout layout(assignment.atoms.size());
  for (size_t atom = 0; atom < assignment.atoms.size(); ++atom)
    if (int32_t item = assignment.atoms[atom].item; item >= 0)
      layout.places[atom] = Place::split(type.dims[static_cast<size_t>(item)].name);
  return layout;
}

namespace {
std::string join(llvm::StringRef unitPath, llvm::StringRef inner) {
  return inner.empty() ? unitPath.str() : unitPath.str() + "." + inner.str();
}
} // namespace

std::string scopeOf(const Program &program, llvm::StringRef unitPath, const Op &op) {
  return join(unitPath, op.scope ? program.text(op.scope) : llvm::StringRef());
}

std::string scopeOf(const Program &program, llvm::StringRef unitPath, const Body &body, const Value &value) {
  return value.scope ? join(unitPath, program.text(value.scope)) : scopeOf(program, unitPath, body.op(value.def));
}

} // namespace stg
