//===- PipelineTraceTest.cpp - every schedule's traces run to their end -----===//
// A small model with a tied embedding, through all passes: the checker of traces, which shares no code with what writes
// them, finds nothing and replays all ranks to their end, whether or not sends wait for their receives.
//===----------------------------------------------------------------------===//
#include "SourceDir.h"
#include "stg/Chakra/EmitProgram.h"
#include "stg/Chakra/TraceReader.h"
#include "stg/Driver/Compile.h"
#include "stg/Passes/PassManager.h"
#include "stg/Sema/Workload.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "stg/Trace/Unroll.h"
#include "gtest/gtest.h"
#include <map>

namespace stg {
namespace {

/// `layers` units between `first` and `last`; the batch is split over dp.
std::string textOf(uint32_t ranks, uint32_t dp, uint32_t layers) {
  return "stg 1\nuse std.loss.{xent}\nuse std.optim.{sgd}\n"
         "model tied(B = " +
         std::to_string(dp) + ", S = 4, D = 4, V = 8, L = " + std::to_string(layers) +
         ") {\n"
         "  input ids[B, S]: i32, target[B, S]: i32\n  weight wte[V, D]\n  x = lookup(ids, wte)\n"
         "  repeat L as blocks[i] {\n    weight w[D, E]\n    let E = D\n    x = x + (sum(D) x * w)[E as D]\n  }\n"
         "  z[B, S, V]: f32 = sum(D) x * wte\n  loss xent(z, target)\n}\n"
         "plan p {\n  mesh pp = " +
         std::to_string(ranks) + ", dp = " + std::to_string(dp) +
         "\n  split B over dp\n  pipeline over pp { schedule gpipe }\n}\n"
         "workload w {\n  model tied\n  plan p\n  ranks " +
         std::to_string(ranks * dp) + "\n  train { optimizer = sgd, clip = 1.0 }\n}\n";
}

/// A program up to the pass that cuts it into stages, whose rule then changes from test to test.
class Explicit {
public:
  Explicit(uint32_t ranks, uint32_t dp, uint32_t layers) {
    ModuleLoader loader{sources, context, diags, {kSourceDir + std::string("/stdlib")}};
    const Module *module = loader.loadBuffer(sources.addBuffer("test.stg", textOf(ranks, dp, layers)));
    std::vector<WorkloadSource> workloads = workloadsOf(*module);
    program = resolveWorkload(workloads.front(), {}, sources, diags).program;
    constexpr PassId kBefore[] = {PassId::InferShapes, PassId::Specialise, PassId::Differentiate, PassId::AssignLayouts,
                                  PassId::InsertCollectives};
    if (program && runPasses(*program, kBefore, diags) != Outcome::Done)
      program.reset();
    EXPECT_TRUE(program && !diags.hasErrors()) << messages();
  }

  std::string messages() const {
    std::string text;
    llvm::raw_string_ostream os(text);
    printDiagnostics(diags, os, {.colours = Colours::Never});
    return text;
  }

