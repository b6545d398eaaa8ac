//===- DiagnosticText.cpp - diagnostics as text for people ----------------===//
// The layout of one message:
//
//   error[E202]: D is 4096 in `x` but 1280 in `w_in`
//     --> my.stg:7:14
//    7 |   y = sum(D) x * w_in
//      |              ^   ^^^^ text of the last label
//      |              text of an earlier label, under its carets
//      = a note
//      = help: what to type
//
// Line numbers are right-aligned in a gutter of at least two columns, so that bars and `=` stand below each other.
#include "DisplayLine.h"
#include "stg/Support/DiagnosticRenderer.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <tuple>

namespace stg {

namespace {

enum class Ink { Plain, Bold, Error, Warning, Note, Gutter, Label };

const char *escapeOf(Ink ink) {
  switch (ink) {
  case Ink::Plain:
    return "\x1b[0m";
  case Ink::Bold:
    return "\x1b[1m";
  case Ink::Error:
    return "\x1b[1;31m";
  case Ink::Warning:
    return "\x1b[1;33m";
  case Ink::Note:
    return "\x1b[1;36m";
  case Ink::Gutter:
    return "\x1b[34m";
  case Ink::Label:
    return "\x1b[36m";
  }
  llvm_unreachable("covered switch");
}

/// Carets on one source line, in terminal columns, with the text that belongs to them.
struct Mark {
  uint32_t begin, end;
  std::string text;
  Ink ink;
};

class TextPrinter {
public:
  TextPrinter(const SourceManager &sources, llvm::raw_ostream &os, bool coloured)
      : sources_(sources), os_(os), coloured_(coloured) {}

  void print(const Diagnostic &diagnostic) {
    chooseGutter(diagnostic);
    Ink ink = severityInk(diagnostic);
    headline(diagnostic, ink);
    if (diagnostic.range.valid()) {
      switch (diagnostic.snippet) {
      case Snippet::Full:
        place(diagnostic.range, "");
        snippets(diagnostic, ink);
        break;
      case Snippet::Inline:
        place(diagnostic.range, "    " + sources_.text(diagnostic.range).split('\n').first.trim().str());
        break;
      case Snippet::None:
        place(diagnostic.range, "");
        break;
      }
    }
    if (!diagnostic.range.valid() || diagnostic.snippet != Snippet::Full) {
      if (!diagnostic.label.empty())
        marked("", diagnostic.label);
      for (const DiagnosticNote &help : diagnostic.inlineHelps)
        marked("help: ", help.text);
    }
    for (const DiagnosticNote &note : diagnostic.notes)
      below(note);
  }

private:
  Ink severityInk(const Diagnostic &diagnostic) const {
    if (diagnostic.isError())
      return Ink::Error;
    return diagnostic.info.severity == Severity::Warning ? Ink::Warning : Ink::Note;
  }

  void in(Ink ink, llvm::StringRef text) {
    if (!coloured_ || text.empty() || ink == Ink::Plain) {
      os_ << text;
      return;
    }
    os_ << escapeOf(ink) << text << escapeOf(Ink::Plain);
  }

  uint32_t lineOf(SourceRange range) const { return sources_.lineOf(range.file, range.begin); }

  /// Wide enough for the largest line number of the whole message.
  void chooseGutter(const Diagnostic &diagnostic) {
    uint32_t largest = 0;
    auto see = [&](SourceRange range) {
      if (range.valid())
        largest = std::max(largest, lineOf(range));
    };
    see(diagnostic.range);
    for (const DiagnosticLabel &label : diagnostic.labels)
      see(label.range);
    for (const DiagnosticNote &note : diagnostic.notes)
      if (note.kind == DiagnosticNote::Kind::Place)
        see(note.range);
    gutter_ = std::max<size_t>(2, std::to_string(largest).size());
  }

  void headline(const Diagnostic &diagnostic, Ink ink) {
    const char *word = diagnostic.isError()                            ? "error"
                       : diagnostic.info.severity == Severity::Warning ? "warning"
                                                                       : "note";
    in(ink, word + ("[" + diagnostic.info.code() + "]"));
    in(Ink::Bold, ": " + diagnostic.message);
    os_ << "\n";
  }

  void place(SourceRange range, llvm::StringRef behind, llvm::StringRef arrow = "-->") {
    os_.indent(gutter_);
    in(Ink::Gutter, arrow);
    os_ << " " << sources_.describe(range) << behind << "\n";
  }

