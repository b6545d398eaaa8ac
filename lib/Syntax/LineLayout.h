//===- LineLayout.h - break one logical line ------------------------------===//
// A logical line is a statement, a rule, a signature ... as a list of pieces. If it is too long, it is broken at the
// outermost bracket depth that makes it fit: behind commas and operators, filled. What is broken inside a bracket
// continues below the first thing in that bracket, everything else four columns to the right (`->` five).
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <string>
#include <vector>

namespace stg {

/// One token of a logical line.
struct Piece {
  llvm::StringRef text;
  bool blankBefore = false;
  bool breakAfter = false, breakBefore = false;
  /// `->`: begins a line of its own unless the whole logical line fits on one.
  bool leads = false;
  /// Opens or closes a list that is laid out as a bracket.
  bool opens = false, closes = false;
  /// Continues at the line's own indentation when a comment forces it to a line of its own.
  bool hugsIndent = false;
  /// Comments on lines of their own before it.
  llvm::SmallVector<llvm::StringRef, 1> above;
  /// Comment behind it, to the end of the line.
  llvm::StringRef trailing;
};

/// One line of output. Comments behind the code are kept apart until they are aligned.
struct OutLine {
  std::string code;
  std::string comment;
};

/// Columns of a text on a terminal. Only strings and comments hold more than ASCII.
size_t displayWidth(llvm::StringRef text);

/// Columns that the pieces take on one line.
size_t flatWidth(llvm::ArrayRef<Piece> pieces);

/// Appends the lines for `pieces`, indented by `indent`, to `out`.
void layOut(llvm::ArrayRef<Piece> pieces, size_t indent, std::vector<OutLine> &out);

} // namespace stg