  SourceManager sources;
  ast::ASTContext context;
  Diagnostics diags{sources};
  std::optional<Program> program;
};

/// Nothing if the schedule cannot have these sizes.
std::optional<Program> scheduled(const Program &before, ScheduleKind kind, uint32_t chunks, uint32_t microBatches,
                                 Diagnostics &diags) {
  constexpr PassId kBehind[] = {PassId::CutStages, PassId::ShardStorage, PassId::BuildSchedule};
  Program program = before;
  program.plan.microBatches = microBatches;
  program.plan.pipeline->schedule = kind;
  program.plan.pipeline->chunks = std::nullopt;
  if (kind == ScheduleKind::Interleaved || kind == ScheduleKind::InterleavedZeroBubble)
    program.plan.pipeline->chunks = chunks;
  if (runPasses(program, kBehind, diags) != Outcome::Done)
    return std::nullopt;
  return program;
}

struct Verdict {
  std::map<std::string, uint64_t> findings;
  ReplayVerdict replay;
  std::vector<std::vector<std::string>> names; ///< by class
};

Verdict check(const Program &program, TraceTarget target = TraceTarget::AstraSim) {
  SourceManager sources;
  Diagnostics diags{sources};
  PassStats stats;
  ProcessGroups groups(program);
  auto unroller = Unroller::create(program, groups, {.target = target}, stats, diags);
  CheckOptions options{.target = target, .worldSize = static_cast<uint32_t>(program.mesh.ranks())};
  options.groups.emplace();
  for (const TraceGroup &group : groups.list())
    (*options.groups)[groupName(group.id, groups.digits())] = group.ranks;
  TraceFindings findings(diags, 5);
  TraceChecker checker(options, findings);
  TraceMetadata metadata = metadataOf(program, groups, "test");
  Verdict verdict;
  // The images of all classes, patched for each rank as the writer does.
  std::vector<NodeEncoder> images;
  for (uint32_t i = 0; i < unroller->classes(); ++i) {
    metadata.rank = firstRankOf(program, i);
    NodeEncoder &image = images.emplace_back(EncodeOptions{.groupDigits = groups.digits()}, metadata.rank);
    image.append(metadata);
    std::vector<std::string> &names = verdict.names.emplace_back();
    unroller->run(i, [&](const TraceNode &node) {
      image.append(node);
      names.push_back(node.name.str());
    });
  }
  for (metadata.rank = 0; metadata.rank < metadata.worldSize; ++metadata.rank) {
    const NodeEncoder &image = images[pipelineRankOf(program, metadata.rank)];
    bundle::FieldValues values(image.fields(), groups.formulas(), groups.digits());
    values.select(metadata.rank);
    std::string bytes = image.bytes().str();
    values.apply(image.patches(), bytes);
    EXPECT_TRUE(llvm::StringRef(bytes).starts_with(encodeMetadata(metadata)));
    TraceReader reader = TraceReader::fromBytes(bytes);
    checker.beginRank(metadata.rank, reader.metadata().has_value());
    DecodedNode node;
    while (reader.next(node))
      checker.node(node);
    checker.endRank(FileEnd::Clean, reader.offset());
  }
  checker.finish();
  verdict.findings = findings.counts();
  verdict.replay = checker.replay();
  return verdict;
}

/// Numbers of micro-batches for p ranks: all of p to 4p; in checked builds some, those that divide nothing among them.
std::vector<uint32_t> microBatches(uint32_t ranks) {
  std::vector<uint32_t> list;
#ifdef STG_CHECKED
  constexpr bool kAll = false;
#else
  constexpr bool kAll = true;
#endif
  for (uint32_t m = ranks; m <= 4 * ranks; ++m)
    if (kAll || ranks <= 3 || m == ranks || m == ranks + 1 || m == 2 * ranks || m == 3 * ranks - 1 ||
        (m == 4 * ranks && ranks <= 8))
      list.push_back(m);
  return list;
}

class PipelineTraces : public testing::TestWithParam<uint32_t> {};

TEST_P(PipelineTraces, RunToTheirEndInEverySchedule) {
  uint32_t ranks = GetParam();
  Explicit before(ranks, ranks <= 4 ? 2 : 1, 2 * ranks);
  ASSERT_TRUE(before.program);
  for (ScheduleKind kind : kScheduleKinds) {
    size_t run = 0;
    for (uint32_t m : microBatches(ranks)) {
      Diagnostics refusals(before.sources);
      std::optional<Program> program = scheduled(*before.program, kind, 2, m, refusals);
      if (!program)
        continue;
      ++run;
      Verdict verdict = check(*program);
      EXPECT_TRUE(verdict.findings.empty())
          << nameOf(kind).str() << " p " << ranks << " m " << m << ": " << verdict.findings.begin()->first;
      EXPECT_TRUE(verdict.replay.hasMessages);
      EXPECT_EQ(verdict.replay.eager, true) << nameOf(kind).str() << " p " << ranks << " m " << m;
    }
    bool isPossible = kind != ScheduleKind::DualPipe || ranks % 2 == 0;
    EXPECT_EQ(run > 0, isPossible) << nameOf(kind).str() << " p " << ranks;
  }
}

INSTANTIATE_TEST_SUITE_P(Ranks, PipelineTraces, testing::Values(2, 3, 4, 8, 16));

TEST(PipelineTrace, OrdersOfTheChakraTargetRunToo) {
  Explicit before(4, 2, 8);
  ASSERT_TRUE(before.program);
  for (ScheduleKind kind : kScheduleKinds) {
    std::optional<Program> program = scheduled(*before.program, kind, 2, 8, before.diags);
    ASSERT_TRUE(program) << before.messages();
    Verdict verdict = check(*program, TraceTarget::Chakra);
    EXPECT_TRUE(verdict.findings.empty()) << nameOf(kind).str();
    EXPECT_EQ(verdict.replay.eager, true) << nameOf(kind).str();
  }
}

/// The actions of a rank as its nodes tell them: `F0 F1 B0`, without the step.
std::string actionsIn(llvm::ArrayRef<std::string> names) {
  std::string text, last;
  for (llvm::StringRef name : names) {
    llvm::StringRef action = name.split(':').first;
    if (action == "S" || name.contains("/send") || name.contains("/recv") || action == last)
      continue;
    last = action.str();
    text += (text.empty() ? "" : " ") + last;
  }
  return text;
}

TEST(PipelineTrace, NodesStandInTheOrderOfTheSchedule) {
  Explicit before(2, 1, 4);
  ASSERT_TRUE(before.program);
  std::optional<Program> program = scheduled(*before.program, ScheduleKind::ZeroBubbleH1, 1, 4, before.diags);
  ASSERT_TRUE(program) << before.messages();
  Verdict verdict = check(*program);
  EXPECT_EQ(actionsIn(verdict.names[0]), "F0 F1 B0 W0 F2 B1 W1 F3 B2 W2 B3 W3");
}

TEST(PipelineTrace, AValueIsSentOnceWhereItIsMadeAndTheOrderIsTheSameAtBothEnds) {
  Explicit before(2, 1, 2);
  ASSERT_TRUE(before.program);
  std::optional<Program> program = scheduled(*before.program, ScheduleKind::OneForwardOneBackward, 1, 2, before.diags);
  ASSERT_TRUE(program) << before.messages();
  Verdict verdict = check(*program);
  auto messages = [&](uint32_t rankClass, llvm::StringRef what) {
    std::vector<std::string> list;
    for (const std::string &name : verdict.names[rankClass])
      if (llvm::StringRef(name).contains(what))
        list.push_back(name);
    return list;
  };
  EXPECT_EQ(messages(0, "/send"),
            (std::vector<std::string>{"F0:blocks[0].x'1/send(pp+1)", "F1:blocks[0].x'1/send(pp+1)"}));
  EXPECT_EQ(messages(1, "/recv"),
            (std::vector<std::string>{"F0:blocks[0].x'1/recv(pp-1)", "F1:blocks[0].x'1/recv(pp-1)"}));
  EXPECT_EQ(messages(1, "/send").size(), 2u);
  EXPECT_EQ(messages(0, "wte/all_reduce(pp[0+1])").size(), 1u);
  EXPECT_EQ(messages(1, "wte/all_reduce(pp[0+1])").size(), 1u);
}

TEST(PipelineTrace, BothCopiesOfDualPipeSumTheirGradients) {
  Explicit before(2, 1, 4);
  ASSERT_TRUE(before.program);
  std::optional<Program> program = scheduled(*before.program, ScheduleKind::DualPipe, 1, 4, before.diags);
  ASSERT_TRUE(program) << before.messages();
  Verdict verdict = check(*program);
  for (const std::vector<std::string> &names : verdict.names)
    EXPECT_EQ(llvm::count_if(names, [](llvm::StringRef name) { return name.contains("/all_reduce(pp[0+1])"); }),
              5); // each block, and the embedding
}

TEST(PipelineTrace, APipelineCostsAsManyOpVisitsForAnyNumberOfMicroBatchesAndRanks) {
  auto visits = [](uint32_t ranks, uint32_t dp, uint32_t layers, uint32_t m) {
    Explicit before(ranks, dp, layers);
    constexpr PassId kBehind[] = {PassId::CutStages, PassId::ShardStorage, PassId::BuildSchedule};
    Program program = *before.program;
    program.plan.microBatches = m;
    program.plan.pipeline->cut = StageCut::Balanced;
    std::vector<PassRun> runs;
    EXPECT_EQ(runPasses(program, kBehind, before.diags, &runs, VerifyPasses::Never), Outcome::Done);
    PassStats stats;
    for (const PassRun &run : runs)
      stats.opVisits += run.stats.opVisits;
    ProcessGroups groups(program);
    EXPECT_NE(Unroller::create(program, groups, {}, stats, before.diags), nullptr);
    return stats.opVisits;
  };
  uint64_t few = visits(4, 2, 16, 4);
  EXPECT_GT(few, 0u);
  EXPECT_EQ(visits(4, 2, 16, 64), few);
  EXPECT_EQ(visits(4, 2, 64, 4), few);
  EXPECT_EQ(visits(4, 64, 16, 4), few);
}

} // namespace
} // namespace stg
