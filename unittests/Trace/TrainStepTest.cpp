//===- TrainStepTest.cpp - nodes of a step of training, by hand --------------===//

#include "TrainStep.h"
#include "stg/Trace/Unroll.h"
#include "gmock/gmock.h"

using namespace stg;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {

struct Kept {
  uint64_t id, flops, bytes;
  std::vector<uint64_t> data, ctrl;
  TraceNodeKind kind;
  uint32_t group;
};

struct Step {
  explicit Step(const Program &program, UnrollOptions options = {}) : groups(program), diags(sources) {
    EXPECT_EQ(unroll(
                  program, groups, options,
                  [this](const TraceNode &node) {
                    names.push_back(node.name.str());
                    nodes[node.name.str()] = {
                        node.id,   node.flops, node.bytes, node.dataDeps.vec(), node.ctrlDeps.vec(),
                        node.kind, node.group};
                  },
                  stats, diags),
              Outcome::Done);
  }
  const Kept &operator[](const std::string &name) const {
    auto found = nodes.find(name);
    if (found == nodes.end())
      throw std::runtime_error("no node " + name);
    return found->second;
  }
  uint64_t id(const std::string &name) const { return (*this)[name].id; }

  ProcessGroups groups;
  SourceManager sources;
  Diagnostics diags;
  PassStats stats;
  std::vector<std::string> names;
  std::map<std::string, Kept> nodes;
};

TEST(TrainStep, BackwardFollowsForwardAndSyncTheLastBackward) {
  Step step(trainStep(trainStepText(2, 2)));
  EXPECT_THAT(step.names,
              ElementsAre( //
                  "F0:blocks[0].h", "F0:blocks[0].a", "F0:blocks[0].p", "F0:blocks[0].p/all_reduce(tp)",
                  "F0:blocks[1].h", "F0:blocks[1].a", "F0:blocks[1].p", "F0:blocks[1].p/all_reduce(tp)", "F0:loss.l",
                  "B0:loss.dy", //
                  "W0:blocks[1].dv", "B0:blocks[1].da", "B0:blocks[1].dh", "W0:blocks[1].dw", "B0:blocks[1].dp",
                  "B0:blocks[1].dp/all_reduce(tp)", //
                  "W0:blocks[0].dv", "B0:blocks[0].da", "B0:blocks[0].dh", "W0:blocks[0].dw", "B0:blocks[0].dp",
                  "B0:blocks[0].dp/all_reduce(tp)", //
                  "F1:blocks[0].h", "F1:blocks[0].a", "F1:blocks[0].p", "F1:blocks[0].p/all_reduce(tp)",
                  "F1:blocks[1].h", "F1:blocks[1].a", "F1:blocks[1].p", "F1:blocks[1].p/all_reduce(tp)", "F1:loss.l",
                  "B1:loss.dy", //
                  "W1:blocks[1].dv", "B1:blocks[1].da", "B1:blocks[1].dh", "W1:blocks[1].dw", "B1:blocks[1].dp",
                  "B1:blocks[1].dp/all_reduce(tp)", "S:blocks[1].w/all_reduce(dp)", //
                  "W1:blocks[0].dv", "B1:blocks[0].da", "B1:blocks[0].dh", "W1:blocks[0].dw", "B1:blocks[0].dp",
                  "B1:blocks[0].dp/all_reduce(tp)", "S:blocks[0].w/all_reduce(dp)", //
                  "S:step.loss/all_reduce(dp)", "S:step.mean",                      //
                  "S:blocks[0].w", "S:blocks[0].v", "S:blocks[1].w", "S:blocks[1].v"));
}

TEST(TrainStep, CountsAreThoseOfOneRank) {
  Step step(trainStep());
  // Locally B 4, D 16, F 16: 2 * 4 * 16 * 16 operations; x 256 bytes, w 1,024, h 256.
  EXPECT_EQ(step["F0:blocks[1].h"].flops, 2048u);
  EXPECT_EQ(step["F0:blocks[1].h"].bytes, 1536u);
  EXPECT_EQ(step["F0:blocks[1].p/all_reduce(tp)"].bytes, 256u);
  // The gradient buffer is read and written, the gradient itself never leaves the kernel.
  EXPECT_EQ(step["W0:blocks[1].dv"].flops, 2048u);
  EXPECT_EQ(step["W0:blocks[1].dv"].bytes, 256u + 256u + 2 * 1024u);
  // Both weights in one bucket.
  EXPECT_EQ(step["S:blocks[1].w/all_reduce(dp)"].bytes, 2048u);
  EXPECT_EQ(step["S:blocks[1].w"].flops, 512u);
  EXPECT_EQ(step["S:blocks[1].w"].bytes, 3 * 1024u);
  EXPECT_EQ(step["S:step.loss/all_reduce(dp)"].bytes, 4u);
  // Only a node that nothing stands before is made to last.
  EXPECT_EQ(step["F0:blocks[0].h"].bytes, 8192u);
}

TEST(TrainStep, DataDependenciesAreTheValuesRead) {
  Step step(trainStep());
  EXPECT_THAT(step["F0:blocks[1].h"].data, ElementsAre(step.id("F0:blocks[0].p/all_reduce(tp)")));
  // Saved values and cotangents, of the node's own micro-batch.
  EXPECT_THAT(step["B1:blocks[1].dh"].data, ElementsAre(step.id("F1:blocks[1].h"), step.id("B1:blocks[1].da")));
  EXPECT_THAT(step["B1:blocks[0].da"].data, ElementsAre(step.id("B1:blocks[1].dp/all_reduce(tp)")));
  EXPECT_THAT(step["B1:blocks[1].da"].data, ElementsAre(step.id("B1:loss.dy")));
  // The gradient buffer, since the last micro-batch.
  EXPECT_THAT(step["W0:blocks[1].dv"].data, ElementsAre(step.id("F0:blocks[1].a"), step.id("B0:loss.dy")));
  EXPECT_THAT(step["W1:blocks[1].dv"].data,
              ElementsAre(step.id("W0:blocks[1].dv"), step.id("F1:blocks[1].a"), step.id("B1:loss.dy")));
  EXPECT_THAT(step["S:blocks[1].w/all_reduce(dp)"].data,
              ElementsAre(step.id("W1:blocks[1].dv"), step.id("W1:blocks[1].dw")));
  EXPECT_THAT(step["S:blocks[1].w"].data, ElementsAre(step.id("S:blocks[1].w/all_reduce(dp)")));
  // A scalar of the step: all that was added to it.
  EXPECT_THAT(step["S:step.loss/all_reduce(dp)"].data, ElementsAre(step.id("F0:loss.l"), step.id("F1:loss.l")));
}

TEST(TrainStep, NormsOfGradientsWaitUntilAllBackwardIsDone) {
  std::string text = trainStepText(2, 1);
  text.replace(text.find("scalar loss"), 11, "scalar loss scalar norm");
  std::string after = "= all_reduce(%gw, %gv) over (0) part sync kernel 20\n";
  text.insert(text.find(after) + after.size(), R"(
  %qw : f32[D, F] layout [D, F/tp] = square(%rw) part sync kernel 21 compute (-1, 1)
  %nw2 : f32[] layout [@ tp] = reduce(%qw) sum(D, F) part sync kernel 21 compute (-1, 1)
  tally norm(%nw2) part sync kernel 21
)");
  std::string total = "%mean : f32[] layout [] = neg(%all) part sync kernel 1\n";
  text.insert(text.find(total) + total.size(), R"(
  %n : f32[] layout [@ tp] = total norm part sync kernel 2
  %alln : f32[] layout [] = all_reduce(%n) over (1) part sync kernel 2
)");
  Step step(trainStep(text));
  std::vector<std::string> tail(step.names.end() - 9, step.names.end());
  EXPECT_THAT(tail, ElementsAre("S:blocks[1].nw2", "S:blocks[0].nw2", "S:step.loss/all_reduce(dp)",
                                "S:step.norm/all_reduce(tp)", "S:step.mean", //
                                "S:blocks[0].w", "S:blocks[0].v", "S:blocks[1].w", "S:blocks[1].v"));
  EXPECT_THAT(step["S:step.norm/all_reduce(tp)"].data,
              ElementsAre(step.id("S:blocks[1].nw2"), step.id("S:blocks[0].nw2")));
}

TEST(TrainStep, AWeightInTwoLayoutsIsOneBuffer) {
  // `cols` has w split over tp, `rows` has it whole and its gradient partial: whoever adds later waits for the other,
  // and the step waits for both.
  Step step(trainStep(R"(stgir stored program two mode train mesh tp = 2 sizes B = 4, D = 4
input x : f32[B, D]
weight w : f32[D]
body cols {
  input x : f32[B, D] layout [B, D/tp]
  weight w : f32[D] shared trained layout [D/tp] buffer [D/tp]
  %x : f32[B, D] layout [B, D/tp] = input x kernel 0
  %w : f32[D] layout [D/tp] = weight w kernel 0
  %y : f32[B, D] layout [B, D/tp] = mul(%x, %w) kernel 1 compute (1)
  %dw : f32[D] layout [D/tp] = reduce(%x) sum(B) part weight-grad kernel 2 compute (0)
  accumulate w(%dw) part weight-grad kernel 2
  output y = %y
}
body rows {
  input x : f32[B, D] layout [B/tp, D]
  weight w : f32[D] shared trained layout [D] buffer [D @ tp]
  %x : f32[B, D] layout [B/tp, D] = input x kernel 0
  %w : f32[D] layout [D] = weight w kernel 0
  %y : f32[B, D] layout [B/tp, D] = mul(%x, %w) kernel 1 compute (0)
  %dw : f32[D] layout [D @ tp] = reduce(%x) sum(B) part weight-grad kernel 2 compute (1)
  accumulate w(%dw) part weight-grad kernel 2
  output y = %y
}
body step {
  weight w : f32[D] shared trained layout [D/tp] buffer [D/tp]
  weight w'1 : f32[D] shared trained layout [D] buffer [D @ tp]
  %g : f32[D] layout [D/tp] = gradient w part sync kernel 1
  %h : f32[D] layout [D @ tp] = gradient w'1 part sync kernel 1
  %r : f32[D] layout [D] = all_reduce(%h) over (0) part sync kernel 1
  %s : f32[D] layout [D/tp] = shard(%r) over (0) to D part sync kernel 2
  %t : f32[D] layout [D/tp] = add(%g, %s) part sync kernel 2 compute (0)
}
unit @cols : cols(x = input x) weights(w = weight w)
unit @rows : rows(x = input x) weights(w = weight w)
unit @step : step() weights(w = weight w, w'1 = weight w)
)"));
  EXPECT_THAT(step["W0:cols.dw"].data, ElementsAre(step.id("W0:rows.dw")));
  EXPECT_THAT(step["S:step.w'1/all_reduce(tp)"].data, ElementsAre(step.id("W0:cols.dw")));
  EXPECT_THAT(step["S:step.t"].data, ElementsAre(step.id("W0:cols.dw"), step.id("S:step.w'1/all_reduce(tp)")));
}

TEST(TrainStep, OneOrderOfComputeAndOneOfCommunication) {
  Step step(trainStep());
  uint64_t compute = 0, communication = 0;
  for (const std::string &name : step.names) {
    const Kept &node = step[name];
    uint64_t &last = node.kind == TraceNodeKind::Compute ? compute : communication;
    if (last == 0)
      EXPECT_THAT(node.ctrl, IsEmpty());
    else
      EXPECT_THAT(node.ctrl, ElementsAre(last));
    last = node.id;
  }
}

TEST(TrainStep, OtherReadersHaveAnOrderPerCommunicator) {
  Step step(trainStep(), {.target = TraceTarget::Chakra});
  EXPECT_THAT(step["S:blocks[1].w/all_reduce(dp)"].ctrl, IsEmpty());
  EXPECT_THAT(step["S:blocks[0].w/all_reduce(dp)"].ctrl, ElementsAre(step.id("S:blocks[1].w/all_reduce(dp)")));
  EXPECT_THAT(step["B1:blocks[0].dp/all_reduce(tp)"].ctrl, ElementsAre(step.id("B1:blocks[1].dp/all_reduce(tp)")));
}

TEST(TrainStep, OpsAreVisitedOncePerBodyWhateverIsRepeated) {
  Step few(trainStep(trainStepText(2, 1, 2))), many(trainStep(trainStepText(64, 16, 8)));
  EXPECT_EQ(few.stats.opVisits, many.stats.opVisits);
  EXPECT_GT(many.nodes.size(), 20 * few.nodes.size());
}

TEST(TrainStep, AnnotationsNameTensorsPerMicroBatch) {
  Program program = trainStep();
  SourceManager sources; // not those of the program's text: its ops have no places here
  for (Body &body : program.bodies)
    for (Op &op : body.ops)
      op.where = {};
  Diagnostics diags(sources);
  PassStats stats;
  std::vector<std::string> lines;
  ProcessGroups groups(program);
  (void)unroll(
      program, groups, {.detail = UnrollDetail::Annotations},
      [&](const TraceNode &node) {
        std::string line = node.name.str() + ":";
        for (const TraceTensor &tensor : node.annotations->inputs)
          line += " " + tensor.name.str() + " " + std::to_string(tensor.bytes);
        line += " ->";
        for (const TraceTensor &tensor : node.annotations->outputs)
          line += " " + tensor.name.str() + " " + std::to_string(tensor.bytes);
        for (int64_t extent : node.annotations->extents)
          line += " " + std::to_string(extent);
        lines.push_back(line);
      },
      stats, diags);
  EXPECT_THAT(lines,
              testing::Contains("F1:blocks[1].h: blocks[0].y#1 256 blocks[1].w 1024 -> blocks[1].h#1 256 4 16 16"));
  EXPECT_THAT(lines, testing::Contains("W0:blocks[0].dw: x#0 256 blocks[0].dh#0 256 blocks[0].w.grad 1024 -> "
                                       "16 16 4"));
  EXPECT_THAT(lines, testing::Contains("B0:blocks[1].dp/all_reduce(tp): blocks[1].dp#0 256 -> blocks[1].dx#0 256"));
  // What is updated in place is an input, and nothing new: buffers, and new weights where the old ones are.
  EXPECT_THAT(lines, testing::Contains("S:blocks[1].w/all_reduce(dp): blocks[1].w.grad 1024 blocks[1].v.grad 1024 ->"));
  EXPECT_THAT(lines, testing::Contains("S:blocks[1].w: blocks[1].w.grad 1024 blocks[1].w 1024 ->"));
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

TEST(ProcessGroups, KindsInOrderOfUseWithIdsThatDiffer) {
  ProcessGroups groups(trainStep());
  ASSERT_EQ(groups.kinds().size(), 2u);
  EXPECT_EQ(groups.kinds()[0].axes, "tp");
  EXPECT_EQ(groups.kinds()[1].axes, "dp");
  EXPECT_EQ(groups.stride(), 2u);
  EXPECT_EQ(groups.digits(), 1u);
  std::map<uint32_t, std::vector<uint32_t>> list;
  for (const TraceGroup &group : groups.list())
    list[group.id] = group.ranks;
  std::map<uint32_t, std::vector<uint32_t>> expected = {{1, {0, 1}}, {3, {2, 3}}, {2, {0, 2}}, {4, {1, 3}}};
  EXPECT_EQ(list, expected);
  for (uint32_t rank = 0; rank < 4; ++rank)
    for (uint32_t kind = 0; kind < 2; ++kind)
      EXPECT_THAT(list[groups.idOf(kind, rank)], testing::Contains(rank));
}

TEST(ProcessGroups, AxesTextNamesWhatAtomsMakeUp) {
  Mesh mesh;
  mesh.axes = {{"dp", 8}, {"cp", 2}, {"tp", 4}};
  ASSERT_TRUE(mesh.addFold({"expert", {"dp"}, {{"edp", 2}, {"ep", 4}}}));
  AtomList dp = mesh.atomsOf("dp"), all = dp;
  for (const char *axis : {"cp", "tp"})
    all.append(mesh.atomsOf(axis));
  EXPECT_EQ(axesText(dp, mesh), "dp");
  EXPECT_EQ(axesText(mesh.atomsOf("ep"), mesh), "ep");
  EXPECT_EQ(axesText(all, mesh), "dp*cp*tp");
}

TEST(ProcessGroups, ThirtyTwoBitTagsAreKeptApartBeyondTheirLimit) {
  // Equal modulo 500 below the limit; beyond it the wrapped product decides.
  EXPECT_TRUE(groupTagsCollide(3, 503));
  EXPECT_FALSE(groupTagsCollide(3, 504));
  EXPECT_EQ(firstGroupTag(2147), 147'000'000 + 500'000'000);
  EXPECT_EQ(firstGroupTag(2148), static_cast<int32_t>((2148LL * 1'000'000 - (1LL << 32)) % 500'000'000 + 500'000'000));
  // Groups of dp and of tp never share two ranks.
  ProcessGroups groups(trainStep(trainStepText(2, 1, 4096)));
  EXPECT_GT(groups.largestId(), 2148u);
  EXPECT_FALSE(groups.collision());
}

/// All-reduces over cp*tp, over tp and over cp: groups of the first share ranks with those of the others.
std::string nestedGroups(int64_t dp) {
  return "stgir explicit program nested mode forward mesh dp = " + std::to_string(dp) + R"(, cp = 2, tp = 2 sizes D = 4
input x : f32[D]
body all {
  input x : f32[D] layout [D]
  %x : f32[D] layout [D] = input x kernel 0
  %y : f32[D] layout [D] = neg(%x) kernel 1 compute (-1, -1, -1)
  %a : f32[D] layout [D] = all_reduce(%y) over (1, 2) kernel 2
  %b : f32[D] layout [D] = all_reduce(%a) over (2) kernel 3
  %c : f32[D] layout [D] = all_reduce(%b) over (1) kernel 4
  output c = %c
}
unit @all : all(x = input x)
)";
}

TEST(ProcessGroups, IdsAvoidCollisionsWhereTheyCan) {
  ProcessGroups groups(trainStep(nestedGroups(1500)));
  EXPECT_GT(groups.largestId(), 2148u);
  ASSERT_FALSE(groups.collision());
  for (uint32_t rank = 0; rank < 6000; ++rank)
    for (uint32_t kind : {1, 2})
      ASSERT_FALSE(groupTagsCollide(groups.idOf(0, rank), groups.idOf(kind, rank)));
}

TEST(ProcessGroups, GroupsThatNoNumberingKeepsApartAreNamed) {
  Program program = trainStep(nestedGroups(65536));
  SourceManager sources;
  Diagnostics diags(sources);
  PassStats stats;
  ProcessGroups groups(program);
  ASSERT_TRUE(groups.collision());
  EXPECT_TRUE(groupTagsCollide(groups.collision()->first, groups.collision()->second));
  EXPECT_EQ(unroll(program, groups, {}, [](const TraceNode &) {}, stats, diags), Outcome::Done);
  ASSERT_EQ(diags.sorted().size(), 1u);
  EXPECT_EQ(diags.sorted()[0]->info.code(), "W753");
  EXPECT_EQ(
      unroll(program, groups, {.target = TraceTarget::Chakra}, [](const TraceNode &) {}, stats, diags), Outcome::Done);
  EXPECT_EQ(diags.sorted().size(), 1u);
}

} // namespace