  void bar() {
    os_.indent(gutter_ + 1);
    in(Ink::Gutter, "|");
  }

  void marked(llvm::StringRef word, llvm::StringRef text) {
    os_.indent(gutter_ + 1);
    in(Ink::Gutter, "=");
    os_ << " ";
    in(Ink::Bold, word);
    continued(text);
  }

  /// Text of several lines: the others stand below the first.
  void continued(llvm::StringRef text) {
    auto [first, rest] = text.split('\n');
    os_ << first << "\n";
    while (!rest.empty()) {
      std::tie(first, rest) = rest.split('\n');
      os_.indent(gutter_ + 3) << first << "\n";
    }
  }

  void below(const DiagnosticNote &note) {
    switch (note.kind) {
    case DiagnosticNote::Kind::Note:
      marked("", note.text);
      return;
    case DiagnosticNote::Kind::Help:
      marked("help: ", note.text);
      return;
    case DiagnosticNote::Kind::Detail:
      os_.indent(gutter_ + 1) << note.text;
      if (note.range.valid())
        os_ << ", " << sources_.describe(note.range);
      os_ << "\n";
      return;
    case DiagnosticNote::Kind::Place:
      in(Ink::Note, "note");
      os_ << ": " << note.text << "\n";
      if (!note.range.valid())
        return;
      place(note.range, "");
      sourceLine(note.range.file, lineOf(note.range), {mark(note.range, "", Ink::Note)});
      return;
    }
  }

  /// Carets of a range on its first line; one caret for an empty range or one that starts at the line's end.
  Mark mark(SourceRange range, std::string text, Ink ink) const {
    uint32_t line = lineOf(range);
    llvm::StringRef lineText = sources_.lineText(range.file, line);
    uint32_t start = sources_.lineStart(range.file, line);
    auto within = [&](uint32_t offset) { return std::min<uint32_t>(offset - start, lineText.size()); };
    DisplayLine shown = displayLine(lineText);
    uint32_t begin = shown.columns[within(range.begin)];
    uint32_t end = shown.columns[within(std::max(range.begin, range.end))];
    return {begin, std::max(end, begin + 1), std::move(text), ink};
  }

  static std::string primaryText(const Diagnostic &diagnostic) {
    std::string text = diagnostic.label;
    for (const DiagnosticNote &help : diagnostic.inlineHelps) {
      if (!text.empty())
        text += ".  ";
      text += "help: " + help.text;
    }
    return text;
  }

  /// The primary line and the labels' lines: the primary file first, then other files in order of mention.
  void snippets(const Diagnostic &diagnostic, Ink ink) {
    using Lines = std::map<uint32_t, std::vector<Mark>>;
    struct File {
      SourceRange first;
      Lines lines;
    };
    std::vector<File> files;
    auto add = [&](SourceRange range, const std::string &text, Ink ink) {
      if (!range.valid())
        return;
      auto file = llvm::find_if(files, [&](const File &f) { return f.first.file == range.file; });
      if (file == files.end())
        file = files.insert(files.end(), {range, {}});
      file->lines[lineOf(range)].push_back(mark(range, text, ink));
    };
    add(diagnostic.range, primaryText(diagnostic), ink);
    for (const DiagnosticLabel &label : diagnostic.labels)
      add(label.range, label.text, Ink::Label);

    for (const File &file : files) {
      if (file.first.file != diagnostic.range.file)
        place(file.first, "", ":::");
      uint32_t previous = 0;
      for (const auto &[line, marks] : file.lines) {
        if (previous != 0 && line > previous + 1) {
          os_.indent(gutter_ + 1);
          in(Ink::Gutter, ":");
          os_ << "\n";
        }
        sourceLine(file.first.file, line, marks);
        previous = line;
      }
    }
  }

  void sourceLine(FileId file, uint32_t line, std::vector<Mark> marks) {
    std::string number = std::to_string(line);
    os_.indent(gutter_ - number.size());
    in(Ink::Gutter, number + " |");
    std::string text = visiblePart(sources_.lineText(file, line), marks);
    if (!text.empty())
      os_ << " " << llvm::StringRef(text).rtrim();
    os_ << "\n";
    underline(std::move(marks));
  }

