//===- Selector.cpp -----------------------------------------------------------===//
#include "stg/IR/Selector.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"

using namespace stg;
using llvm::StringRef;

bool PatternPart::matches(StringRef component, std::optional<int64_t> index) const {
  if (name != "*" && component != name)
    return false;
  if (!range)
    return true;
  return index && *index >= range->first && *index < range->last && (*index - range->first) % range->step == 0;
}

bool PathPattern::hasIndex() const {
  return llvm::any_of(parts, [](const PatternPart &part) { return part.range.has_value(); });
}

static bool matchAt(const PathPattern &pattern, llvm::ArrayRef<StringRef> components) {
  for (size_t i = 0; i < pattern.parts.size(); ++i) {
    StringRef component = components[i];
    std::optional<int64_t> index;
    if (component.ends_with("]")) {
      auto [name, rest] = component.split('[');
      int64_t number;
      if (!rest.drop_back().getAsInteger(10, number))
        index = number;
      component = name;
    }
    if (!pattern.parts[i].matches(component, index))
      return false;
  }
  return true;
}

bool PathPattern::matches(StringRef path) const {
  llvm::SmallVector<StringRef, 8> components;
  path.split(components, '.');
  for (size_t start = 0; start + parts.size() <= components.size(); ++start)
    if (matchAt(*this, llvm::ArrayRef(components).slice(start, parts.size())))
      return true;
  return false;
}

bool PathPattern::names(StringRef path) const {
  llvm::SmallVector<StringRef, 8> components;
  path.split(components, '.');
  return parts.size() <= components.size() && matchAt(*this, llvm::ArrayRef(components).take_back(parts.size()));
}

std::string PathPattern::str() const {
  std::string text;
  for (const PatternPart &part : parts) {
    text += (text.empty() ? "" : ".") + part.name;
    if (!part.range)
      continue;
    text += "[" + std::to_string(part.range->first) + ".." + std::to_string(part.range->last);
    if (part.range->step != 1)
      text += " step " + std::to_string(part.range->step);
    text += "]";
  }
  return text;
}

std::optional<PathPattern> stg::pathPatternFrom(StringRef text) {
  PathPattern pattern;
  while (!text.empty()) {
    PatternPart part;
    size_t end = text.find_first_of(".[");
    part.name = text.substr(0, end).str();
    text = end == StringRef::npos ? StringRef() : text.substr(end);
    if (part.name.empty())
      return std::nullopt;
    if (text.consume_front("[")) {
      PatternPart::Range range{0, 0, 1};
      if (text.consumeInteger(10, range.first) || !text.consume_front("..") || text.consumeInteger(10, range.last) ||
          (text.consume_front(" step ") && text.consumeInteger(10, range.step)) || range.step < 1 ||
          !text.consume_front("]"))
        return std::nullopt;
      part.range = range;
    }
    pattern.parts.push_back(std::move(part));
    if (!text.empty() && (!text.consume_front(".") || text.empty()))
      return std::nullopt;
  }
  if (pattern.parts.empty())
    return std::nullopt;
  return pattern;
}
