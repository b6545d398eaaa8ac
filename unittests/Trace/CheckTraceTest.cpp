//===- CheckTraceTest.cpp - every fault is found, and nothing else ---------===//

#include "stg/Trace/CheckTrace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace stg;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

DecodedAttribute attribute(std::string name, AttributeKind kind, DecodedAttribute::Scalar value) {
  return {.name = std::move(name), .kind = kind, .isList = false, .values = {std::move(value)}};
}
DecodedAttribute int64(std::string name, int64_t value) { return attribute(name, AttributeKind::Int64, value); }
DecodedAttribute int32(std::string name, int64_t value) { return attribute(name, AttributeKind::Int32, value); }
DecodedAttribute text(std::string name, std::string value) { return attribute(name, AttributeKind::String, value); }

DecodedNode compute(uint64_t id, std::vector<uint64_t> deps = {}, int64_t flops = 1000, uint64_t bytes = 100'000) {
  return {.id = id,
          .name = "n" + std::to_string(id),
          .type = static_cast<uint32_t>(EtNodeType::Comp),
          .dataDeps = std::move(deps),
          .attributes = {attribute("is_cpu_op", AttributeKind::Bool, false), int64("num_ops", flops),
                         attribute("tensor_size", AttributeKind::Uint64, bytes)}};
}

DecodedNode collective(uint64_t id, int64_t type, int64_t size, std::optional<std::string> group,
                       std::vector<uint64_t> after = {}) {
  DecodedNode node{.id = id,
                   .name = "c" + std::to_string(id),
                   .type = static_cast<uint32_t>(EtNodeType::Coll),
                   .ctrlDeps = std::move(after)};
  node.attributes = {int64("comm_type", type), int64("comm_size", size)};
  if (group)
    node.attributes.push_back(text("pg_name", *group));
  return node;
}

DecodedNode message(uint64_t id, EtNodeType type, int64_t source, int64_t destination, int64_t tag = 1,
                    int64_t size = 8, std::vector<uint64_t> after = {}) {
  return {.id = id,
          .name = "m" + std::to_string(id),
          .type = static_cast<uint32_t>(type),
          .ctrlDeps = std::move(after),
          .attributes = {int64("comm_size", size), int32("comm_src", source), int32("comm_dst", destination),
                         int32("comm_tag", tag)}};
}

constexpr int64_t kAllReduce = 0, kAllGather = 2, kBarrier = 9;

/// The findings about one rank's nodes.
struct Check {
  explicit Check(std::vector<DecodedNode> nodes, CheckOptions options = {.worldSize = 1}, FileEnd end = FileEnd::Clean,
                 bool metadata = true)
      : diags(sources), findings(diags) {
    TraceChecker checker(options, findings);
    checker.beginRank(0, metadata);
    for (const DecodedNode &node : nodes)
      checker.node(node);
    checker.endRank(end, 10);
    checker.finish();
  }
  /// `[E721]` for each finding, as often as it was counted.
  std::vector<std::string> faults() const {
    std::vector<std::string> list;
    for (const auto &[code, count] : findings.counts())
      list.insert(list.end(), count, "[" + code + "]");
    return list;
  }
  std::string message() const { return diags.sorted().empty() ? "" : diags.sorted()[0]->message; }

  SourceManager sources;
  Diagnostics diags;
  TraceFindings findings;
};

CheckOptions ofTwoRanks() { return {.scope = CheckScope::Files, .worldSize = 2, .groups = GroupTable{{"1", {0, 1}}}}; }

TEST(CheckTrace, GoodTracesHaveNoFinding) {
  EXPECT_THAT(Check({compute(1), compute(2, {1}), compute(3, {2, 1})}).faults(), IsEmpty());
  // Dependencies may point forward in the file, as long as they end somewhere.
  EXPECT_THAT(Check({compute(3, {9}), compute(9, {5}), compute(5)}).faults(), IsEmpty());
  EXPECT_THAT(Check({compute(1), collective(2, kAllReduce, 64, "1"), message(3, EtNodeType::Send, 0, 1, 1, 8, {2}),
                     message(4, EtNodeType::Recv, 1, 0)},
                    ofTwoRanks())
                  .faults(),
              IsEmpty());
}

