//===- EmitProgram.h - programs as Chakra traces -----------------------------===//
// Unrolls and encodes once for each class of ranks, and hands the image of the class
// to what writes a directory of files, or a bundle.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/Encoder.h"
#include "stg/Chakra/TraceDirectory.h"
#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/ProcessGroups.h"

namespace stg {

/// A file for each rank, or all in one (Bundle/Bundle.h).
enum class EmitForm : uint8_t { Directory, Bundle };

struct EmitOptions {
  EmitForm form = EmitForm::Directory;
  /// The directory, replaced as a whole if it holds an earlier trace set; or the bundle.
  std::string output;
  /// Files are `<prefix>.<rank>.et`.
  std::string prefix;
  Annotate annotate = Annotate::Basic;
  OrderDeps orderDeps = OrderDeps::Ctrl;
  /// Of a directory.
  DirectoryOptions directory = {};
  TraceTarget target = TraceTarget::AstraSim;
  std::string compilerVersion;
  /// Threads that encode and write; 0: as many as the machine has. No byte depends on it.
  unsigned threads = 0;
};

/// Of the ranks of a class that were written: each has as many nodes, and bytes in its file before that is compressed.
struct EmittedClass {
  uint64_t ranks = 0;
  uint64_t nodesPerRank = 0;
  uint64_t bytesPerRank = 0;
};

struct EmitSummary {
  /// Those of which ranks were written.
  std::vector<EmittedClass> classes;
  uint64_t ranks() const;
};

/// One of several programs of an output.
struct TraceOutput {
  const Program *program;
  /// Below the directory; empty: the directory itself.
  std::string folder;
  std::string prefix;
  EmitSummary summary = {};
};

/// Writes all programs into one output, which appears when the last is complete. Programs are as unroll() needs them.
/// E751, E752, or E606 if the output cannot be written; nothing is left behind then. `options.prefix` is not
/// used.
Outcome emitPrograms(llvm::MutableArrayRef<TraceOutput> outputs, const EmitOptions &options, PassStats &stats,
                     Diagnostics &diags);

/// The same for one program, in the directory itself.
Outcome emitProgram(const Program &program, const EmitOptions &options, EmitSummary &summary, PassStats &stats,
                    Diagnostics &diags);

/// E613: `rank` is none of the trace's.
void reportMissingRank(uint32_t rank, llvm::StringRef trace, uint32_t worldSize, Diagnostics &diags);

/// The metadata of a program's traces, as rank 0 has it: `mesh` is `dp 2 x tp 4` or `one rank`, the hash that of the
/// program's text; `groups` are those of the program.
TraceMetadata metadataOf(const Program &program, const ProcessGroups &groups, llvm::StringRef compilerVersion);

} // namespace stg
