//===- StgcOptions.h - the command line of stgc ----------------------------------===//
#ifndef STG_TOOLS_STGC_STGCOPTIONS_H
#define STG_TOOLS_STGC_STGCOPTIONS_H

#include "stg/Driver/Commands.h"
#include <variant>

namespace stg {

struct StgcOptions {
  std::variant<BuildOptions, CheckCommandOptions, ReportOptions, ExplainOptions, FormatOptions, ImportOptions> command;
  DiagnosticFormat format = DiagnosticFormat::Text;
};

/// Nothing: the usage was wrong, and said so.
std::optional<StgcOptions> parseStgcOptions(int argc, char **argv);

} // namespace stg

#endif
