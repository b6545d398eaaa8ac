//===- ParserProfile.h - how well the grammar predicts --------------------===//
// For tests: an ambiguous grammar has two readings of one text and picks one silently; and a decision that needs the
// full context costs time.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Support/Diagnostics.h"

#include <string>
#include <vector>

namespace stg {

struct ParserProfile {
  struct Ambiguity {
    /// Rule of the grammar whose decision has two readings.
    std::string rule;
    /// The text that has them.
    SourceRange range;
  };
  std::vector<Ambiguity> ambiguities;
  int64_t predictions = 0;
  /// Those that needed the full context (LL instead of SLL).
  int64_t fullContext = 0;
};

/// Parses a file of `sources` in exact ambiguity mode.
ParserProfile profileParser(FileId file, const SourceManager &sources, Diagnostics &diags);

} // namespace stg
