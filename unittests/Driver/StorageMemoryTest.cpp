//===- StorageMemoryTest.cpp - what shards do to a rank's memory -------------===//
#include "CompiledText.h"
#include "stg/Analysis/Memory.h"

namespace stg {
namespace {

/// Largest peak of all ranks of a step, in bytes.
int64_t peakOf(const std::string &plan, int64_t ranks, int64_t batch) {
  CompiledText compiled(
      "use models.llama3.{llama3_8b}\nuse std.optim.{adamw}\nplan p {\n" + plan +
      "}\nworkload w {\n  model llama3_8b(L = 8, D = 64, H = 4, KV = 2, F = 128, V = 64, S = 4, B = " +
      std::to_string(batch) + ")\n  plan p\n  ranks " + std::to_string(ranks) + "\n  train { optimizer = adamw }\n}\n");
  if (!compiled.program)
    return 0;
  PassStats stats;
  std::optional<MemoryOverTime> memory = MemoryOverTime::create(*compiled.program, stats);
  int64_t most = 0;
  for (uint32_t rank = 0; memory && rank < memory->classes(); ++rank)
    most = std::max(most, memory->peak(rank)->bytes());
  return most;
}

// Each stage keeps what the one before keeps, and more of it in shards. Layers are many and activations small, so that
// two gathered layers do not outweigh them.
TEST(StorageMemory, PeakFallsFromStageToStage) {
  struct Case {
    std::string plan, axes;
    int64_t ranks, batch;
  };
  const Case cases[] = {
      {"  mesh dp = 4\n  split B over dp\n", "dp", 4, 4},
      {"  mesh dp = 4\n  split B over dp\n  microbatch 1\n", "dp", 4, 16},
      {"  mesh dp = 4, tp = 2\n  split B over dp\n  split H, F, V over tp\n  split S over tp\n", "dp", 8, 4},
      {"  mesh dp = 2, cp = 2\n  split B over dp\n  split S zigzag over cp\n", "dp, cp", 4, 2},
      {"  mesh pp = 2, dp = 4\n  split B over dp\n  microbatch 1\n  pipeline over pp { schedule 1f1b }\n", "dp", 8, 16},
      {"  mesh pp = 2, dp = 4\n  split B over dp\n  microbatch 1\n  pipeline over pp { schedule zb_h1 }\n", "dp", 8,
       16}};
  for (const Case &each : cases) {
    SCOPED_TRACE(each.plan);
    int64_t before = peakOf(each.plan, each.ranks, each.batch);
    for (int stage : {1, 2, 3}) {
      int64_t peak =
          peakOf(each.plan + "  zero " + std::to_string(stage) + " over " + each.axes + "\n", each.ranks, each.batch);
      EXPECT_LT(peak, before) << "zero " << stage;
      before = peak;
    }
  }
}

// Over more ranks there is less on each.
TEST(StorageMemory, PeakFallsWithTheRanks) {
  int64_t before = std::numeric_limits<int64_t>::max();
  for (int64_t ranks : {1, 2, 4, 8, 16}) {
    int64_t peak =
        peakOf("  mesh dp = " + std::to_string(ranks) + "\n  split B over dp\n  zero 3 over dp\n", ranks, ranks);
    EXPECT_LT(peak, before) << ranks;
    before = peak;
  }
}

} // namespace
} // namespace stg
