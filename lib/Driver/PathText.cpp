//===- PathText.cpp ---------------------------------------------------------===//
#include "PathText.h"
#include <fmt/format.h>
#include <map>

using namespace stg;
using llvm::StringRef;

namespace {

/// `groups[2].inner` -> `groups[*].inner`.
std::string withoutIterations(StringRef path) {
  std::string text;
  while (!path.empty()) {
    auto [before, after] = path.split('[');
    text += before;
    if (before.size() == path.size())
      break;
    text += "[*]";
    path = after.split(']').second;
  }
  return text;
}

/// In the notation of selectors: `3`, `1..32 by 2`; a list where there is no rule, cut short.
std::string iterationsText(llvm::ArrayRef<int64_t> iterations) {
  if (iterations.size() == 1)
    return std::to_string(iterations[0]);
  int64_t step = iterations[1] - iterations[0];
  bool regular = iterations.size() > 2 || step == 1;
  for (size_t i = 1; i < iterations.size(); ++i)
    regular &= iterations[i] - iterations[i - 1] == step;
  if (regular && step > 0)
    return fmt::format("{}..{}{}", iterations.front(), iterations.back() + 1,
                       step == 1 ? "" : fmt::format(" by {}", step));
  std::string text;
  constexpr size_t kMaxShown = 4;
  for (size_t i = 0; i < iterations.size() && i < kMaxShown; ++i)
    text += (i ? ", " : "") + std::to_string(iterations[i]);
  return iterations.size() > kMaxShown ? text + ", ..." : text;
}

} // namespace

std::vector<BodyPath> stg::bodyPaths(const Program &program) {
  std::vector<std::vector<int64_t>> iterations(program.bodies.size());
  std::map<std::string, int> bodiesOf; // distinct bodies of a path
  for (const Unit &unit : program.units) {
    if (iterations[unit.body.index].empty())
      ++bodiesOf[withoutIterations(program.text(unit.path))];
    iterations[unit.body.index].push_back(unit.index);
  }
  std::vector<BodyPath> paths(program.bodies.size());
  for (const Unit &unit : program.units) {
    BodyPath &path = paths[unit.body.index];
    if (!path.name.empty())
      continue;
    // All iterations in one: `groups[*].inner[*]`; where iterations differ, those of this body: `blocks[1..32 by 2]`.
    std::string base = withoutIterations(program.text(unit.path));
    bool alone = bodiesOf[base] == 1;
    path.family = base;
    if (unit.index >= 0)
      path.family += alone ? "[*]" : "[" + iterationsText(iterations[unit.body.index]) + "]";
    path.name = alone ? base : path.family;
  }
  return paths;
}

std::string stg::meshText(const Mesh &mesh) {
  if (mesh.ranks() == 1)
    return "1 rank";
  std::string text;
  for (const MeshAxis &axis : mesh.axes)
    if (axis.size > 1)
      text += (text.empty() ? "" : " x ") + axis.name + " " + std::to_string(axis.size);
  return std::to_string(mesh.ranks()) + " ranks: " + text;
}

std::string stg::placeText(SourceRange where, const SourceManager &sources) {
  return fmt::format("{}:{}", sources.name(where.file).str(), sources.lineColumn(where.file, where.begin).line);
}
