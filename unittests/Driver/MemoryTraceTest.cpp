//===- MemoryTraceTest.cpp - memory over time against annotated traces ------===//
// The judge walks the annotated trace of a rank: it knows names and bytes of what nodes read and write, and nothing of
// bodies, units, schedules or lifetimes. A tensor comes into being with the first node that writes it and goes with the
// last node that reads it. What stands in memory all the time it knows from the program's declarations. Reductions of
// gradients and gathers of weights behind them run beside compute: of all states in which they can be while a node runs
// the fullest counts. That one has ended is known where compute reads what it brings, or says that it follows it.
#include "CompiledText.h"
#include "stg/Analysis/Memory.h"
#include "stg/Trace/Unroll.h"
#include <map>
#include <set>

namespace stg {
namespace {

//===----------------------------------------------------------------------===//
// The judge
//===----------------------------------------------------------------------===//

struct TracedNode {
  uint64_t id = 0;
  std::string name;
  bool isCompute = false;
  std::vector<uint64_t> after, follows; ///< all that it depends on; control dependencies
  std::vector<std::pair<std::string, uint64_t>> reads, writes;
};

std::vector<std::vector<TracedNode>> traceOf(const Program &program, Diagnostics &diags) {
  PassStats stats;
  ProcessGroups groups(program);
  UnrollOptions options;
  options.detail = UnrollDetail::Annotations;
  options.target = TraceTarget::Chakra; // for transfers to the host, which the other has not
  auto unroller = Unroller::create(program, groups, options, stats, diags);
  std::vector<std::vector<TracedNode>> classes(unroller->classes());
  for (uint32_t i = 0; i < classes.size(); ++i)
    unroller->run(i, [&](const TraceNode &node) {
      TracedNode &kept = classes[i].emplace_back();
      kept.id = node.id;
      kept.name = node.name.str();
      kept.isCompute = node.kind == TraceNodeKind::Compute;
      kept.follows.assign(node.ctrlDeps.begin(), node.ctrlDeps.end());
      kept.after = kept.follows;
      kept.after.insert(kept.after.end(), node.dataDeps.begin(), node.dataDeps.end());
      if (!node.annotations)
        return;
      for (const TraceTensor &tensor : node.annotations->inputs)
        kept.reads.push_back({tensor.name.str(), tensor.bytes});
      for (const TraceTensor &tensor : node.annotations->outputs)
        kept.writes.push_back({tensor.name.str(), tensor.bytes});
    });
  return classes;
}

/// Names of weights, gradient buffers, states, inputs and scalars: there before the step, and not to be written first.
std::set<std::string> namesOfKept(const Program &program) {
  std::set<std::string> names;
  auto addWeight = [&](const std::string &name) {
    names.insert(name);
    names.insert(name + ".grad");
  };
  for (const ProgramWeight &weight : program.weights)
    addWeight(program.text(weight.name).str());
  for (const ProgramState &state : program.states)
    names.insert(program.text(state.name).str());
  for (const ProgramInput &input : program.inputs)
    for (int64_t batch = 0; batch < std::max<int64_t>(program.plan.microBatches, 1); ++batch)
      names.insert(program.text(input.name).str() + (program.plan.microBatches > 1 ? "#" + std::to_string(batch) : ""));
  for (NameId scalar : program.scalars)
    names.insert(program.text(scalar).str());
  for (const Unit &unit : program.units) {
    std::string path = program.unitPath(unit);
    path += path.empty() ? "" : ".";
    for (const WeightSlot &slot : program.body(unit).weights)
      if (slot.owned)
        addWeight(path + program.text(slot.name).str());
    for (const StateSlot &slot : program.body(unit).states)
      if (slot.owned)
        names.insert(path + program.text(slot.name).str());
  }
  return names;
}

struct Judged {
  uint64_t peak = 0;
  size_t at = 0;
  std::vector<std::string> faults;
};

/// Collectives of storage run one after the other beside compute: reductions of gradients, and gathers of weights.
struct BesideCompute {
  std::vector<size_t> items;     ///< nodes, in their order
  std::map<size_t, size_t> of;   ///< by node: its item
  std::map<size_t, size_t> adds; ///< by node that adds what a reduction brings: the item of that
  std::vector<size_t> ended;     ///< by node: so many items have certainly ended when it begins
};

BesideCompute findBeside(const std::vector<TracedNode> &nodes) {
  BesideCompute beside;
  std::map<std::string, size_t> adders;
  for (size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].isCompute && nodes[i].name.ends_with("grad_shards"))
      for (const auto &read : nodes[i].reads)
        adders[read.first] = i;
  std::map<uint64_t, size_t> itemOfId, latestOfId; // counted from 1; latest: on which the node depends, however
  size_t ended = 0;
  bool reduces = false;
  for (size_t i = 0; i < nodes.size(); ++i) {
    const TracedNode &node = nodes[i];
    bool isReduction = !node.isCompute && !node.writes.empty() && adders.count(node.writes[0].first);
    bool isGather =
        !node.isCompute && !node.writes.empty() && node.writes[0].first.find(".gathered") != std::string::npos;
    size_t latest = 0;
    for (uint64_t other : node.after)
      latest = std::max(latest, latestOfId[other]);
    bool isStep = node.name.starts_with("S:");
    if (node.isCompute && !node.name.ends_with("grad_shards")) {
      for (uint64_t other : node.after)
        if (auto item = itemOfId.find(other); item != itemOfId.end())
          ended = std::max(ended, item->second);
      if (isStep)
        ended = std::max(ended, latest);
    }
    if (reduces |= isReduction; isReduction || (isGather && reduces && !isStep)) {
      beside.of[i] = beside.items.size();
      beside.items.push_back(i);
      latest = itemOfId[node.id] = beside.items.size();
      if (isReduction)
        beside.adds[adders[node.writes[0].first]] = beside.of[i];
    }
    latestOfId[node.id] = latest;
    beside.ended.push_back(ended);
  }
  return beside;
}

/// A tensor that a collective beside compute makes or reads last.
struct BesideTensor {
  uint64_t bytes = 0;
  size_t from = 0, to = 0;            ///< nodes
  std::optional<size_t> begins, ends; ///< items
  /// While `node` runs, the first `done` items have ended and the next one is at work.
  bool isAlive(size_t node, size_t done) const {
    return from <= node && (!begins || *begins <= done) && (ends ? *ends >= done : to >= node);
  }
};

Judged judge(const std::vector<TracedNode> &nodes, const std::set<std::string> &kept) {
  Judged result;
  auto fault = [&](const TracedNode &node, const std::string &text) {
    if (result.faults.size() < 5)
      result.faults.push_back(node.name + ": " + text);
  };
  std::map<std::string, size_t> lastReader, writer;
  std::map<std::string, uint64_t> size;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const auto *list : {&nodes[i].reads, &nodes[i].writes})
      for (const auto &[name, bytes] : *list)
        if (auto [entry, isNew] = size.try_emplace(name, bytes); !isNew && entry->second != bytes)
          fault(nodes[i], name + " has another size");
    for (const auto &[name, bytes] : nodes[i].reads) {
      if (!kept.count(name) && !writer.count(name))
        fault(nodes[i], name + " is read before it is written");
      lastReader[name] = i;
    }
    for (const auto &write : nodes[i].writes)
      // As ASTRA-sim's tracker has it: what is updated in place is no output.
      if (const std::string &name = write.first; kept.count(name))
        fault(nodes[i], name + " is there already");
      else if (!writer.try_emplace(name, i).second)
        fault(nodes[i], name + " is written twice");
  }
  BesideCompute beside = findBeside(nodes);
  std::vector<std::vector<std::string>> endsAt(nodes.size());
  std::map<std::string, BesideTensor> apart;
  for (const auto &[name, first] : writer) {
    size_t end = std::max(first, lastReader.count(name) ? lastReader[name] : first);
    BesideTensor tensor{size[name], first, end, std::nullopt, std::nullopt};
    if (auto item = beside.of.find(first); item != beside.of.end())
      tensor.begins = item->second;
    for (const auto *map : {&beside.of, &beside.adds})
      if (auto item = map->find(end); item != map->end())
        tensor.ends = item->second;
    if (tensor.begins || tensor.ends)
      apart[name] = tensor;
    else
      endsAt[end].push_back(name);
  }
  uint64_t live = 0;
  std::vector<BesideTensor> near;
  for (size_t i = 0, issued = 0; i < nodes.size(); ++i) {
    for (const auto &[name, bytes] : nodes[i].writes)
      if (auto tensor = apart.find(name); tensor != apart.end())
        near.push_back(tensor->second);
      else if (!kept.count(name) && writer[name] == i)
        live += bytes;
    issued += beside.of.count(i);
    std::erase_if(
        near, [&](const BesideTensor &tensor) { return tensor.ends ? *tensor.ends < beside.ended[i] : tensor.to < i; });
    uint64_t most = 0;
    for (size_t done = beside.ended[i]; done <= issued; ++done) {
      uint64_t sum = 0;
      for (const BesideTensor &tensor : near)
        sum += tensor.isAlive(i, done) ? tensor.bytes : 0;
      most = std::max(most, sum);
    }
    if (live + most > result.peak) {
      result.peak = live + most;
      result.at = i;
    }
    for (const std::string &name : endsAt[i])
      live -= size[name];
  }
  EXPECT_EQ(live, 0u);
  return result;
}

