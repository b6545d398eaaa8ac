//===- ProcessGroups.cpp - which ranks communicate, and under which numbers -===//
#include "stg/Trace/ProcessGroups.h"
#include "stg/Analysis/Kernels.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

namespace {

/// Tags of a group, and where those of groups begin to repeat.
constexpr int64_t kTagsPerGroup = 1'000'000, kTagPeriod = 500'000'000;
/// The first id for which id * 10^6 passes 31 bits.
constexpr uint32_t kFirstWrappedId = 2148;
constexpr uint32_t kStrides[] = {1, 2, 4, 5, 10, 20, 25, 50, 100, 125, 250, 500};

} // namespace

int32_t firstGroupTag(int64_t id) {
  auto wrapped = static_cast<int32_t>(static_cast<uint32_t>(id) * static_cast<uint32_t>(kTagsPerGroup));
  return static_cast<int32_t>(wrapped % kTagPeriod + kTagPeriod);
}

bool groupTagsCollide(int64_t first, int64_t second) {
  return std::abs(int64_t(firstGroupTag(first)) - firstGroupTag(second)) < kTagsPerGroup;
}

std::string axesText(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh) {
  AtomList left(atoms.begin(), atoms.end());
  std::vector<std::pair<uint32_t, std::string>> parts; // first atom, name
  auto take = [&](const MeshAxis &axis) {
    AtomList own = mesh.atomsOf(axis.name);
    if (own.empty() || !llvm::all_of(own, [&](uint32_t atom) { return llvm::is_contained(left, atom); }))
      return;
    parts.push_back({own.front(), axis.name});
    llvm::erase_if(left, [&](uint32_t atom) { return llvm::is_contained(own, atom); });
  };
  for (const MeshAxis &axis : mesh.axes)
    take(axis);
  for (const MeshFold &fold : mesh.folds)
    for (const MeshAxis &axis : fold.axes)
      take(axis);
  for (uint32_t atom : left)
    parts.push_back({atom, namesOf({atom}, mesh)});
  llvm::sort(parts);
  std::string text;
  for (const auto &[atom, name] : parts)
    text += (text.empty() ? "" : "*") + name;
  return text;
}

ProcessGroups::ProcessGroups(const Program &program)
    : atoms_(program.mesh.atoms()), ranks_(static_cast<uint32_t>(program.mesh.ranks())) {
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    for (const Op &op : program.body(unit).ops)
      if (isCollective(op.kind))
        addKind(op.get<CollectiveFields>().atoms, program.mesh);
  }
  if (program.pipeline) {
    pipelineAtoms_ = program.pipeline->atoms;
    for (const BufferSum &sum : program.pipeline->sums)
      addSum(*program.pipeline, sum.ranks);
    completeSets(program);
  }
  // The smallest that serves; where none does, the smallest, which keeps ids small.
  const uint32_t *smallest = llvm::find_if(kStrides, [&](uint32_t stride) { return stride >= kinds_.size(); });
  for (const uint32_t *stride = smallest; stride != std::end(kStrides); ++stride) {
    stride_ = *stride;
    collision_ = findCollision();
    if (!collision_)
      return;
  }
  stride_ = smallest != std::end(kStrides) ? *smallest : static_cast<uint32_t>(kinds_.size());
  collision_ = findCollision();
}

void ProcessGroups::addKind(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh) {
  if (llvm::any_of(kinds_, [&](const GroupKind &kind) { return llvm::ArrayRef(kind.atoms) == atoms; }))
    return;
  GroupKind &kind = kinds_.emplace_back();
  kind.atoms.assign(atoms.begin(), atoms.end());
  kind.axes = axesText(atoms, mesh);
  kind.size = static_cast<uint32_t>(groupSize(atoms, atoms_));
  kind.count = ranks_ / kind.size;
  addDigits(static_cast<uint32_t>(kinds_.size() - 1));
}

/// The coordinates on all other atoms number the groups.
void ProcessGroups::addDigits(uint32_t kind) {
  auto &digits = digits_.emplace_back();
  int64_t weight = 1;
  for (uint32_t atom = static_cast<uint32_t>(atoms_.size()); atom-- > 0;) {
    if (llvm::is_contained(kinds_[kind].atoms, atom))
      continue;
    digits.push_back({atoms_[atom].stride, atoms_[atom].size, weight});
    weight *= atoms_[atom].size;
  }
}

/// Sets of one size that share no rank are one kind.
void ProcessGroups::addSum(const Pipeline &pipeline, llvm::ArrayRef<uint32_t> ranks) {
  if (llvm::any_of(kinds_, [&](const GroupKind &kind) {
        return llvm::any_of(kind.sets, [&](const auto &set) { return llvm::ArrayRef(set) == ranks; });
      }))
    return;
  auto takes = [&](const GroupKind &kind) {
    return !kind.sets.empty() && kind.size == ranks.size() && llvm::none_of(kind.sets, [&](const auto &set) {
      return llvm::any_of(ranks, [&](uint32_t rank) { return llvm::is_contained(set, rank); });
    });
  };
  auto kind = llvm::find_if(kinds_, takes);
  if (kind == kinds_.end()) {
    kind = kinds_.insert(kinds_.end(), GroupKind());
    kind->atoms = pipeline.atoms;
    kind->size = static_cast<uint32_t>(ranks.size());
  }
  kind->sets.emplace_back(ranks.begin(), ranks.end());
}