  /// The line, or of a very long one the part around its first mark; the marks move along.
  static std::string visiblePart(llvm::StringRef line, std::vector<Mark> &marks) {
    constexpr uint32_t kWidest = 200, kContext = 60;
    DisplayLine whole = displayLine(line);
    uint32_t width = whole.columns.back();
    if (width <= kWidest)
      return std::move(whole.text);
    uint32_t first = llvm::min_element(marks, [](const Mark &a, const Mark &b) { return a.begin < b.begin; })->begin;
    uint32_t from = first > kContext ? first - kContext : 0;
    uint32_t to = std::min(width, from + kWidest);
    std::string text = (from > 0 ? "…" : "") + displayLine(line, from, to).text + (to < width ? "…" : "");
    auto moved = [&](uint32_t column) { return std::clamp(column, from, to) - from + (from > 0); };
    for (Mark &mark : marks)
      mark = {moved(mark.begin), std::max(moved(mark.end), moved(mark.begin) + 1), std::move(mark.text), mark.ink};
    return text;
  }

  void underline(std::vector<Mark> marks) {
    llvm::stable_sort(marks, [](const Mark &a, const Mark &b) { return a.begin < b.begin; });

    // The row of carets. A text stands on it if it ends before the next carets begin.
    std::vector<const Mark *> waiting;
    bar();
    os_ << " ";
    uint32_t column = 0;
    auto moveTo = [&](uint32_t target) {
      if (column < target)
        os_.indent(target - column);
      column = std::max(column, target);
    };
    for (size_t i = 0; i != marks.size(); ++i) {
      const Mark &mark = marks[i];
      moveTo(mark.begin);
      if (mark.end > column) {
        in(mark.ink, std::string(mark.end - column, '^'));
        column = mark.end;
      }
      if (mark.text.empty())
        continue;
      bool isLast = i + 1 == marks.size();
      llvm::StringRef text = mark.text;
      uint32_t width = displayLine(text).columns.back();
      bool fits = isLast ? column == mark.end && !text.contains('\n')
                         : !text.contains('\n') && mark.end + 1 + width + 2 <= marks[i + 1].begin && column == mark.end;
      if (!fits) {
        waiting.push_back(&mark);
        continue;
      }
      os_ << " ";
      in(mark.ink, text);
      column += 1 + width;
    }
    os_ << "\n";

    // The others, from right to left, each on a row of its own under its carets.
    while (!waiting.empty()) {
      const Mark *mark = waiting.back();
      waiting.pop_back();
      llvm::StringRef rest = mark->text;
      while (!rest.empty()) {
        llvm::StringRef row;
        std::tie(row, rest) = rest.split('\n');
        bar();
        os_ << " ";
        column = 0;
        for (const Mark *left : waiting)
          if (left->begin < mark->begin && left->begin >= column) {
            moveTo(left->begin);
            in(left->ink, "|");
            ++column;
          }
        moveTo(mark->begin);
        in(mark->ink, row);
        os_ << "\n";
      }
    }
  }

  const SourceManager &sources_;
  llvm::raw_ostream &os_;
  bool coloured_;
  size_t gutter_ = 2;
};

bool wantsColours(Colours colours, llvm::raw_ostream &os) {
  if (colours != Colours::Auto)
    return colours == Colours::Always;
  const char *noColor = std::getenv("NO_COLOR");
  return (!noColor || *noColor == '\0') && os.is_displayed() && os.has_colors();
}

} // namespace

void printDiagnostic(const Diagnostic &diagnostic, const SourceManager &sources, llvm::raw_ostream &os,
                     const TextDiagnosticOptions &options) {
  TextPrinter(sources, os, wantsColours(options.colours, os)).print(diagnostic);
}

void printDiagnostics(const Diagnostics &diags, llvm::raw_ostream &os, const TextDiagnosticOptions &options) {
  TextPrinter printer(diags.sources(), os, wantsColours(options.colours, os));
  size_t errors = 0;
  for (const Diagnostic *diagnostic : diags.sorted()) {
    errors += diagnostic->isError();
    if (errors <= options.errorLimit)
      printer.print(*diagnostic);
  }
  if (errors > options.errorLimit) {
    size_t more = errors - options.errorLimit;
    os << more << (more == 1 ? " more error is" : " more errors are") << " not shown\n";
  }
}

} // namespace stg
