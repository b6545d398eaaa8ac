//===- Commands.h - what stgc does ---------------------------------------------------===//
#ifndef STG_DRIVER_COMMANDS_H
#define STG_DRIVER_COMMANDS_H

#include "stg/Chakra/EmitProgram.h"
#include "stg/Driver/Explain.h"
#include "stg/Support/DiagnosticRenderer.h"

namespace stg {

enum class EmitKind : uint8_t { Et, Bundle, Ir, None };

struct BuildOptions {
  CompileOptions compile;
  std::string input, output;
  EmitKind emit = EmitKind::Et;
  Annotate annotate = Annotate::Basic;
  OrderDeps orderDeps = OrderDeps::Ctrl;
  /// Without the ranks.
  DirectoryOptions directory = {};
  /// As the command line says; else all, or those of the shard that a launcher gives this process.
  std::optional<RankChoice> ranks;
  TraceTarget target = TraceTarget::AstraSim;
  unsigned threads = 0; ///< 0: as many as the machine has
};
/// Writes the traces of each workload: one workload into `output` itself, several into folders by name; or all into one
/// bundle, which of several launched processes the first one does.
ExitStatus build(const BuildOptions &options, DiagnosticFormat format);

struct CheckCommandOptions {
  CompileOptions compile;
  std::vector<std::string> inputs;
};
ExitStatus check(const CheckCommandOptions &options, DiagnosticFormat format);

struct ReportOptions {
  CompileOptions compile;
  std::string input;
  bool json = false;
  ReportStyle style = ReportStyle::Numbers;
};
ExitStatus report(const ReportOptions &options, DiagnosticFormat format);

struct ExplainOptions {
  CompileOptions compile;
  std::string input;
  bool communication = false; ///< every collective
  std::string tensor;         ///< path of tensors, or empty
  ReportStyle style = ReportStyle::Numbers;
  bool schedule = false; ///< lists and times of the pipeline
  bool memory = false;   ///< peaks of memory
  ScheduleCostOptions costs;
  std::string svg; ///< file of the chart of either, `-` for the chart instead of text, or empty
};
ExitStatus explain(const ExplainOptions &options, DiagnosticFormat format);

struct FormatOptions {
  std::vector<std::string> inputs;
  bool check = false; ///< change nothing; say which files would change
};
ExitStatus formatFiles(const FormatOptions &options, DiagnosticFormat format);

struct ImportOptions {
  std::string input;
  std::string output; ///< a .stg file, or empty: standard output
};
/// Writes a Hugging Face config as a .stg file.
ExitStatus importHf(const ImportOptions &options, DiagnosticFormat format);

} // namespace stg

#endif
