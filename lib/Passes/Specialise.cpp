//===- Specialise.cpp - a body per answer of the plan ------------------------===//
// A pattern meets a path `unit.inner` in one of three ways: inside the unit's part; inside the inner part, which is the
// same for all units of a body; or across, its first j parts at the end of the unit's path and the rest at the start of
// the inner one. What a unit answers to a pattern is therefore the list of its j, where only those count whose rest
// meets some name of the body. Units of one body with equal answers to all patterns stay together.
//
// `blocks[0..2].ffn` with units blocks[0..4] of one body that has names under `ffn`: j = 1 for the first two units,
// none for the others, so they get two bodies. If the body has no `ffn`, all answers are empty and it stays whole.
//===----------------------------------------------------------------------===//
#include "stg/Passes/Specialise.h"
#include "stg/IR/BodyVariants.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

namespace stg {

namespace {

using Parts = llvm::ArrayRef<PatternPart>;
/// Per meeting: the pattern and how many of its parts the unit's path takes.
using Answers = std::vector<std::pair<uint32_t, uint32_t>>;

/// The rest of the pattern is a pattern of its own: whether it meets `path` from its start.
bool startsPath(Parts rest, llvm::StringRef path) {
  llvm::SmallVector<llvm::StringRef, 8> components;
  path.split(components, '.');
  if (rest.size() > components.size())
    return false;
  size_t length = 0;
  for (size_t i = 0; i < rest.size(); ++i)
    length += components[i].size() + (i > 0);
  PathPattern pattern{{rest.begin(), rest.end()}};
  return pattern.names(path.take_front(length));
}

class Specialiser {
public:
  Specialiser(Program &program, PassStats &stats) : program_(program), stats_(stats) {}

  void run() {
    collectPatterns();
    if (patterns_.empty())
      return;
    std::map<Answers, uint32_t> known;
    std::vector<uint32_t> keys;
    for (const Unit &unit : program_.units) {
      Answers answers = byPath(unit);
      if (!indexed_.empty())
        append(answers, indexed_, unit);
      keys.push_back(known.try_emplace(std::move(answers), known.size()).first->second);
    }
    splitBodies(program_, keys);
  }

private:
  void collectPatterns() {
    const Plan &plan = program_.plan;
    auto addAll = [&](const auto &rules) {
      for (const auto &rule : rules)
        for (const PathPattern &pattern : rule.scopes)
          patterns_.push_back(&pattern);
    };
    addAll(plan.splits);
    addAll(plan.keeps);
    addAll(plan.keepGathered);
    addAll(plan.optimizers);
    addAll(plan.storage);
    addAll(plan.gemms);
    addAll(plan.runs);
    addAll(plan.recompute);
    addAll(plan.offload);
    for (const PinRule &pin : plan.pins)
      patterns_.push_back(&pin.value);
    for (uint32_t i = 0; i < patterns_.size(); ++i)
      (patterns_[i]->hasIndex() ? indexed_ : plain_).push_back(i);
  }

  /// The answers to patterns without an iteration depend on the path before the unit's own index only.
  const Answers &byPath(const Unit &unit) {
    auto [entry, isNew] = plainAnswers_.try_emplace({unit.body.index, unit.path});
    if (isNew)
      append(entry->second, plain_, unit);
    return entry->second;
  }

  void append(Answers &answers, llvm::ArrayRef<uint32_t> patterns, const Unit &unit) {
    std::string path = program_.unitPath(unit);
    for (uint32_t i : patterns) {
      const PathPattern &pattern = *patterns_[i];
      uint32_t count = static_cast<uint32_t>(pattern.parts.size());
      if (pattern.matches(path))
        answers.push_back({i, count});
      for (uint32_t taken = 1; taken < count; ++taken) {
        PathPattern head{{pattern.parts.begin(), pattern.parts.begin() + taken}};
        if (head.names(path) && meetsInside(unit.body, i, taken))
          answers.push_back({i, taken});
      }
    }
  }

  /// Whether the pattern without its first `taken` parts meets some name of the body from the start.
  bool meetsInside(BodyId body, uint32_t pattern, uint32_t taken) {
    auto [entry, isNew] = meets_.try_emplace({body.index, pattern, taken}, false);
    if (isNew)
      entry->second = llvm::any_of(namesOf(body), [&](NameId name) {
        return startsPath(Parts(patterns_[pattern]->parts).drop_front(taken), program_.text(name));
      });
    return entry->second;
  }

  /// Scopes of the body's ops, names of its values, weights and states.
  const std::set<NameId> &namesOf(BodyId id) {
    auto [entry, isNew] = names_.try_emplace(id.index);
    if (!isNew)
      return entry->second;
    const Body &body = program_.body(id);
    std::set<NameId> &names = entry->second;
    for (const Op &op : body.ops) {
      ++stats_.opVisits;
      names.insert(op.scope);
    }
    for (const Value &value : body.values)
      names.insert({value.name, value.scope});
    for (const WeightSlot &slot : body.weights)
      names.insert(slot.name);
    for (const StateSlot &slot : body.states)
      names.insert(slot.name);
    names.erase(NameId());
    return names;
  }

  Program &program_;
  PassStats &stats_;
  std::vector<const PathPattern *> patterns_;
  std::vector<uint32_t> plain_, indexed_; ///< patterns without and with an iteration
  std::map<std::pair<uint32_t, NameId>, Answers> plainAnswers_;
  std::map<uint32_t, std::set<NameId>> names_;
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, bool> meets_;
};

} // namespace

void specialise(Program &program, PassStats &stats) { Specialiser(program, stats).run(); }

} // namespace stg
