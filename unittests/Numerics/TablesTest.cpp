//===- TablesTest.cpp - collectives of known plans, as executed --------------===//
// Llama, PaLM and GPT-3 blocks of the standard library, trained by the usual plans. Each row says which collectives a
// micro-batch executes per layer and outside the layers, and what the step adds up; and the numbers on ranks are those
// of one device. The counts are those of an independent numeric model of the language's layouts, which executed the
// same plans; where this compiler needs fewer, the row says why.
//===----------------------------------------------------------------------===//
#include "CollectiveCounts.h"
#include "SplitProgram.h"
#include "stg/IR/Printer.h"
#include "gtest/gtest.h"
#include <map>

namespace stg {
namespace {

using namespace test;

enum class Pass { Forward, Backward, Sync };

Pass passOf(Part part) {
  return part == Part::Sync || part == Part::Step ? Pass::Sync : isBackward(part) ? Pass::Backward : Pass::Forward;
}

/// Of the bodies of these units. A collective over several tensors counts once for each; the scalars of the step (loss,
/// norm) do not count.
std::string collectives(const Program &program, llvm::ArrayRef<llvm::StringRef> units, Pass pass) {
  CollectiveCounts counts;
  for (llvm::StringRef path : units)
    for (const Unit &unit : program.units) {
      if (program.unitPath(unit) != path)
        continue;
      const Body &body = program.body(unit);
      for (const Op &op : body.ops)
        if (const char *kind = shortName(op); kind && passOf(op.part) == pass)
          for (ValueId result : op.results)
            if (pass != Pass::Sync || !body.value(result).type->dims.empty())
              ++counts[std::string(kind) + "(" + namesOf(op.get<CollectiveFields>().atoms, program.mesh) + ")"];
    }
  return toText(counts);
}

struct Row {
  const char *name;
  const char *mesh;
  int ranks;
  std::string rules;
  int batchRanks; ///< that split B
  const char *forward, *backward, *step;
  const char *endsForward, *endsBackward, *endsStep;
};

constexpr const char *kUses = "use std.attention.{gqa, mha, mqa}\nuse std.ffn.{swiglu, mlp}\nuse std.moe.{moe}\nuse "
                              "std.norm.{rmsnorm, layernorm}\n"
                              "use std.loss.{xent}\nuse std.optim.{adamw}\n";
constexpr const char *kSizes = "B = 4, S = 16, D = 8, H = 8, KV = 4, Dh = 4, F = 8, V = 8, L = 2";

enum class Head { Untied, Tied };

std::string llama(const std::string &block, Head head = Head::Untied, const std::string &sizes = kSizes) {
  std::string last = head == Head::Tied ? "wte" : "head";
  return "model m(" + sizes + ") {\n  input ids[B, S]: i32, target[B, S]: i32\n  weight wte[V, D]" +
         (head == Head::Tied ? "" : ", head[V, D]") + "\n  x = lookup(ids, wte)\n  repeat L as blocks {\n" + block +
         "  }\n  n = norm: rmsnorm(x)\n  z[B, S, V]: f32 = sum(D) n * " + last + "\n  loss xent(z, target)\n}\n";
}
constexpr const char *kLlamaBlock = "    x = x + attn: gqa(norm1: rmsnorm(x); H, KV, Dh)\n"
                                    "    x = x + ffn: swiglu(norm2: rmsnorm(x); F)\n";
constexpr const char *kPalmBlock = "    n = norm1: rmsnorm(x)\n"
                                   "    x = x + attn: gqa(n; H, KV, Dh) + ffn: swiglu(n; F)\n";
constexpr const char *kGpt3 =
    "model m(B = 4, S = 16, D = 8, H = 4, Dh = 4, F = 8, V = 8, L = 2) {\n"
    "  input ids[B, S]: i32, target[B, S]: i32\n  weight wte[V, D], wpe[S, D]\n  x = lookup(ids, wte) + wpe\n"
    "  repeat L as blocks {\n    x = x + attn: mha(norm1: layernorm(x); H, Dh)\n"
    "    x = x + ffn: mlp(norm2: layernorm(x); F, bias = true)\n  }\n"
    "  n = norm: layernorm(x)\n  z[B, S, V]: f32 = sum(D) n * wte\n  loss xent(z, target)\n}\n";

SplitProgram splitBy(const std::string &model, const Row &row, int microBatches) {
  return splitProgram(kUses + model + "plan p {\n  mesh " + row.mesh + "\n" + row.rules + "  microbatch " +
                      std::to_string(4 / row.batchRanks) +
                      "\n}\nworkload w {\n  model m(B = " + std::to_string(4 * microBatches) + ")\n  plan p\n  ranks " +
                      std::to_string(row.ranks) + "\n  train { optimizer = adamw, clip = 0.01 }\n}\n");
}

void expectRow(const std::string &model, const Row &row) {
  SCOPED_TRACE(row.name);
  SplitProgram programs = splitBy(model, row, 2);
  ASSERT_TRUE(programs.split) << programs.messages;
  const Program &split = *programs.split;
  EXPECT_EQ(collectives(split, {"blocks[1]"}, Pass::Forward), row.forward);
  EXPECT_EQ(collectives(split, {"blocks[1]"}, Pass::Backward), row.backward);
  EXPECT_EQ(collectives(split, {"blocks[1]"}, Pass::Sync), row.step);
  EXPECT_EQ(collectives(split, {"first", "last"}, Pass::Forward), row.endsForward);
  EXPECT_EQ(collectives(split, {"first", "last"}, Pass::Backward), row.endsBackward);
  EXPECT_EQ(collectives(split, {"step"}, Pass::Sync), row.endsStep);
  interp::InterpInputs inputs;
  inputs.seed = 5;
  interp::RankComparison comparison = interp::compareRanks(*programs.whole, split, inputs);
  EXPECT_EQ(comparison.difference, "");
  EXPECT_EQ(comparison.onRanks.gradients.size(), comparison.onRanks.weights.size());
}

const std::string kB = "  split B over dp\n", kTp = "  split H or replicate, F, V over tp\n",
                  kSp = "  split S over tp\n", kCp = "  split S zigzag over cp\n", kX = "  split D over x\n",
                  kV = "  split V over tp\n";

// Under SP the backward pass of the ends has one all-gather less than the model's four: the model also gathers the
// cotangent of the picked logit, [B, S] in size, which is a constant here and so at hand in every layout.
TEST(Tables, Llama) {
  std::string model = llama(kLlamaBlock);
  expectRow(model, {"DP", "dp = 4", 4, kB, 4, "", "", "AR(dp) 9", "", "", "AR(dp) 3"});
  expectRow(model, {"TP", "dp = 2, tp = 2", 4, kB + kTp, 2, "AR(tp) 2", "AR(tp) 2", "AR(dp) 9",
                    "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1", "AR(dp) 3"});
  expectRow(model, {"TP+SP", "dp = 2, tp = 2", 4, kB + kTp + kSp, 2, "AG(tp) 2, RS(tp) 2", "AG(tp) 4, RS(tp) 2",
                    "AR(dp) 7, AR(dp*tp) 2", "AG(tp) 1, AR-max(tp) 1, RS(tp) 3", "AG(tp) 3, RS(tp) 1",
                    "AR(dp) 2, AR(dp*tp) 1"});
  expectRow(model, {"DP x CP zigzag", "dp = 2, cp = 2", 4, kB + kCp, 2, "AG(cp) 2", "AG(cp) 2, RS(cp) 2", "AR(dp*cp) 9",
                    "", "", "AR(dp*cp) 3"});
  expectRow(model,
            {"DP x CP x TP x SP", "dp = 2, cp = 2, tp = 2", 8, kB + kCp + kTp + kSp, 2, "AG(cp) 2, AG(tp) 2, RS(tp) 2",
             "AG(cp) 2, AG(tp) 4, RS(cp) 2, RS(tp) 2", "AR(dp*cp) 7, AR(dp*cp*tp) 2",
             "AG(tp) 1, AR-max(tp) 1, RS(tp) 3", "AG(tp) 3, RS(tp) 1", "AR(dp*cp) 2, AR(dp*cp*tp) 1"});
  expectRow(model,
            {"TP + split D over x", "dp = 2, x = 2, tp = 2", 8, kB + kTp + kX, 2, "AR(tp) 2, AR(x) 7",
             "AR(tp) 2, AR(x) 4", "AR(dp) 9", "AR(tp) 3, AR(x) 2, AR-max(tp) 1", "AR(tp) 1, AR(x) 1", "AR(dp) 3"});
  expectRow(model, {"V only", "dp = 2, tp = 2", 4, kB + kV, 2, "", "", "AR(dp) 9", "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1",
                    "AR(dp) 3"});
}

// A tensor counts once in each collective that carries it. Gradients go to their shards with each micro-batch, so they
// stand in the backward pass; the embedding's backward reads no weight.
TEST(Tables, Storage) {
  std::string model = llama(kLlamaBlock);
  const std::string kFsdp = "  zero 3 over dp { regather_last = true }\n";
  expectRow(model, {"ZeRO-1", "dp = 4", 4, kB + "  zero 1 over dp\n", 4, "", "", "AG(dp) 9, RS(dp) 9", "", "",
                    "AG(dp) 3, RS(dp) 3"});
  expectRow(model, {"ZeRO-2", "dp = 4", 4, kB + "  zero 2 over dp\n", 4, "", "RS(dp) 9", "AG(dp) 9", "", "RS(dp) 3",
                    "AG(dp) 3"});
  expectRow(model, {"ZeRO-2, once a step", "dp = 4", 4, kB + "  zero 2 over dp { sync = step }\n", 4, "", "",
                    "AG(dp) 9, RS(dp) 9", "", "", "AG(dp) 3, RS(dp) 3"});
  expectRow(model,
            {"ZeRO-1, gathered before the forward", "dp = 4", 4, kB + "  zero 1 over dp { gather = before_forward }\n",
             4, "AG(dp) 9", "", "RS(dp) 9", "AG(dp) 3", "", "RS(dp) 3"});
  expectRow(model, {"ZeRO-2 by all-reduce", "dp = 4", 4, kB + "  zero 2 over dp { reduce = all_reduce }\n", 4, "",
                    "AR(dp) 9", "AG(dp) 9", "", "AR(dp) 3", "AG(dp) 3"});
  expectRow(model, {"FSDP", "dp = 4", 4, kB + kFsdp, 4, "AG(dp) 9", "AG(dp) 9, RS(dp) 9", "", "AG(dp) 3",
                    "AG(dp) 2, RS(dp) 3", ""});
  expectRow(model, {"FSDP, the last unit stays", "dp = 4", 4, kB + "  zero 3 over dp\n", 4, "AG(dp) 9",
                    "AG(dp) 9, RS(dp) 9", "", "AG(dp) 3", "RS(dp) 3", ""});
  expectRow(model, {"FSDP, no regather", "dp = 4", 4, kB + "  zero 3 over dp { regather = false }\n", 4, "AG(dp) 9",
                    "RS(dp) 9", "", "AG(dp) 3", "RS(dp) 3", ""});
  expectRow(model, {"FSDP, unread weights too", "dp = 4", 4,
                    kB + "  zero 3 over dp { regather_last = true, gather_unread = true }\n", 4, "AG(dp) 9",
                    "AG(dp) 9, RS(dp) 9", "", "AG(dp) 3", "AG(dp) 3, RS(dp) 3", ""});
  expectRow(model, {"HSDP", "rep = 2, dp = 2", 4, "  split B over rep, dp\n" + kFsdp, 4, "AG(dp) 9",
                    "AG(dp) 9, RS(dp) 9", "AR(rep) 9", "AG(dp) 3", "AG(dp) 2, RS(dp) 3", "AR(rep) 3"});
  expectRow(model, {"FSDP+TP+SP", "dp = 2, tp = 2", 4, kB + kTp + kSp + kFsdp, 2, "AG(dp) 9, AG(tp) 2, RS(tp) 2",
                    "AG(dp) 9, AG(tp) 4, RS(dp) 9, RS(tp) 2", "AR(tp) 2", "AG(dp) 3, AG(tp) 1, AR-max(tp) 1, RS(tp) 3",
                    "AG(dp) 2, AG(tp) 3, RS(dp) 3, RS(tp) 1", "AR(tp) 1"});
  expectRow(model, {"FSDP over the ranks of a sequence", "dp = 2, cp = 2", 4,
                    kB + kCp + "  zero 3 over dp, cp { regather_last = true }\n", 2, "AG(cp) 2, AG(dp*cp) 9",
                    "AG(cp) 2, AG(dp*cp) 9, RS(cp) 2, RS(dp*cp) 9", "", "AG(dp*cp) 3", "AG(dp*cp) 2, RS(dp*cp) 3", ""});
}

// Two units gather and reduce it.
TEST(Tables, StorageOfATiedEmbedding) {
  expectRow(llama(kLlamaBlock, Head::Tied),
            {"FSDP", "dp = 4", 4, kB + "  zero 3 over dp { regather_last = true }\n", 4, "AG(dp) 9",
             "AG(dp) 9, RS(dp) 9", "", "AG(dp) 3", "AG(dp) 2, RS(dp) 3", ""});
}

// One weight less outside the layers, whose two gradients meet in one buffer.
TEST(Tables, TiedEmbedding) {
  std::string model = llama(kLlamaBlock, Head::Tied);
  expectRow(model, {"DP", "dp = 4", 4, kB, 4, "", "", "AR(dp) 9", "", "", "AR(dp) 2"});
  expectRow(model, {"TP+SP", "dp = 2, tp = 2", 4, kB + kTp + kSp, 2, "AG(tp) 2, RS(tp) 2", "AG(tp) 4, RS(tp) 2",
                    "AR(dp) 7, AR(dp*tp) 2", "AG(tp) 1, AR-max(tp) 1, RS(tp) 3", "AG(tp) 3, RS(tp) 1",
                    "AR(dp) 1, AR(dp*tp) 1"});
}

// Four times as many ranks as heads of keys and values: the axis is cut, and those heads are held by two ranks each.
TEST(Tables, MoreRanksThanHeads) {
  std::string model =
      llama(kLlamaBlock, Head::Untied, "B = 4, S = 8, D = 8, H = 8, KV = 2, Dh = 4, F = 8, V = 8, L = 2");
  expectRow(model, {"GQA tp > KV, TP", "tp = 4", 4, kTp, 1, "AR(tp'*tp'') 2", "AR(tp'') 2, AR(tp'*tp'') 2", "",
                    "AR(tp'*tp'') 3, AR-max(tp'*tp'') 1", "AR(tp'*tp'') 1", ""});
  expectRow(model,
            {"same + SP", "tp = 4", 4, kTp + kSp, 1, "AG(tp'*tp'') 2, RS(tp'*tp'') 2",
             "AG(tp'*tp'') 4, AR(tp'') 2, RS(tp'*tp'') 2", "AR(tp'*tp'') 2",
             "AG(tp'*tp'') 1, AR-max(tp'*tp'') 1, RS(tp'*tp'') 3", "AG(tp'*tp'') 3, RS(tp'*tp'') 1", "AR(tp'*tp'') 1"});
}

// Under SP the backward pass of a layer has one all-gather less than the model's three: the cotangent of the block is
// one value here, gathered once for attention and feed-forward; the model has one for each.
TEST(Tables, Palm) {
  std::string model = llama(kPalmBlock);
  expectRow(model, {"PaLM TP", "dp = 2, tp = 2", 4, kB + kTp, 2, "AR(tp) 1", "AR(tp) 1", "AR(dp) 8",
                    "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1", "AR(dp) 3"});
  expectRow(model, {"PaLM TP+SP", "dp = 2, tp = 2", 4, kB + kTp + kSp, 2, "AG(tp) 1, RS(tp) 1", "AG(tp) 2, RS(tp) 1",
                    "AR(dp) 7, AR(dp*tp) 1", "AG(tp) 1, AR-max(tp) 1, RS(tp) 3", "AG(tp) 3, RS(tp) 1",
                    "AR(dp) 2, AR(dp*tp) 1"});
}

// Every rank has the one head of keys and of values, and adds to the gradients of both: two sums more in the backward.
TEST(Tables, PalmWithOneHeadOfKeys) {
  std::string model =
      llama("    n = norm1: rmsnorm(x)\n    x = x + attn: mqa(n; H, Dh) + ffn: swiglu(n; F)\n", Head::Tied);
  expectRow(model, {"PaLM TP, MQA", "dp = 2, tp = 2", 4, kB + kTp, 2, "AR(tp) 1", "AR(tp) 3", "AR(dp) 8",
                    "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1", "AR(dp) 2"});
  expectRow(model, {"PaLM TP+SP, MQA", "dp = 2, tp = 2", 4, kB + kTp + kSp, 2, "AG(tp) 1, RS(tp) 1",
                    "AG(tp) 2, AR(tp) 2, RS(tp) 1", "AR(dp) 7, AR(dp*tp) 1", "AG(tp) 1, AR-max(tp) 1, RS(tp) 3",
                    "AG(tp) 3, RS(tp) 1", "AR(dp) 1, AR(dp*tp) 1"});
}

// Attention, a router, a shared expert and the routed ones: 13 weights. Experts are split over ranks that hold other
// tokens, which go to them and come back by all-to-all, in the backward too. Slots for all tokens: nothing drops.
TEST(Tables, Experts) {
  std::string model = llama("    x = x + attn: gqa(norm1: rmsnorm(x); H, KV, Dh)\n"
                            "    x = x + ffn: moe(norm2: rmsnorm(x); E = 4, top = 2, expert = swiglu(F), shared = "
                            "swiglu(F), slack = 2.0)\n");
  const std::string kEp = "  split E over ep in experts\n";
  expectRow(model, {"EP in DP", "dp = 4\n  fold expert over dp { edp = 2, ep = 2 }", 4, kEp + kB, 4, "A2A(dp'') 2",
                    "A2A(dp'') 2", "AR(dp') 3, AR(dp'*dp'') 10", "", "", "AR(dp'*dp'') 3"});
  const std::string kEtp = kEp + "  split F over etp in experts\n" + kB + kTp;
  const std::string kFolded = "dp = 2, tp = 2\n  fold expert over dp, tp { ep = 2, etp = 2 }";
  expectRow(model, {"ep = dp, etp = tp, SP", kFolded.c_str(), 4, kEtp + kSp, 2, "A2A(dp) 2, AG(tp) 3, RS(tp) 3",
                    "A2A(dp) 2, AG(tp) 6, RS(tp) 3", "AR(dp) 7, AR(dp*tp) 3", "AG(tp) 1, AR-max(tp) 1, RS(tp) 3",
                    "AG(tp) 3, RS(tp) 1", "AR(dp) 2, AR(dp*tp) 1"});
  expectRow(model, {"ep = dp, etp = tp", kFolded.c_str(), 4, kEtp, 2, "A2A(dp) 2, AR(tp) 3", "A2A(dp) 2, AR(tp) 3",
                    "AR(dp) 10", "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1", "AR(dp) 3"});
  expectRow(model, {"ep = cp*tp", "dp = 2, cp = 2, tp = 2\n  fold expert over cp, tp { ep = 4 }", 8,
                    kEp + "  keep F whole in experts\n" + kB + kCp + kTp + kSp, 2,
                    "A2A(cp*tp) 2, AG(cp) 2, AG(tp) 2, RS(tp) 2",
                    "A2A(cp*tp) 2, AG(cp) 2, AG(tp) 4, RS(cp) 2, RS(tp) 2", "AR(dp) 3, AR(dp*cp) 7, AR(dp*cp*tp) 3",
                    "AG(tp) 1, AR-max(tp) 1, RS(tp) 3", "AG(tp) 3, RS(tp) 1", "AR(dp*cp) 2, AR(dp*cp*tp) 1"});
}

// Ranks say first how many tokens come, scores go with the tokens. 66 slots over four ranks are 17 on each.
TEST(Tables, ExpertCounts) {
  auto model = [](const std::string &how) {
    return llama("    x = x + attn: gqa(norm1: rmsnorm(x); H, KV, Dh)\n"
                 "    x = x + ffn: moe(norm2: rmsnorm(x); E = 4, top = 2, expert = swiglu(F), slack = 2.05, " +
                 how + ")\n");
  };
  const std::string kRules = "  split E over ep in experts\n" + kB;
  const char *mesh = "dp = 4\n  fold expert over dp { edp = 2, ep = 2 }";
  expectRow(model("counts = true"), {"torchtitan", mesh, 4, kRules, 4, "A2A(dp'') 3", "A2A(dp'') 2",
                                     "AR(dp') 3, AR(dp'*dp'') 7", "", "", "AR(dp'*dp'') 3"});
  expectRow(model("counts = true, all_counts = true, score_experts = true"),
            {"Megatron-LM", mesh, 4, kRules, 4, "A2A(dp'') 3, AG(dp'') 1", "A2A(dp'') 3", "AR(dp') 3, AR(dp'*dp'') 7",
             "", "", "AR(dp'*dp'') 3"});
}

// Two exchanges for q, k, v and two for what attention makes; K and V are one head group each.
TEST(Tables, Ulysses) {
  std::string model = llama(kLlamaBlock);
  expectRow(model, {"Ulysses + TP", "cp = 2, tp = 2", 4, "  split KV over cp in attend\n" + kTp + "  split S over cp\n",
                    1, "A2A(cp) 4, AR(tp) 2", "A2A(cp) 4, AR(tp) 2", "AR(cp) 9", "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1",
                    "AR(cp) 3"});
}

// 16 weights in a layer. Learned positions are split over cp as the sequence is, so their gradient is partial over dp
// alone.
TEST(Tables, Gpt3) {
  expectRow(kGpt3, {"GPT-3 DP", "dp = 4", 4, kB, 4, "", "", "AR(dp) 16", "", "", "AR(dp) 4"});
  expectRow(kGpt3, {"GPT-3 TP", "dp = 2, tp = 2", 4, kB + kTp, 2, "AR(tp) 2", "AR(tp) 2", "AR(dp) 16",
                    "AR(tp) 3, AR-max(tp) 1", "AR(tp) 1", "AR(dp) 4"});
  expectRow(kGpt3, {"GPT-3 TP+SP", "dp = 2, tp = 2", 4, kB + kTp + kSp, 2, "AG(tp) 2, RS(tp) 2", "AG(tp) 4, RS(tp) 2",
                    "AR(dp) 10, AR(dp*tp) 6", "AG(tp) 1, AR-max(tp) 1, RS(tp) 3", "AG(tp) 3, RS(tp) 1",
                    "AR(dp) 2, AR(dp*tp) 2"});
  expectRow(kGpt3,
            {"GPT-3 TP + D/x", "dp = 2, x = 2, tp = 2", 8, kB + kTp + kX, 2, "AR(tp) 2, AR(x) 8", "AR(tp) 2, AR(x) 6",
             "AR(dp) 16", "AR(tp) 3, AR(x) 3, AR-max(tp) 1", "AR(tp) 1, AR(x) 2", "AR(dp) 4"});
  expectRow(kGpt3, {"GPT-3 DP x CP zigzag", "dp = 2, cp = 2", 4, kB + kCp, 2, "AG(cp) 2", "AG(cp) 2, RS(cp) 2",
                    "AR(dp*cp) 16", "", "", "AR(dp) 1, AR(dp*cp) 3"});
}

/// `norm1.g norm2.g`: the weights of a body whose gradients the step adds up over these axes.
std::string summedOver(const Program &program, llvm::StringRef path, llvm::StringRef axes) {
  std::string names;
  for (const Unit &unit : program.units)
    if (program.unitPath(unit) == path)
      for (const WeightSlot &slot : program.body(unit).weights)
        if (slot.buffer && namesOf(slot.buffer->partialAtoms(), program.mesh) == axes)
          names += (names.empty() ? "" : " ") + program.text(slot.name).str();
  return names;
}

// A gradient is summed over the ranks that saw other tokens: dp x cp. Only where tp splits the sequence of what a
// weight works on, so for the gains of the norms under SP, over tp too; under plain TP those gradients are equal on all
// of tp.
TEST(Tables, GradientGroups) {
  Row row{"", "dp = 2, cp = 2, tp = 2", 8, kB + kCp + kTp, 2, "", "", "", "", "", ""};
  constexpr const char *kAll = "norm1.g attn.q.w attn.k.w attn.v.w attn.wo norm2.g ffn.w_gate ffn.w_up ffn.w_down";
  SplitProgram plain = splitBy(llama(kLlamaBlock), row, 1);
  ASSERT_TRUE(plain.split) << plain.messages;
  EXPECT_EQ(summedOver(*plain.split, "blocks[0]", "dp*cp"), kAll);
  EXPECT_EQ(summedOver(*plain.split, "step", "dp*cp"), "wte head norm.g");
  row.rules += kSp;
  SplitProgram sequence = splitBy(llama(kLlamaBlock), row, 1);
  ASSERT_TRUE(sequence.split) << sequence.messages;
  EXPECT_EQ(summedOver(*sequence.split, "blocks[0]", "dp*cp*tp"), "norm1.g norm2.g");
  EXPECT_EQ(summedOver(*sequence.split, "blocks[0]", "dp*cp"),
            "attn.q.w attn.k.w attn.v.w attn.wo ffn.w_gate ffn.w_up ffn.w_down");
  EXPECT_EQ(summedOver(*sequence.split, "step", "dp*cp*tp"), "norm.g");
  EXPECT_EQ(summedOver(*sequence.split, "step", "dp*cp"), "wte head");
}

} // namespace
} // namespace stg
