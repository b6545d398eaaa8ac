//===- DiagnosticJson.cpp - diagnostics as JSON ---------------------------===//
#include "stg/Support/DiagnosticRenderer.h"

#include "llvm/Support/JSON.h"

namespace stg {

llvm::StringRef severityName(Severity severity) {
  switch (severity) {
  case Severity::Error:
  case Severity::Failure:
    return "error";
  case Severity::Warning:
    return "warning";
  case Severity::Note:
    return "note";
  }
  llvm_unreachable("covered switch");
}

namespace {

class JsonWriter {
public:
  JsonWriter(const SourceManager &sources, llvm::json::OStream &json) : sources_(sources), json_(json) {}

  void write(const Diagnostic &diagnostic) {
    json_.object([&] {
      json_.attribute("code", diagnostic.info.code());
      json_.attribute("severity", severityName(diagnostic.info.severity));
      json_.attribute("message", diagnostic.message);
      place(diagnostic.range);
      if (!diagnostic.label.empty())
        json_.attribute("label", diagnostic.label);
      json_.attributeArray("labels", [&] {
        for (const DiagnosticLabel &label : diagnostic.labels)
          json_.object([&] {
            json_.attribute("message", label.text);
            place(label.range);
          });
      });
      json_.attributeArray("notes", [&] {
        for (const DiagnosticNote &note : diagnostic.notes)
          if (note.kind != DiagnosticNote::Kind::Help)
            json_.object([&] {
              json_.attribute("message", note.text);
              place(note.range);
            });
      });
      json_.attributeArray("helps", [&] {
        for (const DiagnosticNote &help : diagnostic.inlineHelps)
          writeHelp(help);
        for (const DiagnosticNote &help : diagnostic.notes)
          if (help.kind == DiagnosticNote::Kind::Help)
            writeHelp(help);
      });
    });
  }

private:
  void writeHelp(const DiagnosticNote &help) {
    json_.object([&] {
      json_.attribute("message", help.text);
      json_.attributeArray("edits", [&] {
        for (const Edit &edit : help.edits)
          json_.object([&] {
            place(edit.range);
            json_.attribute("replacement", edit.replacement);
          });
      });
    });
  }

  void place(SourceRange range) {
    if (!range.valid())
      return;
    LineColumn from = sources_.lineColumn(range.file, range.begin);
    LineColumn to = sources_.lineColumn(range.file, range.end);
    json_.attribute("file", sources_.path(range.file));
    json_.attribute("line", from.line);
    json_.attribute("column", from.column);
    json_.attribute("endLine", to.line);
    json_.attribute("endColumn", to.column);
    json_.attribute("begin", range.begin);
    json_.attribute("end", range.end);
  }

  const SourceManager &sources_;
  llvm::json::OStream &json_;
};

} // namespace

void printDiagnosticsJson(const Diagnostics &diags, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, /*IndentSize=*/1);
  JsonWriter writer(diags.sources(), json);
  json.array([&] {
    for (const Diagnostic *diagnostic : diags.sorted())
      writer.write(*diagnostic);
  });
  json.flush();
  os << "\n";
}

} // namespace stg
