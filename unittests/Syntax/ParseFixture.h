//===- ParseFixture.h - parse a text in a test ----------------------------===//
#pragma once

#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Syntax/Parser.h"

#include "gtest/gtest.h"

#include <string>
#include <vector>

namespace stg {

/// One parsed text with its messages.
struct Parsed {
  SourceManager sources;
  Diagnostics diags{sources};
  ast::ASTContext context;
  const ast::File *file = nullptr;

  explicit Parsed(std::string text) {
    FileId id = sources.addBuffer("test.stg", std::move(text));
    file = parseFile(id, sources, context, diags);
  }

  /// All messages as people see them.
  std::string messages() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    printDiagnostics(diags, os, {.colours = Colours::Never});
    return text;
  }
  /// "E102 E117": the codes, by place.
  std::string codes() const {
    std::string result;
    for (const Diagnostic *diagnostic : diags.sorted())
      result += (result.empty() ? "" : " ") + diagnostic->info.code();
    return result;
  }
};

} // namespace stg
