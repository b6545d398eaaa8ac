//===- TensorSearch.cpp - tensors by their paths ----------------------------===//
#include "TensorSearch.h"
#include "stg/IR/LayoutOps.h"
#include "stg/Support/ClosestName.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <map>

using namespace stg;
using llvm::StringRef;

namespace {

/// The reading ops' results in all units whose slots are bound to one weight, input or state.
class SharedSites {
public:
  explicit SharedSites(const Program &program) : program_(program) {}

  std::vector<UnitTensor> ofWeight(const WeightBinding &wanted) const {
    return sites(OpKind::Weight, &Body::weights,
                 [&](const Unit &unit, size_t binding) { return unit.weights[binding] == wanted; });
  }
  std::vector<UnitTensor> ofState(const StateBinding &wanted) const {
    return sites(OpKind::State, &Body::states,
                 [&](const Unit &unit, size_t binding) { return unit.states[binding] == wanted; });
  }
  std::vector<UnitTensor> ofInput(InputId wanted) const {
    std::vector<UnitTensor> found;
    for (uint32_t u = 0; u < program_.units.size(); ++u)
      for (uint32_t slot = 0; slot < program_.units[u].inputs.size(); ++slot)
        if (program_.units[u].inputs[slot] == InputBinding(wanted))
          addReads(UnitId(u), OpKind::Input, slot, found);
    return found;
  }

private:
  template <class Slots, class Matches>
  std::vector<UnitTensor> sites(OpKind kind, Slots Body::*slots, Matches matches) const {
    std::vector<UnitTensor> found;
    for (uint32_t u = 0; u < program_.units.size(); ++u) {
      const Unit &unit = program_.units[u];
      const Slots &own = program_.body(unit).*slots;
      size_t binding = 0;
      for (uint32_t slot = 0; slot < own.size(); ++slot)
        if (!own[slot].owned && matches(unit, binding++))
          addReads(UnitId(u), kind, slot, found);
    }
    return found;
  }

  void addReads(UnitId unit, OpKind kind, uint32_t slot, std::vector<UnitTensor> &found) const {
    for (const Op &op : program_.body(program_.units[unit.index]).ops)
      if (op.kind == kind && op.get<SlotFields>().slot == slot)
        found.push_back({unit, op.results[0]});
  }

  const Program &program_;
};

/// Calls `visit(path, unit, value)` for every tensor of a unit.
template <class Visit> void forEachUnitTensor(const Program &program, Visit visit) {
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    const Body &body = program.body(program.units[u]);
    std::string prefix = program.unitPath(program.units[u]) + ".";
    for (uint32_t v = 0; v < body.values.size(); ++v)
      if (const Value &value = body.values[v]; value.name && value.def && !convertsLayout(body.op(value.def).kind))
        visit(prefix + program.text(value.name).str(), UnitId(u), ValueId(v));
  }
}

bool isWholePath(const PathPattern &pattern, StringRef path) {
  return pattern.parts.size() == static_cast<size_t>(path.count('.')) + 1;
}

/// Finds tensors; a whole path beats the end of one.
class Finder {
public:
  Finder(const Program &program, const PathPattern &pattern) : program_(program), pattern_(pattern), shared_(program) {}

  std::vector<FoundTensor> run() {
    for (uint32_t i = 0; i < program_.inputs.size(); ++i)
      addShared(program_.inputs[i].name, [&] { return shared_.ofInput(InputId(i)); });
    for (uint32_t i = 0; i < program_.weights.size(); ++i)
      addShared(program_.weights[i].name, [&] { return shared_.ofWeight(WeightId(i)); });
    for (uint32_t i = 0; i < program_.states.size(); ++i)
      addShared(program_.states[i].name, [&] { return shared_.ofState(StateId(i)); });
    forEachUnitTensor(program_, [&](const std::string &path, UnitId unit, ValueId value) {
      if (pattern_.names(path))
        addValue(path, unit, value);
    });
    bool hasWhole = llvm::any_of(found_, [&](const FoundTensor &one) { return isWholePath(pattern_, one.path); });
    if (hasWhole)
      llvm::erase_if(found_, [&](const FoundTensor &one) { return !isWholePath(pattern_, one.path); });
    return std::move(found_);
  }

private:
  template <class Sites> void addShared(NameId name, Sites sites) {
    std::string path = program_.text(name).str();
    if (!pattern_.names(path))
      return;
    std::vector<UnitTensor> all = sites();
    if (!all.empty())
      found_.push_back({std::move(path), 1, std::move(all)});
  }

