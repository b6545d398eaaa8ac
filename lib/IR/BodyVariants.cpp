//===- BodyVariants.cpp -----------------------------------------------------===//
#include "stg/IR/BodyVariants.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <set>

namespace stg {

/// `block'1` for `block` and for its copies; the next number that is free.
static NameId copyName(IRContext &context, NameId original, std::set<NameId> &taken) {
  llvm::StringRef base = context.text(original);
  size_t quote = base.rfind('\'');
  if (quote != llvm::StringRef::npos && quote > 0 && quote + 1 < base.size() &&
      llvm::all_of(base.drop_front(quote + 1), [](char c) { return c >= '0' && c <= '9'; }))
    base = base.take_front(quote);
  std::string stem = base.str();
  for (unsigned number = 1;; ++number)
    if (NameId name = context.name(stem + "'" + std::to_string(number)); taken.insert(name).second)
      return name;
}

void splitBodies(Program &program, llvm::ArrayRef<uint32_t> keys) {
  std::set<NameId> taken;
  for (const Body &body : program.bodies)
    taken.insert(body.name);
  std::vector<bool> kept(program.bodies.size(), false);
  std::map<std::pair<uint32_t, uint32_t>, BodyId> variants; // body, key
  for (size_t u = 0; u < program.units.size(); ++u) {
    BodyId original = program.units[u].body;
    auto [variant, isNew] = variants.try_emplace({original.index, keys[u]}, original);
    if (isNew && kept[original.index]) {
      variant->second = BodyId(static_cast<uint32_t>(program.bodies.size()));
      Body copy = program.body(original);
      copy.name = copyName(*program.context, copy.name, taken);
      program.bodies.push_back(std::move(copy));
    }
    kept[original.index] = true;
    program.units[u].body = variant->second;
  }
}

} // namespace stg
