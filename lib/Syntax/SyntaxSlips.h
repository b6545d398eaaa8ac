//===- SyntaxSlips.h - say what is wrong with a line ----------------------===//
// The parser knows at which token it cannot go on, not what the author meant. Here the frequent slips are recognised
// from the tokens around that place, most telling first; what is left becomes "expected ..., found ...".
//===----------------------------------------------------------------------===//
#pragma once

#include "StgParser.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

/// Where the parser cannot go on.
struct Slip {
  FileId file;
  llvm::StringRef text;
  antlr4::Parser &parser;
  antlr4::Token &token;
  /// Tokens that would have fitted, at `token` or before it.
  antlr4::misc::IntervalSet expected;
  /// A line is complete and more follows on it.
  bool afterLine = false;
};

void reportSlip(const Slip &slip, Diagnostics &diags);

} // namespace stg
