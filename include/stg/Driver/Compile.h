//===- Compile.h - from a file to typed programs -------------------------------===//
// The one path through the compiler: load modules, check declarations, resolve workloads, run the passes. Tools choose
// what to do with the programs.
//===----------------------------------------------------------------------===//
#ifndef STG_DRIVER_COMPILE_H
#define STG_DRIVER_COMPILE_H

#include "stg/Sema/Workload.h"
#include "stg/Support/ExitStatus.h"
#include <string>
#include <vector>

namespace stg {

struct CompileOptions {
  std::vector<std::string> includePath;          ///< `-I`, first wins
  std::vector<std::string> settings;             ///< `--set` texts
  std::string workload;                          ///< `-w`, or empty for all
  std::string argv0;                             ///< to find the standard library beside the program
  Level level = Level::Scheduled;                ///< where the passes stop
  UnevenExchange exchange = UnevenExchange::Pad; ///< `--a2av`
  std::string hbm;                               ///< `--hbm`, the memory of a rank, as given; or empty
};

struct CompiledWorkload {
  std::string name;
  std::string outputFolder;
  Program program;       ///< at the level asked for
  uint64_t opVisits = 0; ///< by all passes, see the cost law
};

/// Folders in which `use std.x` is looked for: `-I`, `STG_PATH`, the installation's, the build's.
std::vector<std::string> librarySearchPath(const CompileOptions &options);

/// A session: owns sources and syntax trees of what it compiled.
class Compilation {
public:
  explicit Compilation(CompileOptions options)
      : options_(std::move(options)), diags_(sources_),
        loader_(sources_, context_, diags_, librarySearchPath(options_)) {}

  /// Loads, and checks every declaration and plan of the file and of the files it uses by path.
  const Module *load(llvm::StringRef path);
  /// Compiles the workloads asked for; the ones without errors.
  std::vector<CompiledWorkload> compile(const Module &module);
  /// The same for all workloads, keeping nothing.
  void check(const Module &module);

  /// A selector from the command line, `blocks[7].attn.q`; messages call its place `option`.
  std::optional<ast::Selector> parsePath(llvm::StringRef text, llvm::StringRef option);

  /// What `--hbm` says, in bytes; nothing without it, or after an error.
  std::optional<int64_t> memoryLimit();

  SourceManager &sources() { return sources_; }
  Diagnostics &diags() { return diags_; }

private:
  std::vector<CommandLineSetting> parseSettings();
  /// Warns if `program` needs more memory than a rank has.
  void checkMemory(const Program &program, const WorkloadSource &source);

  CompileOptions options_;
  SourceManager sources_;
  ast::ASTContext context_;
  Diagnostics diags_;
  ModuleLoader loader_;
  std::optional<int64_t> memoryLimit_;
  bool hasReadLimit_ = false;
};

} // namespace stg

#endif
