//===- Selector.h - patterns over instance paths ----------------------------===//
// `blocks[0..4].ffn`, `attn.q`, `*`: a pattern matches a path if its parts occur as a run of the path's components and
// nothing of the pattern is left over. A part without brackets matches every iteration.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_SELECTOR_H
#define STG_IR_SELECTOR_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace stg {

struct PatternPart {
  std::string name; ///< `*`: any
  struct Range {
    int64_t first, last, step; ///< last excluded
  };
  std::optional<Range> range;
  bool matches(llvm::StringRef component, std::optional<int64_t> index) const;
};

struct PathPattern {
  std::vector<PatternPart> parts;
  bool hasIndex() const;
  /// `path`: components joined by dots, each possibly with an iteration, `blocks[3].attn`. A component without an
  /// iteration number matches a part with a range only if the range is absent.
  bool matches(llvm::StringRef path) const;
  /// As matches, but the run must end at the path's end: the pattern names this very instance.
  bool names(llvm::StringRef path) const;
  /// `blocks[0..4].attn`; read back by pathPatternFrom.
  std::string str() const;
};
std::optional<PathPattern> pathPatternFrom(llvm::StringRef text);

} // namespace stg

#endif
