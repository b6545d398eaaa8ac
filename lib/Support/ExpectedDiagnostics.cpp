//===- ExpectedDiagnostics.cpp - messages that a test file announces ------===//
#include "stg/Support/ExpectedDiagnostics.h"

#include "stg/Support/DiagnosticRenderer.h"

#include "llvm/Support/Regex.h"

#include <optional>
#include <vector>

namespace stg {

namespace {

struct Expectation {
  FileId file;
  uint32_t announcedAt;
  /// None: anywhere.
  std::optional<uint32_t> line;
  llvm::StringRef severity, text, code;
  bool met = false;
};

std::optional<uint32_t> lineOfExpectation(llvm::StringRef place, uint32_t announcedAt) {
  uint32_t number = 0;
  if (place == "@*")
    return std::nullopt;
  if (place.consume_front("@+") && !place.getAsInteger(10, number))
    return announcedAt + number;
  if (place.consume_front("@-") && !place.getAsInteger(10, number))
    return announcedAt - number;
  if (place.consume_front("@") && !place.getAsInteger(10, number))
    return number;
  return announcedAt;
}

/// Everything that the files announce; an expectation that cannot be read is printed and counts as a difference.
std::vector<Expectation> findExpectations(const SourceManager &sources, llvm::raw_ostream &os, bool &same) {
  llvm::Regex pattern("expected-(error|warning|note)(@[^ ]*)? *\\{\\{(.*)\\}\\} *\\[([EWN][0-9]+)\\]");
  std::vector<Expectation> found;
  for (uint32_t index = 0; index != sources.numFiles(); ++index) {
    FileId file(index);
    for (uint32_t line = 1; line <= sources.numLines(file); ++line) {
      llvm::StringRef text = sources.lineText(file, line);
      // Several on one line, each from `expected-` to the next.
      for (size_t at = text.find("expected-"); at != llvm::StringRef::npos;) {
        size_t next = text.find("expected-", at + 1);
        llvm::SmallVector<llvm::StringRef> parts;
        if (pattern.match(text.slice(at, next), &parts)) {
          found.push_back({file, line, lineOfExpectation(parts[2], line), parts[1], parts[3], parts[4]});
        } else if (text.substr(at).starts_with("expected-error") || text.substr(at).starts_with("expected-warning")) {
          os << sources.path(file) << ":" << line << ": write expected-error@+1 {{text}} [E101]\n";
          same = false;
        }
        at = next;
      }
    }
  }
  return found;
}

bool announces(const Expectation &wanted, const Diagnostic &diagnostic, const SourceManager &sources) {
  if (wanted.met || wanted.severity != severityName(diagnostic.info.severity) ||
      wanted.code != diagnostic.info.code() || !llvm::StringRef(diagnostic.message).contains(wanted.text))
    return false;
  if (!wanted.line)
    return !diagnostic.range.valid() || diagnostic.range.file == wanted.file;
  return diagnostic.range.file == wanted.file &&
         sources.lineOf(diagnostic.range.file, diagnostic.range.begin) == *wanted.line;
}

} // namespace

bool matchExpectedDiagnostics(const Diagnostics &diags, llvm::raw_ostream &os) {
  const SourceManager &sources = diags.sources();
  bool same = true;
  std::vector<Expectation> expectations = findExpectations(sources, os, same);
  for (const Diagnostic *diagnostic : diags.sorted()) {
    auto wanted = llvm::find_if(expectations, [&](const Expectation &e) { return announces(e, *diagnostic, sources); });
    if (wanted != expectations.end()) {
      wanted->met = true;
      continue;
    }
    same = false;
    os << (diagnostic->range.valid() ? sources.describe(diagnostic->range) : "no place") << ": unexpected "
       << severityName(diagnostic->info.severity) << ": " << diagnostic->message << " [" << diagnostic->info.code()
       << "]\n";
  }
  for (const Expectation &wanted : expectations) {
    if (wanted.met)
      continue;
    same = false;
    os << sources.path(wanted.file) << ":" << wanted.announcedAt << ": expected " << wanted.severity
       << " did not come: " << wanted.text << " [" << wanted.code << "]\n";
  }
  return same;
}

} // namespace stg
