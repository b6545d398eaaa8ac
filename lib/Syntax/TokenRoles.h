//===- TokenRoles.h - what a token does in its rule -----------------------===//
// Whether a newline ends a line, a brace opens a block or a minus is a sign shows only in the parse tree.
//===----------------------------------------------------------------------===//
#pragma once

#include "StgParser.h"

#include <vector>

namespace stg {

/// Whether a grammar rule is a list of lines.
bool isListRule(size_t rule);

enum class TokenRole : uint8_t {
  Plain,
  /// A newline or `;` between two lines of a list.
  Separator,
  /// A newline that ends nothing.
  Filler,
  BlockOpen,
  BlockClose,
  /// Without blanks around it: `B/dp`, `dense*3`, `std.{a, b}`.
  Tight,
  /// A sign: no blank behind it.
  Sign,
  /// An opening bracket that follows its word without a blank: calls, signatures, indices.
  Attached,
  /// A long line may be broken behind it.
  BreakAfter,
  /// A long line may be broken before it.
  BreakBefore,
  /// `else` of a statement: stands on the line of the `}` before it.
  StatementElse,
};

/// One role for each token of the stream that `tree` was parsed from, which has `count` tokens.
std::vector<TokenRole> tokenRoles(antlr::StgParser::FileContext *tree, size_t count);

} // namespace stg