TEST(CheckTrace, Files) {
  EXPECT_THAT(Check({compute(1)}, {.worldSize = 1}, FileEnd::Clean, false).faults(), ElementsAre("[E701]"));
  EXPECT_THAT(Check({compute(1)}, {.worldSize = 1}, FileEnd::Truncated).faults(), ElementsAre("[E702]"));
  EXPECT_THAT(Check({compute(1)}, {.worldSize = 1}, FileEnd::BadMessage).faults(), ElementsAre("[E703]"));
  EXPECT_THAT(Check({}).faults(), ElementsAre("[E704]"));
  EXPECT_THAT(Check({compute(1)}, {.worldSize = 3}).faults(), ElementsAre("[E705]", "[E705]"));
}

TEST(CheckTrace, Graph) {
  EXPECT_THAT(Check({compute(1), compute(1, {})}).faults(), ElementsAre("[E711]"));
  Check missing({compute(1), compute(2, {1, 77})});
  EXPECT_THAT(missing.faults(), ElementsAre("[E712]"));
  EXPECT_THAT(missing.message(), HasSubstr("rank 0, node 2 `n2`"));
  EXPECT_THAT(missing.message(), HasSubstr("77"));

  // 5 hangs from the loop 2 <- 4 <- 3 and must not be named as a part of it.
  Check cycle({compute(1), compute(2, {1, 4}), compute(3, {2}), compute(4, {3}), compute(5, {4})});
  EXPECT_THAT(cycle.faults(), ElementsAre("[E713]"));
  EXPECT_THAT(cycle.message(), HasSubstr("it waits for itself (2 <- 4 <- 3 <- 2); 4 nodes can never start"));
  EXPECT_THAT(Check({compute(1), compute(2, {2})}).faults(), ElementsAre("[E713]"));
}

TEST(CheckTrace, NodeTypes) {
  DecodedNode cpu = compute(2, {1});
  cpu.attributes[0].values = {true};
  DecodedNode unknown = compute(2, {1});
  unknown.type = 8;
  DecodedNode meta{.id = 2, .name = "m", .type = static_cast<uint32_t>(EtNodeType::Metadata)};
  DecodedNode load{.id = 2, .name = "l", .type = static_cast<uint32_t>(EtNodeType::MemLoad)};
  load.attributes = {attribute("tensor_size", AttributeKind::Uint64, uint64_t(8))};
  for (const DecodedNode &node : {cpu, meta, load}) {
    EXPECT_THAT(Check({compute(1), node}).faults(), ElementsAre("[E715]"));
    EXPECT_THAT(Check({compute(1), node}, {.target = TraceTarget::Chakra, .worldSize = 1}).faults(), IsEmpty());
  }
  EXPECT_THAT(Check({compute(1), unknown}).faults(), ElementsAre("[E714]"));
}

TEST(CheckTrace, Compute) {
  EXPECT_THAT(Check({compute(1), compute(2, {1}, 0)}).faults(), ElementsAre("[E721]"));
  EXPECT_THAT(Check({compute(1), compute(2, {1}, 5, 0)}).faults(), ElementsAre("[E722]"));
  EXPECT_THAT(Check({compute(1), compute(2, {1}, -5)}).faults(), ElementsAre("[E731]"));
  DecodedNode bare = compute(2, {1});
  bare.attributes.clear();
  EXPECT_THAT(Check({compute(1), bare}).faults(), ElementsAre("[E731]", "[E731]"));
  // A node with a measured time is replayed.
  bare.durationMicros = 3;
  EXPECT_THAT(Check({compute(1), bare}).faults(), IsEmpty());
}

TEST(CheckTrace, ARootMustLastANanosecond) {
  EXPECT_THAT(Check({compute(1, {}, 1, 8191)}).faults(), ElementsAre("[E723]"));
  EXPECT_THAT(Check({compute(1, {}, 1, 8192)}).faults(), IsEmpty());
  EXPECT_THAT(Check({compute(1), compute(2, {1}, 1, 8)}).faults(), IsEmpty());
  Machine slow{.peakTflops = 100, .memoryGbps = 1000};
  EXPECT_THAT(Check({compute(1, {}, 1, 1000)}, {.worldSize = 1, .machine = slow}).faults(), IsEmpty());
  EXPECT_THAT(Check({compute(1, {}, 1, 999)}, {.worldSize = 1, .machine = slow}).faults(), ElementsAre("[E723]"));
}

TEST(CheckTrace, OtherKindsAreOnlyAWarning) {
  DecodedNode node = compute(2, {1});
  node.attributes[1].kind = AttributeKind::Uint64;
  node.attributes[1].values = {uint64_t(5)};
  Check run({compute(1), node});
  EXPECT_THAT(run.faults(), ElementsAre("[W732]"));
  EXPECT_EQ(run.findings.errors(), 0u);
}

