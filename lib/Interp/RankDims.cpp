//===- RankDims.cpp -------------------------------------------------------===//
#include "RankDims.h"
#include "stg/Interp/References.h"

namespace stg::interp {

RankDims::RankDims(const Program &program) : ranks_(program.mesh.ranks()), atoms_(program.mesh.atoms()) {
  for (const SplitRule &rule : program.plan.splits)
    for (const SplitRule::Target &target : rule.dims)
      pads_ |= target.remainder == Remainder::Pad;
  pads_ |= !program.plan.storage.empty(); // shards are rounded up
  for (const Enumeration &enumeration : program.enumerations)
    enumerations_.insert(enumeration.dim);
  std::set<BodyId> seen;
  for (const Unit &unit : program.units)
    if (seen.insert(unit.body).second)
      collectBody(program.body(unit));
  std::map<DimKey, std::vector<bool>> byRoot;
  for (const auto &[dim, atoms] : placed_) {
    std::vector<bool> &all = byRoot[rootOf(dim)];
    all.resize(atoms_.size());
    for (size_t a = 0; a < atoms.size(); ++a)
      all[a] = all[a] || atoms[a];
  }
  placed_ = std::move(byRoot);
  collectZigzag(program);
}

RankDims::RankDims(const RankDims &all, const Program &program, uint32_t pipelineRank) : RankDims(all) {
  common_ = program.pipeline->atoms;
  for (int64_t rank = 0; rank < program.mesh.ranks(); ++rank)
    if (pipelineRankOf(program, rank) == pipelineRank)
      some_.push_back(rank);
  ranks_ = static_cast<int64_t>(some_.size());
}

RankDims::DimKey RankDims::rootOf(DimKey dim) const {
  for (auto parent = parents_.find(dim); parent != parents_.end(); parent = parents_.find(dim))
    dim = parent->second;
  return dim;
}

void RankDims::join(DimKey a, DimKey b) {
  DimKey left = rootOf(a), right = rootOf(b);
  if (left != right)
    parents_[right] = left;
}

void RankDims::place(const TensorType &type, const std::optional<Layout> &layout) {
  if (!layout)
    return;
  for (size_t a = 0; a < layout->places.size() && a < atoms_.size(); ++a) {
    const Place &place = layout->places[a];
    if (!place.isSplit())
      continue;
    const Dim *dim = type.find(place.dim);
    if (!dim)
      throw InterpFault("a layout splits a dim that its tensor has not");
    std::vector<bool> &atoms = placed_[{dim->name, sizeOf(dim->size)}];
    atoms.resize(atoms_.size());
    atoms[a] = true;
  }
}

void RankDims::collectBody(const Body &body) {
  for (const InputSlot &slot : body.inputs)
    place(slot.type, slot.layout);
  for (const WeightSlot &slot : body.weights) {
    place(slot.type, slot.layout);
    place(slot.type, slot.buffer);
  }
  for (const StateSlot &slot : body.states)
    place(slot.type, slot.layout);
  for (const Value &value : body.values)
    if (value.type)
      place(*value.type, value.layout);
  for (const Op &op : body.ops) {
    if (op.kind == OpKind::Convert && body.value(op.results[0]).type)
      place(*body.value(op.results[0]).type, op.get<ConvertFields>().to);
    if (op.kind != OpKind::View)
      continue;
    for (const ViewItem &item : op.get<ViewFields>().items)
      if (item.from.size() == 1 && item.to.size() == 1) {
        int64_t size = sizeOf(item.to[0].size);
        join({item.from[0], size}, {item.to[0].name, size});
      }
  }
}

void RankDims::collectZigzag(const Program &program) {
  std::map<NameId, std::vector<bool>> byName;
  for (const SplitRule &rule : program.plan.splits)
    for (const SplitRule::Target &target : rule.dims)
      if (target.zigzag)
        for (const std::string &axis : rule.axes)
          for (uint32_t atom : program.mesh.atomsOf(axis)) {
            std::vector<bool> &atoms = byName[target.dim];
            atoms.resize(atoms_.size());
            atoms[atom] = true;
          }
  // A rename of the dim is in zigzag too.
  std::set<DimKey> dims;
  for (const auto &[child, parent] : parents_) {
    dims.insert(child);
    dims.insert(parent);
  }
  for (const auto &[dim, atoms] : placed_)
    dims.insert(dim);
  for (const DimKey &dim : dims)
    if (auto found = byName.find(dim.first); found != byName.end())
      zigzag_[rootOf(dim)] = found->second;
}

TensorDims RankDims::held(const TensorType &type, const Layout *layout, int64_t rank) {
  TensorDims dims;
  for (const Dim &dim : type.dims)
    dims.push_back(held(dim, layout, rank));
  return dims;
}

/// An enumeration is rounded up to equal parts.
int64_t RankDims::wholeSize(const Dim &dim) const {
  int64_t size = sizeOf(dim.size);
  auto placed = placed_.find(rootOf({dim.name, size}));
  if (!enumerations_.count(dim.name) || placed == placed_.end())
    return size;
  int64_t parts = 1;
  for (size_t a = 0; a < atoms_.size(); ++a)
    if (placed->second[a])
      parts *= atoms_[a].size;
  return (size + parts - 1) / parts * parts;
}

TensorDim RankDims::held(const Dim &dim, const Layout *layout, int64_t rank) {
  TensorDim held{dim.name, wholeSize(dim)};
  Digits fixed;
  if (layout)
    for (uint32_t atom : layout->atomsOn(dim.name))
      fixed.emplace_back(atom, coordinate(rank, atom));
  if (fixed.empty())
    return held;
  DimKey root = rootOf({dim.name, sizeOf(dim.size)});
  std::shared_ptr<const HeldPositions> &part = parts_[{root, fixed}];
  if (!part)
    part = positions(root, held.size, fixed);
  held.held = part;
  held.size = static_cast<int64_t>(part->positions.size());
  return held;
}

/// The digit of each position, from the major atom down: what is left of the position is a number below `left`. In
/// zigzag over n members there are 2n chunks, and member i has chunks i and 2n - 1 - i.
std::shared_ptr<const HeldPositions> RankDims::positions(const DimKey &dim, int64_t size, const Digits &fixed) const {
  auto part = std::make_shared<HeldPositions>();
  part->wholeSize = size;
  const std::vector<bool> &placed = placed_.at(dim);
  auto zigzag = zigzag_.find(dim);
  for (int64_t position = 0; position < size; ++position) {
    int64_t rest = position, left = size;
    bool isHeld = true;
    for (uint32_t a = 0; a < atoms_.size(); ++a) {
      if (!placed[a])
        continue;
      int64_t members = atoms_[a].size, digit;
      bool folds = zigzag != zigzag_.end() && zigzag->second[a];
      if (left % (folds ? 2 * members : members) != 0 && (folds || !pads_))
        throw InterpFault("a dim of " + std::to_string(size) +
                          " positions is split unevenly, which is not run on ranks");
      if (folds) {
        int64_t chunk = left / (2 * members), number = rest / chunk;
        digit = std::min(number, 2 * members - 1 - number);
        rest = (number >= members ? chunk : 0) + rest % chunk;
      } else {
        int64_t chunk = (left + members - 1) / members;
        digit = rest / chunk;
        rest %= chunk;
      }
      left = (left + members - 1) / members;
      for (auto [atom, at] : fixed)
        isHeld &= atom != a || at == digit;
    }
    if (isHeld)
      part->positions.push_back(position);
  }
  return part;
}

} // namespace stg::interp
