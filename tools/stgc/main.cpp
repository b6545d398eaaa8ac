//===- main.cpp - stgc: compile .stg files ------------------------------------------===//
#include "StgcOptions.h"
#include "stg/Support/InternalError.h"
#include "llvm/Support/thread.h"
#include <utility>

using namespace stg;

namespace {

ExitStatus run(const StgcOptions &options) {
  try {
    return std::visit(
        [&](const auto &command) {
          using Command = std::decay_t<decltype(command)>;
          if constexpr (std::is_same_v<Command, BuildOptions>)
            return build(command, options.format);
          else if constexpr (std::is_same_v<Command, CheckCommandOptions>)
            return check(command, options.format);
          else if constexpr (std::is_same_v<Command, ReportOptions>)
            return report(command, options.format);
          else if constexpr (std::is_same_v<Command, ExplainOptions>)
            return explain(command, options.format);
          else if constexpr (std::is_same_v<Command, ImportOptions>)
            return importHf(command, options.format);
          else
            return formatFiles(command, options.format);
        },
        options.command);
  } catch (const InternalError &error) {
    return reportInternalError(error, llvm::errs());
  }
}

} // namespace

int main(int argc, char **argv) {
  std::optional<StgcOptions> options = parseStgcOptions(argc, argv);
  if (!options)
    return static_cast<int>(ExitStatus::Usage);
  ExitStatus status = ExitStatus::Done;
  // Deep expressions recurse; the main thread's stack is not ours to size.
  llvm::thread worker(std::optional<unsigned>(512u << 20), [&] { status = run(*options); });
  worker.join();
  llvm::outs().flush();
  if (llvm::outs().has_error()) {
    llvm::errs() << "error: cannot write standard output: " << llvm::outs().error().message() << '\n';
    llvm::outs().clear_error();
    return static_cast<int>(ExitStatus::Environment);
  }
  return static_cast<int>(status);
}