/// Activations, gathered weights, communication and temporaries.
int64_t movingBytes(const MemoryBytes &bytes) {
  int64_t sum = 0;
  for (size_t i = 0; i < kDeviceMemoryKinds; ++i)
    if (!isKept(static_cast<MemoryKind>(i)))
      sum += bytes.of[i];
  return sum;
}

void expectAgreement(const std::string &text) {
  CompiledText compiled(text);
  const std::optional<Program> &program = compiled.program;
  if (!program)
    return;
  PassStats stats;
  std::optional<MemoryOverTime> memory = MemoryOverTime::create(*program, stats);
  ASSERT_TRUE(memory);
  std::vector<std::vector<TracedNode>> classes = traceOf(*program, compiled.diags);
  std::set<std::string> kept = namesOfKept(*program);
  ASSERT_EQ(classes.size(), memory->classes());
  for (uint32_t i = 0; i < classes.size(); ++i) {
    Judged judged = judge(classes[i], kept);
    for (const std::string &fault : judged.faults)
      ADD_FAILURE() << "rank " << i << ": " << fault;
    std::optional<MemoryPeak> peak = memory->peak(i);
    ASSERT_TRUE(peak);
    EXPECT_EQ(movingBytes(peak->alive), static_cast<int64_t>(judged.peak))
        << "rank " << i << ": the trace's peak is at " << classes[i][judged.at].name << ", the analysis's at "
        << peak->when.node;
    if (!peak->when.node.empty()) {
      EXPECT_EQ(peak->when.node, classes[i][judged.at].name);
    }
    // The curve tells the same, ends empty but for what is kept, and is nowhere above the peak.
    std::vector<MemoryPoint> curve = memory->curve(i);
    ASSERT_FALSE(curve.empty());
    EXPECT_EQ(movingBytes(curve.back().alive), 0);
    int64_t most = 0;
    for (const MemoryPoint &point : curve)
      most = std::max(most, point.most);
    EXPECT_LE(most, peak->bytes());
    if (!peak->when.node.empty()) {
      EXPECT_EQ(most, peak->bytes());
    }
  }
}

