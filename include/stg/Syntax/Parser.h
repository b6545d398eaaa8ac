//===- Parser.h - from source text to the AST -----------------------------===//
// One slip gives one message: the parser recovers at the end of the line or at `}`. Nothing is resolved and no name is
// looked up here; that is Sema's.
//===----------------------------------------------------------------------===//
#ifndef STG_SYNTAX_PARSER_H
#define STG_SYNTAX_PARSER_H

#include "stg/Support/Diagnostics.h"
#include "stg/Support/SourceManager.h"
#include "stg/Syntax/AST.h"

namespace stg {

/// Brackets, braces and operators nested deeper than this are reported (E115) and the file is not parsed.
inline constexpr unsigned kMaxNesting = 256;

/// Parses a file that `sources` holds. Errors go to `diags` (E101 ... E1xx); the result then lacks what could not be
/// read, or is null if nothing could. Names and doc comments point into the source text or into `context`.
const ast::File *parseFile(FileId file, const SourceManager &sources, ast::ASTContext &context, Diagnostics &diags);

/// Parses a text that is one expression, e.g. the value of `--set`. Null after an error.
const ast::Expr *parseExpr(FileId file, const SourceManager &sources, ast::ASTContext &context, Diagnostics &diags);

/// Parses a text that is one selector, e.g. `blocks[0].attn.q`. Without a value after an error.
std::optional<ast::Selector> parseSelector(FileId file, const SourceManager &sources, ast::ASTContext &context,
                                           Diagnostics &diags);

} // namespace stg

#endif
