//===- Lexeme.h - the tokens of a file, with what lies between them -------===//
// The lexer's result as plain data: the formatter prints it, Brackets.h repairs it, the parser reads the visible part.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <vector>

namespace stg {

struct Lexeme {
  /// A token type of the generated lexer.
  uint32_t type;
  /// Bytes [begin, end); empty for a closing bracket that Brackets.h put in.
  uint32_t begin, end;
  /// Handed to the parser: no comment or blank, and no newline inside () or [].
  bool visible;
};

/// All tokens of `text`, in order and without gaps; no end-of-file token.
std::vector<Lexeme> lex(llvm::StringRef text);

/// A name, or one of the words that may be a name.
bool isWord(const Lexeme &lexeme);
/// An operand may end with it: a name, a literal, `)` or `]`.
bool endsOperand(const Lexeme &lexeme);
/// An operand or a statement begins with it, and it never continues what stands before.
bool beginsOperand(const Lexeme &lexeme);
/// `sum`, `mean`, ... `each`.
bool isReduction(const Lexeme &lexeme);

} // namespace stg