//===----------------------------------------------------------------------===//
// Models and plans
//===----------------------------------------------------------------------===//

const std::string kUses = "use models.llama3.{llama3_8b}\nuse models.gpt3.{gpt3_125m}\nuse plans.megatron.{megatron}\n"
                          "use std.optim.{adamw}\nuse std.{attention, ffn, norm, loss}\n";

struct Case {
  std::string name, model, plan;
  int64_t ranks = 1;
  std::string declarations = {}, mode = "train { optimizer = adamw, clip = 1.0 }";
};

std::string textOf(const Case &test) {
  return kUses + test.declarations + "workload w {\n  model " + test.model + "\n" +
         (test.plan.empty() ? "" : "  plan " + test.plan + "\n") + "  ranks " + std::to_string(test.ranks) + "\n  " +
         test.mode + "\n}\n";
}

std::string llama(int64_t batch, int64_t layers = 4) {
  return "llama3_8b(L = " + std::to_string(layers) +
         ", D = 32, H = 4, KV = 2, F = 48, V = 64, S = 8, B = " + std::to_string(batch) + ")";
}
std::string gpt(int64_t batch, int64_t layers = 4) {
  return "gpt3_125m(L = " + std::to_string(layers) +
         ", D = 32, H = 4, Dh = 8, V = 64, S = 8, B = " + std::to_string(batch) + ")";
}

