//===- Diagnostics.h - collecting messages to the user --------------------===//
// A message is a row of Diagnostics.def, which becomes a struct of namespace `diag`:
//
//   diags.report(range, diag::MissingSize{.layer = "swiglu", .dim = "F"})
//       .label("F is not a dimension of x[B, S, D] and has no default")
//       .note("F is used by `weight w_gate[D, F]` at std/ffn.stg:18")
//       .help("swiglu(norm2: rmsnorm(x); F = 4 * D)").fixit(callRange, "swiglu(norm2: rmsnorm(x); F = 4 * D)");
//
// Printing is DiagnosticRenderer.h's.
//===----------------------------------------------------------------------===//
#ifndef STG_SUPPORT_DIAGNOSTICS_H
#define STG_SUPPORT_DIAGNOSTICS_H

#include "stg/Support/DiagnosticArgs.h"
#include "stg/Support/ExitStatus.h"
#include "stg/Support/SourceManager.h"

#include "llvm/ADT/ArrayRef.h"

#include <deque>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stg {

/// `Failure` is an error of the environment (unreadable file, full disk): shown as an error, exit status 3 instead
/// of 1.
enum class Severity : uint8_t { Error, Failure, Warning, Note };

/// What the catalogue says about one row.
struct DiagnosticInfo {
  uint16_t number;
  Severity severity;
  /// The row's name, e.g. "MissingSize".
  const char *name;
  /// With {arguments}.
  const char *text;

  /// "E201", "W211", "N320".
  std::string code() const;
};

namespace diag {

using namespace stg::diagarg;

#define ARG(Type, argument) Type argument;
#define DIAG(number, severity, Name, text, ...)                                                                        \
  struct Name {                                                                                                        \
    static constexpr DiagnosticInfo kInfo{number, Severity::severity, #Name, text};                                    \
    __VA_ARGS__                                                                                                        \
  };                                                                                                                   \
  std::string renderMessage(const Name &row);
#include "stg/Support/Diagnostics.def"

} // namespace diag

/// Every row of the catalogue, in its order.
llvm::ArrayRef<DiagnosticInfo> diagnosticCatalogue();

/// Replacement of the bytes of `range` by `replacement`: what an editor applies.
struct Edit {
  SourceRange range;
  std::string replacement;
};

struct DiagnosticLabel {
  SourceRange range;
  std::string text;
};

/// A line below the snippet.
struct DiagnosticNote {
  enum class Kind {
    /// `= text`
    Note,
    /// `= help: text`
    Help,
    /// `text`, unmarked: a computation, or where an instance comes from.
    Detail,
    /// A note with a place and a source line of its own.
    Place,
  };
  Kind kind;
  std::string text;
  SourceRange range = {};
  /// Helps only.
  std::vector<Edit> edits = {};
};

/// How the primary place is shown.
enum class Snippet {
  /// Place, source line, carets.
  Full,
  /// Place and source line in one line, without carets: for errors whose cause is elsewhere.
  Inline,
  /// Place only.
  None,
};

/// One message with all that belongs to it.
struct Diagnostic {
  DiagnosticInfo info;
  std::string message;
  /// May be invalid: no place.
  SourceRange range;
  Snippet snippet = Snippet::Full;
  /// Behind the primary carets.
  std::string label;
  /// Shown behind the primary carets as `help: …`.
  std::vector<DiagnosticNote> inlineHelps;
  /// Other ranges, any file.
  std::vector<DiagnosticLabel> labels;
  std::vector<DiagnosticNote> notes;

  bool isError() const { return info.severity == Severity::Error || info.severity == Severity::Failure; }
};

/// Adds to the diagnostic just reported. Use it within the statement; it points into `Diagnostics`.
class DiagnosticBuilder {
public:
  explicit DiagnosticBuilder(Diagnostic &diagnostic) : diagnostic_(diagnostic) {}