TEST(CheckTrace, Messages) {
  auto faults = [](DecodedNode node) { return Check({compute(1), node}, ofTwoRanks()).faults(); };
  EXPECT_THAT(faults(message(2, EtNodeType::Send, 0, 0)), ElementsAre("[E735]"));
  EXPECT_THAT(faults(message(2, EtNodeType::Send, 0, 2)), ElementsAre("[E736]"));
  EXPECT_THAT(faults(message(2, EtNodeType::Send, 1, 0)), ElementsAre("[E737]"));
  EXPECT_THAT(faults(message(2, EtNodeType::Recv, 0, 1)), ElementsAre("[E737]"));
  EXPECT_THAT(faults(message(2, EtNodeType::Send, 0, 1, 500'000'000)), ElementsAre("[E734]"));
  EXPECT_THAT(faults(message(2, EtNodeType::Send, 0, 1, 499'999'999)), IsEmpty());
  EXPECT_THAT(faults(message(2, EtNodeType::Send, 0, 1, 1, 0)), ElementsAre("[E733]"));
}

TEST(CheckTrace, Collectives) {
  auto faults = [](DecodedNode node) { return Check({compute(1), node}, ofTwoRanks()).faults(); };
  EXPECT_THAT(faults(collective(2, kAllReduce, 0, "1")), ElementsAre("[E733]"));
  EXPECT_THAT(faults(collective(2, kBarrier, 8, "1")), ElementsAre("[E738]"));
  EXPECT_THAT(faults(collective(2, kAllGather, 3, "1")), ElementsAre("[E739]"));
  EXPECT_THAT(faults(collective(2, kAllGather, 4, "1")), IsEmpty());
  EXPECT_THAT(faults(collective(2, kAllReduce, 8, "2")), ElementsAre("[E742]"));
  // A padded name is the same number; a collective over all ranks may go without a group, unless others have one.
  EXPECT_THAT(faults(collective(2, kAllReduce, 8, "001")), IsEmpty());
  EXPECT_THAT(faults(collective(2, kAllReduce, 8, std::nullopt)), IsEmpty());
  EXPECT_THAT(Check({compute(1), collective(2, kAllReduce, 8, std::nullopt), collective(3, kAllReduce, 8, "1", {2})},
                    ofTwoRanks())
                  .faults(),
              ElementsAre("[E741]"));
  EXPECT_THAT(Check({compute(1), collective(2, kAllReduce, 8, std::nullopt)}).faults(), ElementsAre("[E744]"));
}

TEST(CheckTrace, Groups) {
  auto faults = [](GroupTable groups) {
    return Check({compute(1)}, {.scope = CheckScope::Files, .worldSize = 4, .groups = std::move(groups)}).faults();
  };
  EXPECT_THAT(faults({{"1", {0, 1}}, {"2", {2, 3}}, {"501", {1, 2}}}), IsEmpty());
  EXPECT_THAT(faults({{"1", {0, 1, 2}}, {"501", {3, 2, 1}}}), ElementsAre("[E746]"));
  EXPECT_THAT(faults({{"0", {0, 1}}}), ElementsAre("[E745]"));
  EXPECT_THAT(faults({{"tp", {0, 1}}}), ElementsAre("[E745]"));
  EXPECT_THAT(faults({{"1", {0, 1}}, {"01", {2, 3}}}), ElementsAre("[E745]"));
  EXPECT_THAT(faults({{"1", {0, 4}}}), ElementsAre("[E745]"));
  EXPECT_THAT(faults({{"1", {1, 0, 1}}}), ElementsAre("[E745]"));
  EXPECT_THAT(faults({{"1", {1}}}), ElementsAre("[E744]"));
  EXPECT_THAT(Check({compute(1), collective(2, kAllReduce, 8, "1")},
                    {.scope = CheckScope::Files, .worldSize = 4, .groups = GroupTable{{"1", {1, 2}}}})
                  .faults(),
              ElementsAre("[E743]"));
}

TEST(CheckTrace, AllAreCountedButFewKept) {
  std::vector<DecodedNode> nodes = {compute(1)};
  for (uint64_t id = 2; id < 100; ++id)
    nodes.push_back(compute(id, {1}, 0));
  Check run(nodes);
  EXPECT_EQ(run.diags.sorted().size(), 5u);
  EXPECT_EQ(run.findings.errors(), 98u);
}

} // namespace