/// A pipeline on 2 ranks x tp 2, any schedule.
std::string pipelinePlan(const std::string &schedule) {
  return "plan pipe {\n  mesh pp = 2, dp = 2, tp = 2\n  split B over dp\n  split H? or replicate, F, V over tp\n"
         "  split S over tp\n  pipeline over pp { schedule " +
         schedule + " }\n  microbatch 1\n}\n";
}

/// Values that skip stages: every stage reads `x0` and `e`, two have a loss, and units hand values on.
const std::string kSkips = "model m(L = 4, B = 2, S = 2, D = 4, F = 4, V = 6) {\n"
                           "  input ids[B, S]: i32, target[B, S]: i32\n"
                           "  weight wte[V, D], head[V, D], gain[D]\n"
                           "  x0 = lookup(ids, wte)\n  x = x0\n  e = exp(x0 * 0.5)\n"
                           "  unit early {\n    x = x + ffn: mlp(norm1: layernorm(x); F)\n"
                           "    loss xent(sum(D) x * wte, target)\n  }\n"
                           "  repeat L as blocks {\n    x = x + ffn: swiglu(norm1: rmsnorm(x * e); F) + x0\n"
                           "    x = x * gain\n  }\n  loss xent(sum(D) (x + e) * head, target)\n}\n";

