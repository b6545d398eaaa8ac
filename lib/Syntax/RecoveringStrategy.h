//===- RecoveringStrategy.h - where parsing goes on after a slip ----------===//
// An error is reported once, leaves the rules up to the enclosing line (a statement, a rule of a plan, ...), and
// parsing goes on behind that line. ANTLR's own repairs (dropping or inventing a token) are not used: they guess, and
// their guesses lead to messages about things that nobody wrote.
//===----------------------------------------------------------------------===//
#pragma once

#include "StgParser.h"
#include "SyntaxSlips.h"
#include "stg/Support/Diagnostics.h"

#include "llvm/ADT/DenseSet.h"

namespace stg {

class RecoveringStrategy : public antlr4::DefaultErrorStrategy {
public:
  RecoveringStrategy(FileId file, llvm::StringRef text, Diagnostics &diags) : file_(file), text_(text), diags_(diags) {}

  /// What the parser finds on this line is a consequence of what was reported before.
  void silenceLine(uint32_t line) { silent_.insert(line); }

  void reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) override;
  void recover(antlr4::Parser *parser, std::exception_ptr error) override;
  antlr4::Token *recoverInline(antlr4::Parser *parser) override;
  void sync(antlr4::Parser *parser) override;

private:
  /// Once per line: the second slip of a line mostly follows from the first.
  void report(const Slip &slip);
  void skipLine(antlr4::Parser *parser, int openBrackets);
  void skipDeclaration(antlr4::Parser *parser, int openBrackets);

  FileId file_;
  llvm::StringRef text_;
  Diagnostics &diags_;
  llvm::DenseSet<uint32_t> silent_;
};

} // namespace stg
