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
    for (const MeshAxis &axis : fold.axes) {
      AtomList own = mesh.atomsOf(axis.name);
      if (!left.empty() && own.size() == atoms.size() &&
          llvm::all_of(own, [&](uint32_t atom) { return llvm::is_contained(atoms, atom); }))
        return axis.name; // `ep`, where it is the low digits of dp and all of tp
      take(axis);
    }
  for (uint32_t atom : left)
    parts.push_back({atom, namesOf({atom}, mesh)});
  llvm::sort(parts);
  std::string text;
  for (const auto &[atom, name] : parts)
    text += (text.empty() ? "" : "*") + name;
  return text;
}

std::vector<bundle::Digit> digitsOf(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh) {
  std::vector<MeshAtom> all = mesh.atoms();
  std::vector<bundle::Digit> digits;
  uint32_t weight = 1;
  for (uint32_t atom : llvm::reverse(atoms)) {
    digits.push_back({static_cast<uint32_t>(all[atom].stride), static_cast<uint32_t>(all[atom].size), weight});
    weight *= static_cast<uint32_t>(all[atom].size);
  }
  llvm::sort(digits, [](const bundle::Digit &a, const bundle::Digit &b) { return a.stride > b.stride; });
  return digits;
}

ProcessGroups::ProcessGroups(const Program &program) : atoms_(program.mesh.atoms()) {
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    const Body &body = program.body(unit);
    ExpertLoads loads(program, body);
    for (const Op &op : body.ops)
      if (isCollective(op.kind) && !isMessages(exchangeOf(op, body, program, loads), program))
        addKind(op.get<CollectiveFields>().atoms, program.mesh);
  }
  if (program.pipeline) {
    for (const BufferSum &sum : program.pipeline->sums)
      addSum(*program.pipeline, sum.ranks);
    nameSets(program);
  }
  addFormulas(program);
  // The smallest that serves; where none does, the smallest, which keeps ids small.
  const uint32_t *smallest = llvm::find_if(kStrides, [&](uint32_t stride) { return stride >= kinds_.size(); });
  for (const uint32_t *stride = smallest; stride != std::end(kStrides); ++stride) {
    numberBy(*stride);
    collision_ = findCollision();
    if (!collision_)
      return;
  }
  numberBy(smallest != std::end(kStrides) ? *smallest : static_cast<uint32_t>(kinds_.size()));
  collision_ = findCollision();
}

void ProcessGroups::addKind(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh) {
  if (llvm::any_of(kinds_, [&](const GroupKind &kind) { return llvm::ArrayRef(kind.atoms) == atoms; }))
    return;
  GroupKind &kind = kinds_.emplace_back();
  kind.atoms.assign(atoms.begin(), atoms.end());
  kind.axes = axesText(atoms, mesh);
  kind.size = static_cast<uint32_t>(groupSize(atoms, atoms_));
}

/// The coordinates on all other atoms number the groups.
void ProcessGroups::addFormulas(const Program &program) {
  for (const GroupKind &kind : kinds_) {
    AtomList others;
    for (uint32_t atom = 0; atom < atoms_.size(); ++atom)
      if (!llvm::is_contained(kind.atoms, atom))
        others.push_back(atom);
    bundle::GroupFormula &formula = formulas_.emplace_back();
    formula.axes = kind.axes;
    formula.number = digitsOf(others, program.mesh);
    formula.count = static_cast<uint32_t>(groupSize(others, atoms_));
    if (kind.sets.empty()) {
      formula.spans = digitsOf(kind.atoms, program.mesh);
      continue;
    }
    formula.places = digitsOf(kind.atoms, program.mesh);
    formula.count *= static_cast<uint32_t>(kind.sets.size());
    for (const auto &set : kind.sets)
      formula.sets.emplace_back(set.begin(), set.end());
  }
}

void ProcessGroups::numberBy(uint32_t stride) {
  stride_ = stride;
  for (uint32_t kind = 0; kind < formulas_.size(); ++kind) {
    formulas_[kind].firstId = 1 + kind;
    formulas_[kind].idStride = stride;
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

/// Kinds whose sets are all known.
void ProcessGroups::nameSets(const Program &program) {
  constexpr size_t kNamed = 4;
  for (GroupKind &kind : kinds_) {
    if (kind.sets.empty())
      continue;
    std::string text;
    for (const auto &set : llvm::ArrayRef(kind.sets).take_front(kNamed)) {
      text += text.empty() ? "" : "|";
      for (uint32_t rank : set)
        text += (rank == set.front() ? "" : "+") + std::to_string(rank);
    }
    kind.axes = axesText(kind.atoms, program.mesh) + "[" + text + (kind.sets.size() > kNamed ? "|...]" : "]");
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

uint32_t ProcessGroups::idOf(uint32_t kind, uint32_t rank) const {
  if (std::optional<uint32_t> group = formulas_[kind].groupOf(rank))
    return formulas_[kind].idOf(*group);
  internalError("process groups", "a rank communicates in a kind of group in which it has none");
}

uint32_t ProcessGroups::largestId() const {
  uint32_t largest = 0;
  for (const bundle::GroupFormula &formula : formulas_)
    largest = std::max(largest, formula.idOf(formula.count - 1));
  return largest;
}

unsigned ProcessGroups::digits() const { return static_cast<unsigned>(std::to_string(largestId()).size()); }

/// Two groups meet where their ranks do; ranks that differ only in what both kinds span meet in the same groups.
bundle::RankSet ProcessGroups::meetingRanks(const GroupKind &first, const GroupKind &second) const {
  bundle::RankSet ranks;
  for (uint32_t atom = 0; atom < atoms_.size(); ++atom) {
    bool isSpanned = first.sets.empty() && second.sets.empty() && llvm::is_contained(first.atoms, atom) &&
                     llvm::is_contained(second.atoms, atom);
    if (!isSpanned)
      ranks.spans.push_back({static_cast<uint32_t>(atoms_[atom].stride), static_cast<uint32_t>(atoms_[atom].size), 0});
  }
  return ranks;
}

std::optional<GroupCollision> ProcessGroups::findCollision() const {
  if (largestId() < kFirstWrappedId && kinds_.size() <= stride_)
    return std::nullopt;
  for (uint32_t first = 0; first < kinds_.size(); ++first)
    for (uint32_t second = first + 1; second < kinds_.size(); ++second) {
      if (llvm::none_of(kinds_[first].atoms,
                        [&](uint32_t atom) { return llvm::is_contained(kinds_[second].atoms, atom); }))
        continue;
      bundle::RankSet ranks = meetingRanks(kinds_[first], kinds_[second]);
      uint64_t count = ranks.size();
      for (uint64_t i = 0; i < count; ++i) {
        uint32_t rank = ranks.at(i);
        std::optional<uint32_t> one = formulas_[first].groupOf(rank), other = formulas_[second].groupOf(rank);
        if (one && other && groupTagsCollide(formulas_[first].idOf(*one), formulas_[second].idOf(*other)))
          return GroupCollision{
              .first = formulas_[first].idOf(*one), .second = formulas_[second].idOf(*other), .rank = rank};
      }
    }
  return std::nullopt;
}

std::vector<TraceGroup> ProcessGroups::list() const {
  std::vector<TraceGroup> groups;
  for (const bundle::GroupFormula &formula : formulas_)
    for (uint32_t j = 0; j < formula.count; ++j)
      groups.push_back({.id = formula.idOf(j), .ranks = formula.membersOf(j)});
  return groups;
}

} // namespace stg