std::string wordOf(std::string text) {
  for (char &letter : text)
    letter = isalnum(static_cast<unsigned char>(letter)) ? letter : '_';
  return text;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (bool isLlama : {true, false}) {
    auto model = [&](int64_t batch, int64_t layers = 4) { return isLlama ? llama(batch, layers) : gpt(batch, layers); };
    std::string who = isLlama ? "llama" : "gpt";
    all.push_back({who + "_one", model(2), "", 1});
    for (int64_t m : {1, 4}) {
      std::string times = "_m" + std::to_string(m);
      all.push_back({who + "_dp" + times, model(2 * m), "megatron(tp = 1, sp = false)", 2});
      all.push_back({who + "_tp" + times, model(2 * m), "megatron(tp = 2, sp = false)", 4});
      all.push_back({who + "_tp_sp" + times, model(2 * m), "megatron(tp = 2)", 4});
      all.push_back({who + "_cp" + times, model(2 * m), "megatron(tp = 1, cp = 2)", 4});
    }
    for (const char *schedule :
         {"gpipe", "1f1b", "interleaved_1f1b(chunks = 2)", "zb_h1", "zb_h2", "zb_v", "dualpipe", "dualpipev"})
      for (int64_t m : {4, 8}) {
        all.push_back({wordOf(who + "_" + schedule + "_m" + std::to_string(m)), model(2 * m, 6), "pipe", 8,
                       pipelinePlan(schedule)});
      }
  }
  for (const char *schedule : {"1f1b", "interleaved_1f1b(chunks = 2)", "zb_h1", "zb_v", "dualpipev", "dualpipe"})
    all.push_back({wordOf(std::string("skips_") + schedule), "m(B = 16)", "pipe", 8, kSkips + pipelinePlan(schedule)});
  // What is stored in shards, with the weights gathered ahead or kept; and what is computed again.
  const char *kStorage[] = {"zero 1 over dp",
                            "zero 2 over dp",
                            "zero 3 over dp",
                            "zero 3 over dp { prefetch = 0 }",
                            "zero 3 over dp { prefetch = 2, regather_last = true }",
                            "zero 3 over dp { regather = false }",
                            "zero 3 over dp { unit = weight }",
                            "zero 1 over dp { gather = before_forward }",
                            "recompute all",
                            "recompute blocks[1..3]",
                            "recompute attend",
                            "zero 3 over dp\n  recompute blocks { early_stop = false }",
                            "recompute all { comm = keep }"};
  for (const char *rule : kStorage)
    for (const char *schedule : {"", "1f1b", "interleaved_1f1b(chunks = 2)", "zb_h1", "dualpipev", "dualpipe"})
      for (int64_t m : {1, 8}) {
        if (*schedule && m == 1)
          continue;
        std::string plan =
            "plan stored {\n  mesh pp = 2, dp = 2, tp = 2\n  split B over dp\n  split H or replicate, F, "
            "V over tp\n  split S over tp\n  microbatch 1\n  " +
            std::string(rule) + "\n";
        if (*schedule)
          plan += "  pipeline over pp { schedule " + std::string(schedule) + " }\n";
        else
          plan.replace(plan.find("pp = 2"), 6, "pp = 1");
        all.push_back({wordOf(std::string("stored_") + rule + "_" + schedule + "_m" + std::to_string(m)), gpt(2 * m, 6),
                       "stored", *schedule ? 8 : 4, plan + "}\n"});
      }
  // Blocks of keys that pass by.
  const std::string kZigzag = "  split S zigzag over cp\n  run attend as ring\n";
  for (int64_t m : {1, 4}) {
    std::string times = "_m" + std::to_string(m);
    for (const char *cp : {"2", "4"})
      all.push_back({std::string("ring") + cp + times, llama(2 * m), "p", std::stoi(cp),
                     "plan p {\n  mesh cp = " + std::string(cp) + "\n" + kZigzag + "  microbatch 2\n}\n"});
    all.push_back({"ring_tp" + times, llama(2 * m), "p", 4,
                   "plan p {\n  mesh cp = 2, tp = 2\n" + kZigzag +
                       "  split H, F, V over tp\n  split S over tp\n  microbatch 2\n}\n"});
    all.push_back({"ulysses_ring" + times, llama(2 * m), "p", 4,
                   "plan p {\n  mesh cp = 2, up = 2\n  split KV, R over up in attend\n  split S zigzag over cp, up\n"
                   "  run attend as ring\n  microbatch 2\n}\n"});
    all.push_back({"halo" + times, "window(B = " + std::to_string(2 * m) + ")", "p", 4,
                   "model window(L = 3, B = 2, S = 16, D = 32, H = 4, KV = 2, V = 8) {\n"
                   "  input ids[B, S]: i32, target[B, S]: i32\n  weight wte[V, D]\n  x = lookup(ids, wte)\n"
                   "  repeat L as blocks {\n    x = x + attn: gqa(norm1: rmsnorm(x); H, KV, sliding = 6)\n  }\n"
                   "  loss xent(sum(D) x * wte, target)\n}\n"
                   "plan p {\n  mesh cp = 4\n  split S over cp\n  run attend as halo\n  microbatch 2\n}\n"});
  }
  for (const char *schedule : {"1f1b", "zb_h1", "interleaved_1f1b(chunks = 2)", "dualpipev", "dualpipe"})
    all.push_back({wordOf(std::string("ring_") + schedule), llama(8), "p", 8,
                   "plan p {\n  mesh pp = 2, cp = 4\n" + kZigzag + "  pipeline over pp { schedule " + schedule +
                       " }\n  microbatch 2\n}\n"});
  for (const char *rule : {"recompute all", "recompute attend", "recompute all { comm = keep }"})
    all.push_back({wordOf(std::string("ring_") + rule), llama(4), "p", 4,
                   "plan p {\n  mesh cp = 4\n" + kZigzag + "  microbatch 2\n  " + rule + "\n}\n"});
  // Shards inside replicas.
  all.push_back({"hsdp", llama(8), "hybrid", 4,
                 "plan hybrid {\n  mesh rep = 2, shard = 2\n  split B over rep, shard\n  zero 3 over shard\n"
                 "  microbatch 1\n}\n"});
  // Nothing is loaded ahead: the analysis takes units one by one.
  const std::pair<std::string, std::string> offloads[] = {
      {"optimizer", "optimizer"}, {"weight", "weight"}, {"act", "act"}, {"offloads", "optimizer, weight, act"}};
  for (const auto &[name, what] : offloads) {
    std::string rules = "  offload " + what + " to host { prefetch = 0 }\n";
    all.push_back({name + "_dp", llama(4), "p", 2, "plan p {\n  mesh dp = 2\n  split B over dp\n" + rules + "}\n"});
    all.push_back({name + "_zero3", llama(4), "p", 2,
                   "plan p {\n  mesh dp = 2\n  split B over dp\n  zero 3 over dp { prefetch = 0 }\n" + rules + "}\n"});
    all.push_back({name + "_pipe", gpt(8), "p", 4,
                   "plan p {\n  mesh pp = 2, tp = 2\n  split H, F, V over tp\n" + rules +
                       "  pipeline over pp { schedule 1f1b }\n  microbatch 2\n}\n"});
  }
  for (const char *options : {"", " { prefetch = 0 }", " { regather = false, sync = step }"})
    all.push_back({std::string("comm_zero3_") + (*options == 0       ? "ahead"
                                                 : options[3] == 'p' ? "in_turn"
                                                                     : "held"),
                   llama(4), "p", 2,
                   "plan p {\n  mesh dp = 2\n  split B over dp\n  zero 3 over dp" + std::string(options) +
                       "\n  precision { weight = f32, comm_params = bf16, comm_grad = bf16 }\n  microbatch 1\n}\n"});
  const std::string kTensor = "plan tensor {\n  mesh tp = 2\n  split H or replicate, F, V over tp\n}\n";
  all.push_back({"dropout", "gpt3_125m(L = 4, D = 32, H = 4, Dh = 8, V = 64, S = 8, B = 8, fused = false, drop = 0.1)",
                 "megatron(tp = 2, pp = 2, selective = true)", 8});
  all.push_back({"prefill", llama(2), "tensor", 2, kTensor, "prefill"});
  all.push_back({"decode", llama(2), "tensor", 2, kTensor, "decode { past = 8 }"});
  all.push_back({"forward", gpt(2), "tensor", 2, kTensor, ""});
  return all;
}

