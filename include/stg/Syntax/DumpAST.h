//===- DumpAST.h - the AST as text ----------------------------------------===//
#pragma once

#include "stg/Syntax/AST.h"

#include <string>

namespace stg {

/// The whole file as nested lists, one line per declaration, statement, rule: everything that the AST says, except
/// where it was written. Two texts with equal dumps mean the same.
std::string dumpAST(const ast::File &file);

std::string dumpExpr(const ast::Expr &expr);

} // namespace stg
