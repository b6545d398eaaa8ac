//===- PassManager.h - passes, their order, and running them ----------------===//
// Everything comes from Passes.def: the enumeration, the names of the command line, the check that the default pipeline
// is in order, and docs/generated/passes.md.
//===----------------------------------------------------------------------===//
#ifndef STG_PASSES_PASSMANAGER_H
#define STG_PASSES_PASSMANAGER_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Verifier.h"
#include "stg/Support/Diagnostics.h"
#include "stg/Support/Outcome.h"
#include <chrono>

namespace stg {

/// The levels of Program.h, and before them the source.
enum class PassLevel : uint8_t { Source, Elaborated, Typed, Differentiated, Laid, Explicit, Stored, Scheduled };
llvm::StringRef spelling(PassLevel level);
PassLevel passLevel(Level level);

enum class PassId : uint8_t {
#define PASS(name, ...) name,
#include "stg/Passes/Passes.def"
};

struct PassInfo {
  PassId id;
  llvm::StringLiteral name;
  PassLevel needs, gives;
  llvm::StringLiteral summary;
};

inline constexpr PassInfo kPasses[] = {
#define PASS(name, cli, needs, gives, summary) {PassId::name, cli, PassLevel::needs, PassLevel::gives, summary},
#include "stg/Passes/Passes.def"
};
constexpr const PassInfo &passInfo(PassId id) { return kPasses[static_cast<size_t>(id)]; }
std::optional<PassId> passFrom(llvm::StringRef name);

/// Whether every pass of the pipeline finds the level that it needs.
template <size_t count> constexpr bool wellOrdered(const PassId (&pipeline)[count], PassLevel start) {
  for (PassId id : pipeline) {
    if (passInfo(id).needs != start)
      return false;
    start = passInfo(id).gives;
  }
  return true;
}

/// What a compilation runs. Its first pass is Sema's.
inline constexpr PassId kDefaultPipeline[] = {
    PassId::Elaborate,     PassId::InferShapes,       PassId::Specialise,       PassId::Differentiate,
    PassId::AssignLayouts, PassId::InsertCollectives, PassId::ChooseAlgorithms, PassId::Quantise,
    PassId::Recompute,     PassId::CutStages,         PassId::ShardStorage,     PassId::Offload,
    PassId::BuildSchedule};
static_assert(wellOrdered(kDefaultPipeline, PassLevel::Source));

/// What one pass took.
struct PassRun {
  PassId pass;
  PassStats stats;
  std::chrono::nanoseconds time{0};
};

enum class VerifyPasses : uint8_t { Never, AfterEach };
/// Checked builds verify.
#ifdef STG_CHECKED
inline constexpr VerifyPasses kVerifyByDefault = VerifyPasses::AfterEach;
#else
inline constexpr VerifyPasses kVerifyByDefault = VerifyPasses::Never;
#endif

/// Runs the passes in order and stops at the first that fails. A pass that does not find its level is refused (E906);
/// nothing after it runs. A program that breaks a promise after a pass is our fault: internalError. `runs`, if given,
/// gets one entry per pass that ran.
Outcome runPasses(Program &program, llvm::ArrayRef<PassId> pipeline, Diagnostics &diags,
                  std::vector<PassRun> *runs = nullptr, VerifyPasses verify = kVerifyByDefault);

/// Structure (verify) and, from Typed on, types (verifyTypes).
std::vector<Violation> verifyProgram(const Program &program);
/// Throws internalError for the first violation, naming `pass`.
void verifyAfter(llvm::StringRef pass, const Program &program);

} // namespace stg

#endif