void PrintTo(const Case &test, std::ostream *os) { *os << test.name; }

class MemoryTrace : public testing::TestWithParam<Case> {};

TEST_P(MemoryTrace, PeakIsThatOfTheTrace) { expectAgreement(textOf(GetParam())); }

/// The peak of each place in the pipeline.
std::vector<MemoryPeak> peaksOf(const std::string &rules) {
  std::string text =
      textOf({"", llama(16), "p", 2, "plan p {\n  mesh dp = 2\n  split B over dp\n  microbatch 4\n" + rules + "}\n"});
  CompiledText compiled(text);
  PassStats stats;
  std::vector<MemoryPeak> peaks;
  if (!compiled.program)
    return peaks;
  std::optional<MemoryOverTime> memory = MemoryOverTime::create(*compiled.program, stats);
  for (uint32_t i = 0; memory && i < memory->classes(); ++i)
    peaks.push_back(*memory->peak(i));
  return peaks;
}

TEST(MemoryOfOffload, PeakFallsByWhatRestsOnTheHost) {
  std::vector<MemoryPeak> before = peaksOf(""), behind = peaksOf("  offload optimizer to host\n");
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(behind.size(), 1u);
  // Both peaks are in the backward, where no state is loaded.
  EXPECT_TRUE(before[0].when.action && behind[0].when.action);
  int64_t states = before[0].alive[MemoryKind::Optimizer];
  EXPECT_GT(states, 0);
  EXPECT_EQ(before[0].bytes() - behind[0].bytes(), states);
  EXPECT_EQ(behind[0].host, states);
  EXPECT_EQ(before[0].host, 0);
}

TEST(MemoryOfOffload, ActivationsWaitOnTheHost) {
  std::vector<MemoryPeak> before = peaksOf(""), behind = peaksOf("  offload act to host\n");
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_LT(behind[0].bytes(), before[0].bytes());
  // What a block keeps is on the device while the block runs only.
  EXPECT_LT(behind[0].alive[MemoryKind::Activations], before[0].alive[MemoryKind::Activations] / 2);
  EXPECT_GT(behind[0].host, before[0].alive[MemoryKind::Activations] / 2);
}

/// With sanitizers a program takes five times as long: then every second case.
std::vector<Case> casesOfBuild() {
  std::vector<Case> all = cases();
#ifdef STG_CHECKED
  std::vector<Case> some;
  for (size_t i = 0; i < all.size(); i += 2)
    some.push_back(all[i]);
  return some;
#endif
  return all;
}

INSTANTIATE_TEST_SUITE_P(All, MemoryTrace, testing::ValuesIn(casesOfBuild()),
                         [](const testing::TestParamInfo<Case> &info) { return info.param.name; });

} // namespace
} // namespace stg
