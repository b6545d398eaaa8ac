//===- MemoryFactsTest.cpp - activations of published configurations ---------===//
// Korthikanti et al. 2022 (arXiv 2205.05198), Table 2: bytes that a layer keeps for its backward on each device, for
// GPT with dropout and attention whose scores are in memory. And what ranks of a pipeline hold under published
// schedules (section 4.2.3 there; Qi et al. 2024, arXiv 2401.10241, Table 2).
#include "CompiledText.h"
#include "stg/Analysis/Cost.h"
#include "stg/Analysis/Memory.h"

namespace stg {
namespace {

int64_t movingBytes(const MemoryBytes &bytes) {
  int64_t sum = 0;
  for (size_t i = 0; i < kMemoryKinds; ++i)
    if (!isKept(static_cast<MemoryKind>(i)))
      sum += bytes.of[i];
  return sum;
}

//===----------------------------------------------------------------------===//
// One layer
//===----------------------------------------------------------------------===//

struct Sizes {
  const char *name;
  int64_t b, h, a;
};

/// Table 3, with s = 2048 and t = 8.
constexpr int64_t kSequence = 2048, kTensorRanks = 8;
const Sizes kModels[] = {{"22B", 4, 6144, 64}, {"175B", 1, 12288, 96}, {"530B", 1, 20480, 128}, {"1T", 1, 25600, 160}};

struct Scheme {
  const char *name;
  int64_t tensorRanks;
  const char *rules; ///< of the plan, besides `split H, F, V over tp`
  /// What the table says, in bytes; a quotient by t is exact for all models.
  int64_t (*bytes)(int64_t s, int64_t b, int64_t h, int64_t a, int64_t t);
  /// What it leaves out: each of the two norms keeps a number of two bytes per row, for its standard deviation.
  int64_t (*rows)(int64_t s, int64_t b, int64_t t);
  /// Of the table for the four models.
  int64_t printed[4];
};

int64_t normRows(int64_t s, int64_t b, int64_t) { return 2 * 2 * s * b; }
int64_t normRowsSplit(int64_t s, int64_t b, int64_t t) { return 2 * 2 * s * b / t; }
int64_t noRows(int64_t, int64_t, int64_t) { return 0; }

const Scheme kSchemes[] = {
    {"no_parallel",
     1,
     "",
     [](int64_t s, int64_t b, int64_t h, int64_t a, int64_t) { return s * b * h * 34 + 5 * a * s * s * b; },
     normRows,
     {7'079'985'152, 2'868'903'936, 4'110'417'920, 5'138'022'400}},
    {"tp",
     kTensorRanks,
     "",
     [](int64_t s, int64_t b, int64_t h, int64_t a, int64_t t) {
       return s * b * h * 10 + (s * b * h * 24 + 5 * a * s * s * b) / t;
     },
     normRows,
     {1'325'400'064, 578'813'952, 880'803'840, 1'101'004'800}},
    {"tp_sp",
     kTensorRanks,
     "split S over tp",
     [](int64_t s, int64_t b, int64_t h, int64_t a, int64_t t) { return (s * b * h * 34 + 5 * a * s * s * b) / t; },
     normRowsSplit,
     {884'998'144, 358'612'992, 513'802'240, 642'252'800}},
    {"tp_selective",
     kTensorRanks,
     "recompute attend.score, attend.weights, attend.left",
     [](int64_t s, int64_t b, int64_t h, int64_t, int64_t t) { return s * b * h * 10 + s * b * h * 24 / t; },
     normRows,
     {654'311'424, 327'155'712, 545'259'520, 681'574'400}},
    {"tp_sp_selective",
     kTensorRanks,
     "split S over tp\n  recompute attend.score, attend.weights, attend.left",
     [](int64_t s, int64_t b, int64_t h, int64_t, int64_t t) { return s * b * h * 34 / t; },
     normRowsSplit,
     {213'909'504, 106'954'752, 178'257'920, 222'822'400}},
    {"full_recompute",
     kTensorRanks,
     "recompute blocks",
     [](int64_t s, int64_t b, int64_t h, int64_t, int64_t) { return 2 * s * b * h; },
     noRows,
     {100'663'296, 50'331'648, 83'886'080, 104'857'600}},
};

std::string gptText(const Sizes &model, const std::string &plan, int64_t ranks, bool isFused = false) {
  return "use models.gpt3.{gpt3_175b}\nuse plans.megatron.{megatron}\nuse std.optim.{adamw}\n"
         "plan own {\n  mesh tp = *\n  split H, F, V over tp\n" +
         (plan.starts_with("megatron") ? "" : "  " + plan + "\n") +
         "}\nworkload w {\n  model gpt3_175b(L = 4, V = 51200, S = " + std::to_string(kSequence) +
         ", B = " + std::to_string(model.b) + ", D = " + std::to_string(model.h) + ", H = " + std::to_string(model.a) +
         ", Dh = " + std::to_string(model.h / model.a) + ", drop = 0.1, fused = " + (isFused ? "true" : "false") +
         ")\n  plan " + (plan.starts_with("megatron") ? plan : "own") + "\n  ranks " + std::to_string(ranks) +
         "\n  train { optimizer = adamw }\n}\n";
}

/// What the forward of the third block adds to what the one before it left.
int64_t activationsOfLayer(const Program &program) {
  PassStats stats;
  std::optional<MemoryOverTime> memory = MemoryOverTime::create(program, stats);
  if (!memory)
    return -1;
  int64_t before = 0;
  for (const MemoryPoint &point : memory->curve(0)) {
    std::string unit = program.unitPath(program.units[point.unit.index]);
    if (unit == "blocks[1]")
      before = point.alive[MemoryKind::Activations];
    if (unit == "blocks[2]")
      return point.alive[MemoryKind::Activations] - before;
  }
  return -1;
}

void PrintTo(const Scheme &scheme, std::ostream *os) { *os << scheme.name; }

class LayerActivations : public testing::TestWithParam<Scheme> {};

TEST_P(LayerActivations, AreThoseOfTheTable) {
  const Scheme &scheme = GetParam();
  for (size_t i = 0; i < std::size(kModels); ++i) {
    const Sizes &model = kModels[i];
    SCOPED_TRACE(model.name);
    int64_t bytes = scheme.bytes(kSequence, model.b, model.h, model.a, kTensorRanks);
    EXPECT_EQ(bytes, scheme.printed[i]);
    CompiledText compiled(gptText(model, scheme.rules, scheme.tensorRanks));
    if (!compiled.program)
      continue;
    EXPECT_EQ(activationsOfLayer(*compiled.program), bytes + scheme.rows(kSequence, model.b, kTensorRanks));
  }
}

INSTANTIATE_TEST_SUITE_P(Korthikanti, LayerActivations, testing::ValuesIn(kSchemes),
                         [](const testing::TestParamInfo<Scheme> &info) { return info.param.name; });

/// Bytes per rank of one layer's matrices, their gradients, master copies and moments.
int64_t statesOfLayer(const Program &program, int64_t h) {
  RankShare share(program);
  int64_t sum = 0;
  auto bytes = [&](const TensorType &type, const std::optional<Layout> &layout) {
    return *share.bytesOf(type, layout).size();
  };
  for (const Unit &unit : program.units) {
    if (program.unitPath(unit) != "blocks[2]")
      continue;
    const Body &body = program.body(unit);
    for (const WeightSlot &slot : body.weights) {
      if (*elementCount(slot.type, program.context->dims).size() < h * h)
        continue; // a bias or a norm
      sum += bytes(slot.type, slot.layout) + bytes({slot.gradient, slot.type.dims}, slot.buffer);
      std::string prefix = program.text(slot.name).str() + ".";
      for (const StateSlot &state : body.states)
        if (program.text(state.name).starts_with(prefix))
          sum += bytes(state.type, state.layout);
    }
  }
  return sum;
}

// Fig. 1, in GiB, in the digits of Calculon's transcription: 18 bytes for each of 12 L h^2 / (t p) parameters; and the
// activations of p stages in flight, L / p layers each, times 1 + (p - 1) / (p m) with m chunks. The rows of norms are
// left out there.
TEST(LayerActivation, AndStatesGiveTheBarsOfFigureOne) {
  struct Bars {
    int64_t layers, stages, chunks;
    double states, tensor, both;
  };
  const Bars bars[] = {{48, 1, 1, 45.5625, 59.25, 9.5625},
                       {96, 8, 3, 45.5625, 66.84375, 12.3515625},
                       {105, 35, 3, 31.640625, 114.0234375, 23.076171875},
                       {128, 64, 1, 32.958984375, 131.25, 26.5625}};
  constexpr double kGiB = 1 << 30;
  for (size_t i = 0; i < std::size(bars); ++i) {
    const Sizes &model = kModels[i];
    SCOPED_TRACE(model.name);
    auto layers = static_cast<double>(bars[i].layers), p = static_cast<double>(bars[i].stages);
    double inFlight = layers * (bars[i].chunks == 1 ? 1 : 1 + (p - 1) / (p * static_cast<double>(bars[i].chunks)));
    for (size_t scheme : {1, 4}) {
      CompiledText compiled(gptText(model, kSchemes[scheme].rules, kTensorRanks));
      ASSERT_TRUE(compiled.program);
      int64_t kept = activationsOfLayer(*compiled.program) - kSchemes[scheme].rows(kSequence, model.b, kTensorRanks);
      EXPECT_DOUBLE_EQ(static_cast<double>(kept) * inFlight / kGiB, scheme == 1 ? bars[i].tensor : bars[i].both);
      EXPECT_DOUBLE_EQ(static_cast<double>(statesOfLayer(*compiled.program, model.h)) * layers / p / kGiB,
                       bars[i].states);
    }
  }
}

// The masks of the scores are gone with them: 34 sbh / t, and a number of four bytes per row and head.
TEST(LayerActivation, FusedAttentionKeepsNoScores) {
  const Sizes &model = kModels[1];
  CompiledText compiled(gptText(model, "split S over tp", kTensorRanks, /*isFused=*/true));
  ASSERT_TRUE(compiled.program);
  int64_t s = kSequence, t = kTensorRanks;
  EXPECT_EQ(activationsOfLayer(*compiled.program),
            s * model.b * model.h * 34 / t + normRowsSplit(s, model.b, t) + 4 * s * model.b * model.a / t);
}

// With the whole core of attention named, what it gives is computed again too, as q, k and v are kept and all its steps
// run again anyway: 2 sbh / t less than in the table, which is Megatron-LM's way.
TEST(LayerActivation, OfSelectiveRecomputationAreLessThanTheTable) {
  for (const Sizes &model : kModels) {
    CompiledText compiled(
        gptText(model, "megatron(tp = 8, selective = true, micro = " + std::to_string(model.b) + ")", kTensorRanks));
    ASSERT_TRUE(compiled.program);
    int64_t s = kSequence, t = kTensorRanks;
    EXPECT_EQ(activationsOfLayer(*compiled.program), s * model.b * model.h * 32 / t + normRowsSplit(s, model.b, t));
  }
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

/// Behind each entry of a rank's list: what comes and goes.
std::vector<int64_t> behindSlots(const MemoryOverTime &memory, uint32_t rank) {
  std::vector<int64_t> behind;
  std::optional<Action> last;
  for (const MemoryPoint &point : memory.curve(rank)) {
    if (!point.action)
      continue;
    if (!last || !(*last == *point.action))
      behind.push_back(0);
    last = point.action;
    behind.back() = movingBytes(point.alive);
  }
  return behind;
}

std::string pipelineText(const std::string &schedule, int layers) {
  return "use models.gpt3.{gpt3_125m}\nuse std.optim.{adamw}\nplan p {\n  mesh pp = 4\n  microbatch 1\n"
         "  pipeline over pp { schedule " +
         schedule + " }\n}\nworkload w {\n  model gpt3_125m(L = " + std::to_string(layers) +
         ", D = 32, H = 4, Dh = 8, V = 64, S = 32, B = 8, fused = false, drop = 0.1)\n  plan p\n  ranks 4\n  train { "
         "optimizer = adamw }\n}\n";
}

struct ScheduleMemory {
  std::optional<Program> program;
  std::vector<std::vector<int64_t>> behind; ///< by rank
};

ScheduleMemory memoryOf(const std::string &schedule, int layers) {
  CompiledText compiled(pipelineText(schedule, layers));
  ScheduleMemory result;
  if (!compiled.program)
    return result;
  PassStats stats;
  std::optional<MemoryOverTime> memory = MemoryOverTime::create(*compiled.program, stats);
  for (uint32_t rank = 0; memory && rank < 4; ++rank)
    result.behind.push_back(behindSlots(*memory, rank));
  result.program = std::move(compiled.program);
  return result;
}

// Each rank has the activations of p - i + 1 micro-batches at its fullest; GPipe has all.
TEST(PipelineActivations, OfOneForwardOneBackwardAndGpipe) {
  for (bool isGpipe : {false, true}) {
    ScheduleMemory memory = memoryOf(isGpipe ? "gpipe" : "1f1b", 10);
    ASSERT_EQ(memory.behind.size(), 4u);
    for (uint32_t rank = 0; rank < 3; ++rank) {
      const std::vector<int64_t> &behind = memory.behind[rank];
      EXPECT_EQ(*std::max_element(behind.begin(), behind.end()), behind.front() * (isGpipe ? 8 : 4 - rank));
    }
  }
}

// p v + p - 1 - 2 (i - 1) chunks on rank i, each 1 / v of the layers: on the first rank 1 + (p - 1) / (p v) times as
// much as without chunks.
TEST(PipelineActivations, OfInterleavedChunks) {
  ScheduleMemory memory = memoryOf("interleaved_1f1b(chunks = 2)", 14), plain = memoryOf("1f1b", 14);
  ASSERT_EQ(memory.behind.size(), 4u);
  const int64_t chunks[] = {11, 9, 7, 5};
  for (uint32_t rank = 1; rank < 3; ++rank) {
    const std::vector<int64_t> &behind = memory.behind[rank];
    EXPECT_EQ(*std::max_element(behind.begin(), behind.end()), behind.front() * chunks[rank]);
    EXPECT_EQ(2 * behind.front(), plain.behind[rank].front());
  }
}

/// What a rank of a split backward has at its fullest: micro-batches (of one chunk) before their input gradient, and
/// micro-batches between that and their weight gradient.
struct SplitPeak {
  int64_t wholes = 0, halves = 0;
  int64_t whole = 0, half = 0; ///< bytes of one of each
  int64_t mostWholes = 0, bytes = 0;
};

/// Holds the memory behind each action against the actions alone: a forward adds `whole`, an input gradient makes
/// `half` of it, a weight gradient ends it. `messages`: bytes that may wait for their action, or for that of another;
/// then `half` is to be given.
SplitPeak splitPeakOf(const ScheduleMemory &memory, uint32_t rank, int64_t messages = 0, int64_t half = 0) {
  SplitPeak peak;
  peak.half = half;
  const std::vector<int64_t> &behind = memory.behind[rank];
  const ActionList &list = memory.program->pipeline->lists[rank];
  EXPECT_EQ(behind.size(), list.size());
  peak.whole = behind.front();
  int64_t wholes = 0, halves = 0;
  for (size_t i = 0; i < list.size(); ++i) {
    ActionKind kind = list[i].action.kind;
    wholes += kind == ActionKind::Forward ? 1 : kind == ActionKind::WeightGrad ? 0 : -1;
    halves += kind == ActionKind::InputGrad ? 1 : kind == ActionKind::WeightGrad ? -1 : 0;
    if (peak.half == 0 && halves == 1)
      peak.half = behind[i] - wholes * peak.whole;
    EXPECT_NEAR(behind[i], wholes * peak.whole + halves * peak.half, messages) << "rank " << rank << ", action " << i;
    peak.mostWholes = std::max(peak.mostWholes, wholes);
    if (behind[i] > peak.bytes) {
      peak.bytes = behind[i];
      peak.wholes = wholes;
      peak.halves = halves;
    }
  }
  return peak;
}

/// Of layers, between input and weight gradient: 32 sbh for the products, as the paper says; and 8 sbh and a number per
/// row for the norms.
int64_t halfOf(int64_t layers) { return layers * (40 * 32 * 32 + 4 * 32); }

// Qi et al. 2024, Table 2: ZB-H1 has (p - i + 1) M_B + (i - 1) M_W on rank i, ZB-H2 (2p - 2i + 1) M_B + (2i - 2) M_W.
// On the first stage that is p and 2p - 1 times M_B, with what the embedding keeps.
TEST(PipelineActivations, OfZeroBubbles) {
  for (bool isH2 : {false, true}) {
    ScheduleMemory memory = memoryOf(isH2 ? "zb_h2" : "zb_h1", 10);
    ASSERT_EQ(memory.behind.size(), 4u);
    for (int64_t rank = 0; rank < 3; ++rank) {
      SplitPeak peak = splitPeakOf(memory, static_cast<uint32_t>(rank));
      EXPECT_EQ(peak.wholes, isH2 ? 7 - 2 * rank : 4 - rank);
      EXPECT_EQ(peak.mostWholes, peak.wholes);
      EXPECT_EQ(peak.halves, isH2 ? 2 * rank : rank);
      if (rank > 0) {
        EXPECT_EQ(peak.half, halfOf(3));
      }
    }
  }
}

// ZB-V (Qi et al. 2024, "Pipeline Parallelism with Controllable Memory"): p M_B on every rank, as 2p chunks of half the
// layers, where 1F1B has p M_B on the first only.
TEST(PipelineActivations, OfZeroBubbleV) {
  ScheduleMemory memory = memoryOf("zb_v", 14), plain = memoryOf("1f1b", 14);
  ASSERT_EQ(memory.behind.size(), 4u);
  constexpr int64_t kMessages = 2 * 32 * 32 * 2; // two of s h elements
  for (uint32_t rank = 1; rank < 3; ++rank) {
    SplitPeak peak = splitPeakOf(memory, rank, kMessages, halfOf(2));
    EXPECT_EQ(peak.mostWholes, 8);
    EXPECT_NEAR(peak.bytes, 8 * peak.whole, kMessages);
    EXPECT_EQ(2 * peak.whole, plain.behind[rank].front());
  }
}

//===----------------------------------------------------------------------===//
// The cost law
//===----------------------------------------------------------------------===//

TEST(MemoryOverTime, LooksAtAnOpOncePerBody) {
  std::vector<uint64_t> visits;
  for (int layers : {10, 34}) {
    CompiledText compiled(pipelineText("1f1b", layers));
    ASSERT_TRUE(compiled.program);
    PassStats stats;
    ASSERT_TRUE(MemoryOverTime::create(*compiled.program, stats));
    visits.push_back(stats.opVisits);
  }
  EXPECT_GT(visits[0], 0u);
  EXPECT_EQ(visits[0], visits[1]);
}

} // namespace
} // namespace stg
