//===- Brackets.h - match brackets before parsing -------------------------===//
// Brackets are matched on the tokens, where layout helps: a line that cannot continue, or a declaration that begins
// while a block is open, shows where a closing bracket is missing. Each unbalanced bracket is reported once and
// repaired, so that the parser only sees balanced input. Newlines inside () and [] become invisible on the way, and
// nesting is bounded here, before anything recursive runs.
//===----------------------------------------------------------------------===//
#pragma once

#include "Lexeme.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

struct BracketResult {
  /// Nested deeper than the parser can take.
  bool tooDeep = false;
  /// Offsets of what was reported: what the parser then finds on those lines is a consequence.
  std::vector<uint32_t> reported;
};

/// Repairs `lexemes` in place. Reports stray characters, unterminated strings, unbalanced brackets and too deep
/// nesting.
BracketResult matchBrackets(std::vector<Lexeme> &lexemes, FileId file, llvm::StringRef text, Diagnostics &diags);

} // namespace stg