  /// Text behind the primary carets.
  DiagnosticBuilder &label(std::string text);
  /// Carets under another range, with or without text.
  DiagnosticBuilder &label(SourceRange range, std::string text = "");
  /// `= text`
  DiagnosticBuilder &note(std::string text);
  /// A note that shows a place and its source line.
  DiagnosticBuilder &noteAt(SourceRange range, std::string text);
  /// An unmarked line: a computation.
  DiagnosticBuilder &detail(std::string text);
  /// `in attn: gqa(...), my.stg:10:13`: the call through which this place was reached.
  DiagnosticBuilder &within(SourceRange call, std::string text);
  /// `= help: text`
  DiagnosticBuilder &help(std::string text);
  /// What to type. Directly behind `help` (or behind another fixit of it): the edit that this help stands for, not
  /// shown itself. Otherwise shown behind the primary carets as `help: <shown>`, `shown` being the replacement by
  /// default.
  DiagnosticBuilder &fixit(SourceRange range, std::string replacement, std::optional<std::string> shown = std::nullopt);
  DiagnosticBuilder &snippet(Snippet snippet);

private:
  Diagnostic &diagnostic_;
  bool afterHelp_ = false;
};

/// The messages of a run, in order of report. `sorted` is the order for people.
class Diagnostics {
public:
  explicit Diagnostics(const SourceManager &sources) : sources_(sources) {}
  Diagnostics(const Diagnostics &) = delete;
  Diagnostics &operator=(const Diagnostics &) = delete;

  /// Reports a row of the catalogue at a place. An invalid range means: without a place.
  template <class Row> DiagnosticBuilder report(SourceRange range, const Row &row) {
    return add(range, Row::kInfo, renderMessage(row));
  }
  template <class Row> DiagnosticBuilder report(const Row &row) { return report(SourceRange{}, row); }

  bool hasErrors() const { return numErrors_ != 0; }
  /// Errors and failures reported so far, duplicates included. A phase compares before and after to know if it failed.
  size_t numErrors() const { return numErrors_; }
  bool empty() const { return all_.empty(); }

  /// Done, InputWrong, or Environment if a `Failure` is among the errors.
  ExitStatus exitStatus() const;

  /// All messages by place: those without one first, then file by file in the order of the source manager, by offset;
  /// equal places keep the order of report. The same code at the same place is kept once: the first.
  std::vector<const Diagnostic *> sorted() const;

  const SourceManager &sources() const { return sources_; }

private:
  DiagnosticBuilder add(SourceRange range, const DiagnosticInfo &info, std::string message);

  const SourceManager &sources_;
  std::deque<Diagnostic> all_;
  size_t numErrors_ = 0;
  size_t numFailures_ = 0;
};

/// Reports why `path` could not be loaded, at the place that names it (if any).
void reportLoadFailure(const LoadResult &result, llvm::StringRef path, SourceRange mention, Diagnostics &diags);

namespace detail {

enum class TextFault { None, FullStop, UnknownArgument, UnusedArgument, Braces };

/// Compares the text of a row with the names of its arguments.
constexpr TextFault findTextFault(std::string_view text, std::initializer_list<std::string_view> arguments) {
  if (text.empty() || text.back() == '.')
    return TextFault::FullStop;
  auto mentioned = [&](std::string_view wanted) {
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '{')
        continue;
      if (text.substr(i + 1, 1) == "{")
        ++i;
      else if (text.substr(i + 1, wanted.size()) == wanted && text.substr(i + 1 + wanted.size(), 1) == "}")
        return true;
    }
    return false;
  };
  for (std::string_view argument : arguments)
    if (!mentioned(argument))
      return TextFault::UnusedArgument;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}')
      continue;
    if (text.substr(i + 1, 1) == text.substr(i, 1)) {
      ++i;
      continue;
    }
    size_t close = text.find('}', i);
    if (text[i] == '}' || close == std::string_view::npos)
      return TextFault::Braces;
    bool known = false;
    for (std::string_view argument : arguments)
      known |= text.substr(i + 1, close - i - 1) == argument;
    if (!known)
      return TextFault::UnknownArgument;
    i = close;
  }
  return TextFault::None;
}

} // namespace detail

} // namespace stg

#endif
