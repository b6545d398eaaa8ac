//===- StorageTest.cpp - what shards save and what they cost ----------------===//
// Figures of papers and frameworks: bytes and volumes of ZeRO (Rajbhandari et al. 2019, arXiv:1910.02054, figure 1 and
// section 7), and the collectives that FSDP2 issues for a model of L blocks (torchtitan, distributed/fsdp.py).
//===----------------------------------------------------------------------===//
#include "stg/Analysis/Storage.h"
#include "CollectiveCounts.h"
#include "RandomModel.h"
#include "RandomProgram.h"
#include "SplitProgram.h"
#include "stg/Analysis/Cost.h"
#include "gtest/gtest.h"
#include <random>
#include <set>

namespace stg {
namespace {

/// 75 layers of 10^8 parameters.
std::string zeroModel(const std::string &rule) {
  return "use std.optim.{adamw}\nmodel m(L = 75, B = 64, D = 6400, F = 15625) {\n  input x[B, D], t[B, D]\n"
         "  repeat L as blocks {\n    weight w[D, F]\n    y[B, F] = sum(D) x * w\n    x[B, D] = sum(F) y * w\n  }\n"
         "  loss sum(B, D) x * t\n}\n"
         "plan p {\n  mesh dp = 64\n  split B over dp\n  precision { grad = bf16 }\n" +
         rule + "}\nworkload w {\n  model m()\n  plan p\n  ranks 64\n  train { optimizer = adamw }\n}\n";
}

struct ZeroRow {
  const char *rule;
  double gigabytes; ///< of a device, as the paper prints it
  int64_t moved;    ///< elements per parameter and step, as the paper counts them
};

/// An all-reduce moves what a reduce-scatter and an all-gather move: each its elements once.
int64_t elementsMoved(const Program &program) {
  RankShare share(program);
  int64_t sum = 0;
  std::vector<BodyRuns> runs = runsPerBody(program, 0);
  for (uint32_t b = 0; b < program.bodies.size(); ++b)
    for (const Op &op : program.bodies[b].ops) {
      if (op.kind != OpKind::AllReduce && op.kind != OpKind::ReduceScatter && op.kind != OpKind::AllGather)
        continue;
      const std::vector<Value> &values = program.bodies[b].values;
      for (size_t i = 0; i < op.operands.size(); ++i) {
        ValueId whole = op.kind == OpKind::AllGather ? op.results[i] : op.operands[i];
        const Value &value = values[whole.index];
        if (value.type->dims.empty())
          continue; // the loss
        int64_t bytes = *share.bytesOf(value).size();
        sum += bytes * 8 / bitWidth(value.type->element) * runs[b].of(op.part) * (op.kind == OpKind::AllReduce ? 2 : 1);
      }
    }
  return sum;
}

// K = 12: f32 master weights and two moments; parameters and gradients of two bytes. N = 64.
TEST(Storage, BytesAndVolumesOfTheZeroPaper) {
  constexpr double kParameters = 7.5e9;
  const ZeroRow rows[] = {{"", 120, 2},
                          {"  zero 1 over dp\n", 31.40625, 2},
                          {"  zero 2 over dp\n", 16.640625, 2},
                          {"  zero 3 over dp { regather_last = true }\n", 1.875, 3}};
  for (const ZeroRow &row : rows) {
    SCOPED_TRACE(row.rule);
    SplitProgram programs = splitProgram(zeroModel(row.rule));
    ASSERT_TRUE(programs.split) << programs.messages;
    StoredBytes stored = storedBytes(*programs.split);
    double bytes = static_cast<double>(*(stored.weights + stored.gradients + stored.optimizer).size());
    EXPECT_DOUBLE_EQ(bytes / 1e9, row.gigabytes);
    EXPECT_EQ(elementsMoved(*programs.split), static_cast<int64_t>(kParameters) * row.moved);
  }
}

/// Collectives of a micro-batch, each op once for each unit.
int64_t countOf(const Program &program, OpKind kind, bool backward) {
  int64_t count = 0;
  for (const Unit &unit : program.units)
    for (const Op &op : program.body(unit).ops)
      count += op.kind == kind && !runsOncePerStep(op.part) && isBackward(op.part) == backward;
  return count;
}

// FSDP2 gathers each unit for the forward (embedding, L blocks, [norm, head]) and reduces each in the backward. It
// keeps the last unit, and gathers the embedding although its backward reads no weight.
TEST(Storage, CollectivesOfFsdp2) {
  for (int layers : {3, 5}) {
    for (bool gathersUnread : {false, true}) {
      std::string text =
          "use models.llama3.{llama3_8b}\nuse std.optim.{adamw}\n"
          "plan p {\n  mesh dp = 4\n  split B over dp\n  zero 3 over dp" +
          std::string(gathersUnread ? " { gather_unread = true }" : "") +
          "\n}\nworkload w {\n  model llama3_8b(B = 4, S = 8, D = 8, H = 4, KV = 2, F = 16, V = 12, L = " +
          std::to_string(layers) + ")\n  plan p\n  ranks 4\n  train { optimizer = adamw }\n}\n";
      SplitProgram programs = splitProgram(text);
      ASSERT_TRUE(programs.split) << programs.messages;
      EXPECT_EQ(countOf(*programs.split, OpKind::AllGather, false), layers + 2);
      EXPECT_EQ(countOf(*programs.split, OpKind::AllGather, true), layers + (gathersUnread ? 1 : 0));
      EXPECT_EQ(countOf(*programs.split, OpKind::ReduceScatter, true), layers + 2);
      EXPECT_EQ(countOf(*programs.split, OpKind::AllReduce, true), 0);
    }
  }
}

/// Types of what collectives over ranks that hold copies bring, of gradients and of weights, apart from the loss.
std::set<ElementType> communicated(const Program &program, OpKind kind) {
  std::set<ElementType> types;
  for (const Body &body : program.bodies)
    for (const Op &op : body.ops)
      if (op.kind == kind)
        for (ValueId value : op.operands)
          if (!body.value(value).type->dims.empty())
            types.insert(body.value(value).type->element);
  return types;
}

// Casts change no numbers here: what is checked is that nothing else changes, and that all that crosses ranks is cast.
TEST(Storage, CommunicatedInAnotherType) {
  const char *rules[] = {"",
                         "  zero 1 over dp\n",
                         "  zero 2 over dp\n",
                         "  zero 3 over dp\n",
                         "  zero 3 over dp { regather = false, sync = step }\n",
                         "  zero 1 over dp { gather = before_forward }\n",
                         "  zero 2 over dp { reduce = all_reduce }\n"};
  for (const char *rule : rules) {
    SCOPED_TRACE(rule);
    std::string text = "use models.llama3.{llama3_8b}\nuse std.optim.{adamw}\n"
                       "plan p {\n  mesh dp = 2\n  split B over dp\n  microbatch 1\n" +
                       std::string(rule) +
                       "  precision { grad = bf16, comm_grad = f32, comm_params = f8e4m3 }\n}\n"
                       "workload w {\n  model llama3_8b(B = 4, S = 8, D = 8, H = 4, KV = 2, F = 16, V = 12, L = 2)\n"
                       "  plan p\n  ranks 2\n  train { optimizer = adamw, clip = 0.01 }\n}\n";
    expectSame(text, 3);
    SplitProgram programs = splitProgram(text);
    ASSERT_TRUE(programs.split) << programs.messages;
    for (OpKind kind : {OpKind::AllReduce, OpKind::ReduceScatter}) {
      std::set<ElementType> types = communicated(*programs.split, kind);
      EXPECT_TRUE(types.empty() || types == std::set{ElementType::F32}) << mnemonic(kind).str();
    }
    std::set<ElementType> gathered = communicated(*programs.split, OpKind::AllGather);
    EXPECT_EQ(gathered, *rule ? std::set{ElementType::F8E4M3} : std::set<ElementType>());
  }
}

// No dim of 6, 10 or 3 elements is a multiple of 4: the one that grows least is rounded up.
TEST(Storage, WeightsThatRanksDoNotDivide) {
  std::string model = "use std.optim.{adamw}\nmodel m(B = 4, D = 6, F = 10, G = 3) {\n  input x[B, D], t[B, G]\n"
                      "  weight w[D, F], u[F, G], g[G]\n  y[B, F] = sum(D) x * w\n  z[B, G] = sum(F) y * u\n"
                      "  loss sum(B, G) z * g * t\n}\n";
  for (const char *rule : {"zero 1", "zero 2", "zero 3"}) {
    std::string text =
        model + "plan p {\n  mesh dp = 4\n  split B over dp\n  " + rule +
        " over dp\n}\nworkload w {\n  model m()\n  plan p\n  ranks 4\n  train { optimizer = adamw }\n}\n";
    expectSame(text, 3);
  }
  SplitProgram programs = splitProgram(model + "plan p {\n  mesh dp = 4\n  split B over dp\n  zero 3 over dp\n}\n"
                                               "workload w {\n  model m()\n  plan p\n  ranks 4\n"
                                               "  train { optimizer = adamw }\n}\n");
  ASSERT_TRUE(programs.split) << programs.messages;
  // 6 x 3 of w, 3 x 3 of u, 1 of g.
  EXPECT_EQ(*storedBytes(*programs.split).weights.size(), 2 * (18 + 9 + 1));
}

//===----------------------------------------------------------------------===//
// Random combinations
//===----------------------------------------------------------------------===//

/// One to three rules of a plan with this mesh line, over one or two of its axes.
std::string randomStorage(std::mt19937_64 &random, const RandomModel &model, llvm::StringRef mesh) {
  auto chance = [&](uint64_t percent) { return random() % 100 < percent; };
  std::vector<std::string> axes;
  for (const char *axis : {"p", "q", "r"})
    if (mesh.contains(std::string(" ") + axis + " ="))
      axes.push_back(axis);
  std::string rules;
  for (uint64_t i = 1 + random() % 2; i-- > 0;) {
    std::string over = axes[random() % axes.size()], other = axes[random() % axes.size()];
    rules += "  zero " + std::to_string(1 + random() % 3) + " over " + over + (other == over ? "" : ", " + other);
    if (chance(25) && !model.labels.empty())
      rules += " in " + model.labels[random() % model.labels.size()];
    std::string options;
    auto option = [&](uint64_t percent, const char *text) {
      if (chance(percent))
        options += (options.empty() ? " { " : ", ") + std::string(text);
    };
    option(30, "regather = false");
    option(30, "regather_last = true");
    option(30, "gather_unread = true");
    option(30, "unit = weight");
    option(25, "reduce = all_reduce");
    option(25, "gather = before_forward");
    option(50, chance(50) ? "sync = step" : "sync = micro_batch");
    rules += options + (options.empty() ? "" : " }") + "\n";
  }
  if (chance(40))
    rules += "  recompute " +
             (model.labels.empty() || chance(40) ? "all" : model.labels[random() % model.labels.size()]) + "\n";
  return rules;
}

// Stages, options, scopes, recompute and pipelines over whatever else the plan splits; what no rank has twice is
// refused.
TEST(StorageRandom, AStepHasTheNumbersOfOneDevice) {
#ifdef STG_CHECKED
  constexpr uint64_t kCount = 150;
#else
  constexpr uint64_t kCount = 300;
#endif
  uint64_t first = firstSeed(1), count = randomCount(kCount), ran = 0, inShards = 0;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    RandomModel model = randomModel(seed / 2);
    std::mt19937_64 random(seed);
    bool isCut = random() % 100 < 20;
    std::string text = model.text + randomPlan(seed, model, Rest::Replicate, isCut ? Cut::Always : Cut::Never);
    size_t mesh = text.find("plan p {\n  mesh ") + 9, end = text.find('\n', mesh) + 1;
    text.insert(end, randomStorage(random, model, llvm::StringRef(text).slice(mesh, end)));
    SplitProgram programs = splitProgram(text);
    if (!programs.split) {
      llvm::StringRef messages = programs.messages;
      EXPECT_TRUE(messages.contains("error[E3") || messages.contains("error[E409") || messages.contains("error[E506"))
          << "seed " << seed << ": " << programs.messages << text;
      continue;
    }
    interp::InterpInputs inputs;
    inputs.seed = seed;
    interp::RankComparison comparison = interp::compareRanks(*programs.whole, *programs.split, inputs);
    if (llvm::StringRef(comparison.difference).ends_with("is split unevenly, which is not run on ranks"))
      continue;
    EXPECT_EQ(comparison.difference, "") << "seed " << seed << "\n" << text;
    ++ran;
    for (const Body &body : programs.split->bodies)
      inShards += llvm::any_of(body.ops, [](const Op &op) {
        const auto *fields = std::get_if<CollectiveFields>(&op.fields);
        return fields && fields->isStorage;
      });
  }
  EXPECT_GT(ran, count / 4);
  EXPECT_GT(inShards, count / 2);
}

} // namespace
} // namespace stg