/// Names and counts of kinds whose sets are all known.
void ProcessGroups::completeSets(const Program &program) {
  constexpr size_t kNamed = 4;
  for (uint32_t i = 0; i < kinds_.size(); ++i) {
    GroupKind &kind = kinds_[i];
    if (kind.sets.empty())
      continue;
    kind.count = static_cast<uint32_t>(kind.sets.size()) * (ranks_ / program.pipeline->ranks());
    std::string text;
    for (const auto &set : llvm::ArrayRef(kind.sets).take_front(kNamed)) {
      text += text.empty() ? "" : "|";
      for (uint32_t rank : set)
        text += (rank == set.front() ? "" : "+") + std::to_string(rank);
    }
    kind.axes = axesText(kind.atoms, program.mesh) + "[" + text + (kind.sets.size() > kNamed ? "|...]" : "]");
    addDigits(i);
  }
}

uint32_t ProcessGroups::kindOf(llvm::ArrayRef<uint32_t> atoms) const {
  for (uint32_t i = 0; i < kinds_.size(); ++i)
    if (kinds_[i].sets.empty() && llvm::ArrayRef(kinds_[i].atoms) == atoms)
      return i;
  internalError("process groups", "a collective spans atoms that no collective of the program spans");
}

uint32_t ProcessGroups::kindOfSum(llvm::ArrayRef<uint32_t> ranks) const {
  for (uint32_t i = 0; i < kinds_.size(); ++i)
    if (llvm::any_of(kinds_[i].sets, [&](const auto &set) { return llvm::ArrayRef(set) == ranks; }))
      return i;
  internalError("process groups", "a sum spans ranks that no sum of the program spans");
}

std::optional<uint32_t> ProcessGroups::groupOf(uint32_t kind, uint32_t rank) const {
  int64_t number = 0;
  for (const Digit &digit : digits_[kind])
    number += rank / digit.stride % digit.size * digit.weight;
  const auto &sets = kinds_[kind].sets;
  if (sets.empty())
    return static_cast<uint32_t>(number);
  uint32_t place = 0;
  for (uint32_t atom : pipelineAtoms_)
    place = static_cast<uint32_t>(place * atoms_[atom].size + coordinate(rank, atoms_[atom]));
  for (uint32_t i = 0; i < sets.size(); ++i)
    if (llvm::is_contained(sets[i], place))
      return static_cast<uint32_t>(number * static_cast<int64_t>(sets.size()) + i);
  return std::nullopt;
}

uint32_t ProcessGroups::place(uint32_t kind, uint32_t rank) const {
  if (std::optional<uint32_t> group = groupOf(kind, rank))
    return *group;
  internalError("process groups", "a rank communicates in a kind of group in which it has none");
}

uint32_t ProcessGroups::largestId() const {
  uint32_t largest = 0;
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind)
    largest = std::max(largest, 1 + kind + stride_ * (kinds_[kind].count - 1));
  return largest;
}

unsigned ProcessGroups::digits() const { return static_cast<unsigned>(std::to_string(largestId()).size()); }

std::optional<GroupCollision> ProcessGroups::findCollision() const {
  if (largestId() < kFirstWrappedId && kinds_.size() <= stride_)
    return std::nullopt;
  for (uint32_t first = 0; first < kinds_.size(); ++first)
    for (uint32_t second = first + 1; second < kinds_.size(); ++second) {
      bool shareRanks = llvm::any_of(kinds_[first].atoms,
                                     [&](uint32_t atom) { return llvm::is_contained(kinds_[second].atoms, atom); });
      for (uint32_t rank = 0; shareRanks && rank < ranks_; ++rank)
        if (groupOf(first, rank) && groupOf(second, rank) && groupTagsCollide(idOf(first, rank), idOf(second, rank)))
          return GroupCollision{.first = idOf(first, rank), .second = idOf(second, rank), .rank = rank};
    }
  return std::nullopt;
}

std::vector<TraceGroup> ProcessGroups::list() const {
  std::vector<TraceGroup> groups;
  for (uint32_t kind = 0; kind < kinds_.size(); ++kind) {
    size_t first = groups.size();
    for (uint32_t j = 0; j < kinds_[kind].count; ++j)
      groups.push_back({.id = 1 + kind + stride_ * j, .ranks = {}});
    for (uint32_t rank = 0; rank < ranks_; ++rank)
      if (std::optional<uint32_t> group = groupOf(kind, rank))
        groups[first + *group].ranks.push_back(rank);
  }
  return groups;
}

} // namespace stg