  void addValue(const std::string &path, UnitId unit, ValueId value) {
    BodyId body = program_.units[unit.index].body;
    auto [known, isNew] = byBody_.try_emplace({body.index, value.index}, found_.size());
    if (!isNew) {
      ++found_[known->second].alike;
      return;
    }
    FoundTensor one{path, 1, {{unit, value}}};
    const Op &def = program_.body(body).op(program_.body(body).value(value).def);
    std::vector<UnitTensor> others;
    if (def.kind == OpKind::Weight)
      others = shared_.ofWeight(UnitSlot{unit, def.get<SlotFields>().slot});
    else if (def.kind == OpKind::State)
      others = shared_.ofState(UnitSlot{unit, def.get<SlotFields>().slot});
    one.sites.insert(one.sites.end(), others.begin(), others.end());
    found_.push_back(std::move(one));
  }

  const Program &program_;
  const PathPattern &pattern_;
  SharedSites shared_;
  std::vector<FoundTensor> found_;
  std::map<std::pair<uint32_t, uint32_t>, size_t> byBody_; // (body, value) -> index
};

/// How far a pattern gets along the paths of tensors, and which names stand where it stops.
class PathEnd {
public:
  PathEnd(llvm::ArrayRef<const Program *> programs, const PathPattern &pattern) : pattern_(pattern) {
    for (const Program *program : programs) {
      for (const ProgramInput &input : program->inputs)
        follow(program->text(input.name));
      for (const ProgramWeight &weight : program->weights)
        follow(program->text(weight.name));
      forEachUnitTensor(*program, [&](const std::string &path, UnitId, ValueId) { follow(path); });
    }
  }

  /// Parts of the pattern that match by name.
  size_t matched() const { return matched_; }
  /// Whether some path is the whole pattern, but for its iterations.
  bool endsPath() const { return endsPath_; }
  const std::vector<std::string> &names() const { return names_; }

private:
  void follow(StringRef path) {
    llvm::SmallVector<StringRef, 8> components;
    path.split(components, '.');
    for (size_t start = 0; start < components.size(); ++start) {
      size_t count = 0;
      while (count < pattern_.parts.size() && start + count < components.size() &&
             isNamed(pattern_.parts[count], components[start + count]))
        ++count;
      endsPath_ |= count == pattern_.parts.size() && start + count == components.size();
      // Where nothing matches, names of units are of use.
      if (count < matched_ || (count == 0 && start > 0) || start + count >= components.size())
        continue;
      if (count > matched_)
        names_.clear();
      matched_ = count;
      std::string next = components[start + count].split('[').first.str();
      if (!llvm::is_contained(names_, next))
        names_.push_back(std::move(next));
    }
  }

  static bool isNamed(const PatternPart &part, StringRef component) {
    return part.name == "*" || component.split('[').first == part.name;
  }

  const PathPattern &pattern_;
  size_t matched_ = 0;
  bool endsPath_ = false;
  std::vector<std::string> names_;
};

/// `first blocks[0..32] last`.
std::string unitsText(const Program &program) {
  std::vector<std::pair<std::string, int64_t>> units;
  for (const Unit &unit : program.units) {
    std::string path = program.text(unit.path).str();
    if (units.empty() || units.back().first != path)
      units.push_back({path, 0});
    units.back().second = unit.index + 1;
  }
  std::string text;
  for (const auto &[path, count] : units)
    text += (text.empty() ? "" : " ") + path + (count ? "[0.." + std::to_string(count) + "]" : "");
  return text;
}

} // namespace

std::vector<FoundTensor> stg::findTensors(const Program &program, const PathPattern &pattern) {
  return Finder(program, pattern).run();
}

void stg::reportNoTensor(llvm::ArrayRef<const Program *> programs, const PathPattern &pattern,
                         const ast::Selector &selector, StringRef text, Diagnostics &diags) {
  constexpr size_t kMaxListed = 24;
  auto builder = diags.report(selector.range, diag::SelectorMatchesNothing{.selector = text});
  PathEnd end(programs, pattern);
  if (end.matched() == 0 || end.endsPath()) {
    for (const Program *program : programs)
      builder.note("units of " + program->text(program->name).str() + ": " + unitsText(*program));
  } else {
    llvm::ArrayRef<std::string> listed = end.names();
    builder.note("behind `" + pattern.parts[end.matched() - 1].name + "` come: " +
                 llvm::join(listed.take_front(kMaxListed), " ") + (listed.size() > kMaxListed ? " ..." : ""));
  }
  if (end.matched() == pattern.parts.size())
    return;
  std::vector<StringRef> candidates(end.names().begin(), end.names().end());
  if (auto close = closestName(pattern.parts[end.matched()].name, candidates))
    builder.fixit(selector.parts[end.matched()].name.range, close->str());
}
