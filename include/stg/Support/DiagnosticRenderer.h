//===- DiagnosticRenderer.h - diagnostics as text and as JSON -------------===//
#ifndef STG_SUPPORT_DIAGNOSTICRENDERER_H
#define STG_SUPPORT_DIAGNOSTICRENDERER_H

#include "stg/Support/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

namespace stg {

/// `error`, `warning` or `note`: a failure of the environment is an error to its reader.
llvm::StringRef severityName(Severity severity);

enum class DiagnosticFormat { Text, Json };

/// `Auto`: on a terminal, unless the environment variable NO_COLOR is set.
enum class Colours { Auto, Never, Always };

struct TextDiagnosticOptions {
  Colours colours = Colours::Auto;
  /// At most that many errors; a line says how many more there are. Warnings behind the last shown error are left out.
  size_t errorLimit = 50;
};

/// Prints one diagnostic for people: severity and code, place, source line with carets, notes. Carets are right on
/// lines with tabs (shown as spaces to the next multiple of four), wide and combining characters.
void printDiagnostic(const Diagnostic &diagnostic, const SourceManager &sources, llvm::raw_ostream &os,
                     const TextDiagnosticOptions &options = {});

/// Prints all of them, sorted.
void printDiagnostics(const Diagnostics &diags, llvm::raw_ostream &os, const TextDiagnosticOptions &options = {});

/// Writes all of them, sorted and without limit, as one JSON array with a line break behind it. docs/diagnostics.md
/// describes the members.
void printDiagnosticsJson(const Diagnostics &diags, llvm::raw_ostream &os);

} // namespace stg

#endif
