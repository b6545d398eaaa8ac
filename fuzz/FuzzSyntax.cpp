//===- FuzzSyntax.cpp - any bytes through parser and formatter ------------===//
// Whatever comes in, the parser ends with messages or without. What it accepts, the formatter keeps: the same AST, and
// nothing left to change.
//===----------------------------------------------------------------------===//
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Syntax/DumpAST.h"
#include "stg/Syntax/Formatter.h"
#include "stg/Syntax/Parser.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

/// The text formatted, and what it says before; nothing if it has errors.
struct Formatted {
  std::optional<std::string> text;
  std::string ast;
};

Formatted format(std::string text) {
  stg::SourceManager sources;
  stg::Diagnostics diags(sources);
  stg::ast::ASTContext context;
  stg::FileId file = sources.addBuffer("fuzz.stg", std::move(text));
  const stg::ast::File *tree = stg::parseFile(file, sources, context, diags);
  if (diags.hasErrors()) {
    // Rendering must bear any place in any text.
    std::string out;
    llvm::raw_string_ostream os(out);
    printDiagnostics(diags, os, {.colours = stg::Colours::Never});
    return {};
  }
  return {stg::formatFile(file, sources, diags), stg::dumpAST(*tree)};
}

void require(bool holds, const char *what, const std::string &before, const std::string &after) {
  if (holds)
    return;
  llvm::errs() << what << "\n--- before\n" << before << "\n--- after\n" << after << "\n";
  std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  std::string text(reinterpret_cast<const char *>(data), size);
  // The source manager takes UTF-8 only; what is not is refused before it gets here.
  if (stg::firstInvalidUtf8(text))
    return -1;
  Formatted once = format(text);
  if (!once.text)
    return 0;
  Formatted twice = format(*once.text);
  require(twice.text.has_value(), "the formatted text has errors", text, *once.text);
  require(twice.ast == once.ast, "formatting changed the AST", text, *once.text);
  require(*twice.text == *once.text, "formatting again changes the text", *once.text, *twice.text);
  return 0;
}
