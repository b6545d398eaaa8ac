//===- PassManager.cpp - passes, their order, and running them --------------===//
#include "stg/Passes/PassManager.h"
#include "stg/Autodiff/Differentiate.h"
#include "stg/Memory/Offload.h"
#include "stg/Memory/Recompute.h"
#include "stg/Memory/ShardStorage.h"
#include "stg/Passes/Quantise.h"
#include "stg/Passes/Specialise.h"
#include "stg/Schedule/BuildSchedule.h"
#include "stg/Schedule/CheckSchedule.h"
#include "stg/Schedule/CutStages.h"
#include "stg/Shape/InferShapes.h"
#include "stg/Shape/VerifyTypes.h"
#include "stg/Sharding/AssignLayouts.h"
#include "stg/Sharding/ChooseAlgorithms.h"
#include "stg/Sharding/InsertCollectives.h"
#include "stg/Sharding/VerifyLayouts.h"
#include "stg/Support/InternalError.h"

namespace stg {

// `Source`, then the levels of Program.h in their order.
static_assert(static_cast<size_t>(PassLevel::Scheduled) == static_cast<size_t>(Level::Scheduled) + 1);

llvm::StringRef spelling(PassLevel level) {
  return level == PassLevel::Source ? "source" : spelling(static_cast<Level>(static_cast<size_t>(level) - 1));
}

PassLevel passLevel(Level level) { return static_cast<PassLevel>(static_cast<size_t>(level) + 1); }

std::optional<PassId> passFrom(llvm::StringRef name) {
  for (const PassInfo &info : kPasses)
    if (info.name == name)
      return info.id;
  return std::nullopt;
}

std::vector<Violation> verifyProgram(const Program &program) {
  std::vector<Violation> violations = verify(program);
  // The types of a program that is not whole cannot be asked for.
  if (violations.empty() && program.level >= Level::Typed)
    violations = verifyTypes(program);
  if (violations.empty() && program.level >= Level::Laid)
    violations = verifyLayouts(program);
  // A program that is not trained has no backward to check against.
  if (violations.empty() && program.level >= Level::Scheduled && program.pipeline && program.mode == Mode::Train)
    for (const ScheduleFault &fault :
         checkSchedule({.placement = program.pipeline->placement, .ranks = program.pipeline->lists}))
      violations.push_back({"pipeline", textOf(fault, program.pipeline->placement), {}});
  return violations;
}

void verifyAfter(llvm::StringRef pass, const Program &program) {
  std::vector<Violation> violations = verifyProgram(program);
  if (!violations.empty())
    internalError(pass, spelling(program.level), violations.front().op, violations.front().text);
}

namespace {

/// Refuses a pass that does not find its level, and names one that gives it.
Outcome refuse(const PassInfo &info, const Program &program, Diagnostics &diags) {
  std::string needs = info.needs == PassLevel::Source ? "a .stg file" : "level " + spelling(info.needs).str();
  DiagnosticBuilder report =
      diags.report(diag::PassNeedsLevel{.pass = info.name, .needs = needs, .level = spelling(program.level)});
  if (info.needs == PassLevel::Source)
    report.help("stgc runs it");
  for (const PassInfo &other : kPasses)
    if (other.gives == info.needs && other.needs == passLevel(program.level) && other.id != info.id)
      report.help("run `" + other.name.str() + "` first");
  return Outcome::Failed;
}

Outcome runPass(PassId id, Program &program, Diagnostics &diags, PassStats &stats) {
  switch (id) {
  case PassId::Elaborate:
    internalError("elaborate", "source", "", "starts from source, not from a program");
  case PassId::InferShapes:
    return inferShapes(program, diags, stats);
  case PassId::Specialise:
    specialise(program, stats);
    return Outcome::Done;
  case PassId::Differentiate:
    differentiate(program, stats);
    return Outcome::Done;
  case PassId::AssignLayouts:
    return assignLayouts(program, diags, stats);
  case PassId::InsertCollectives:
    return insertCollectives(program, stats);
  case PassId::ChooseAlgorithms:
    return chooseAlgorithms(program, diags, stats);
  case PassId::Quantise:
    quantise(program, stats);
    return Outcome::Done;
  case PassId::Recompute:
    recompute(program, diags, stats);
    return Outcome::Done;
  case PassId::CutStages:
    return cutStages(program, diags, stats);
  case PassId::BuildSchedule:
    return buildSchedule(program, diags);
  case PassId::ShardStorage:
    return shardStorage(program, diags, stats);
  case PassId::Offload:
    offload(program, stats);
    return Outcome::Done;
  }
  return Outcome::Failed;
}

} // namespace

Outcome runPasses(Program &program, llvm::ArrayRef<PassId> pipeline, Diagnostics &diags, std::vector<PassRun> *runs,
                  VerifyPasses verify) {
  for (PassId id : pipeline) {
    const PassInfo &info = passInfo(id);
    if (info.needs != passLevel(program.level))
      return refuse(info, program, diags);
    InternalErrorScope scope(info.name, spelling(program.level));
    PassRun run{id, {}, {}};
    auto start = std::chrono::steady_clock::now();
    Outcome outcome = runPass(id, program, diags, run.stats);
    run.time = std::chrono::steady_clock::now() - start;
    if (runs)
      runs->push_back(run);
    if (outcome == Outcome::Failed)
      return outcome;
    if (verify == VerifyPasses::AfterEach)
      verifyAfter(info.name, program);
  }
  return Outcome::Done;
}

} // namespace stg
