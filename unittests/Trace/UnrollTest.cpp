//===- UnrollTest.cpp - nodes of small programs, by hand --------------------===//

#include "stg/Trace/Unroll.h"
#include "Interp/TinyProgram.h"
#include "stg/Shape/InferShapes.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace stg;
using interp::TinyProgram;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// A node that outlives the unrolling.
struct Kept {
  std::string name, opType;
  uint64_t id, flops, bytes;
  std::vector<uint64_t> data, ctrl;
  std::vector<int64_t> extents;
  std::string dtype, part, source;
  std::vector<std::string> inputs, outputs;
};

struct Unrolled {
  explicit Unrolled(Program &program, UnrollOptions options = {}) : diags(sources) {
    PassStats shapes;
    EXPECT_EQ(inferShapes(program, diags, shapes), Outcome::Done);
    program.level = Level::Typed;
    outcome =
        unroll(program, ProcessGroups(program), options, [this](const TraceNode &node) { keep(node); }, stats, diags);
  }
  void keep(const TraceNode &node) {
    Kept &kept = nodes.emplace_back();
    kept = {.name = node.name.str(),
            .opType = node.opType.str(),
            .id = node.id,
            .flops = node.flops,
            .bytes = node.bytes,
            .data = node.dataDeps.vec(),
            .ctrl = node.ctrlDeps.vec()};
    if (const TraceAnnotations *notes = node.annotations) {
      kept.extents = notes->extents.vec();
      kept.dtype = notes->dtype.str();
      kept.part = notes->part.str();
      for (const TraceTensor &tensor : notes->inputs)
        kept.inputs.push_back(tensor.name.str() + " " + std::to_string(tensor.bytes));
      for (const TraceTensor &tensor : notes->outputs)
        kept.outputs.push_back(tensor.name.str() + " " + std::to_string(tensor.bytes));
    }
  }
  std::vector<std::string> names() const {
    std::vector<std::string> list;
    for (const Kept &node : nodes)
      list.push_back(node.name);
    return list;
  }

  SourceManager sources;
  Diagnostics diags;
  PassStats stats;
  Outcome outcome;
  std::vector<Kept> nodes;
};

/// x[B, D] -> h = x * w (matrix, square) -> y = h + x, for `layers` layers, each carrying y on. Values are f32.
struct Layers {
  explicit Layers(int64_t layers) {
    BodyId block = tiny.beginBody("block");
    ValueId x = tiny.input("x", tiny.type({{"B", 8}, {"D", 16}}));
    ValueId w = tiny.weight("w", tiny.type({{"D", 16}, {"F", 16}}));
    ValueId h = tiny.contract({x, w}, {"D"}, "h");
    ValueId renamed = tiny.op(OpKind::View, {h}, view(), "renamed");
    tiny.body().ops.back().kernel = 1;
    ValueId sum = tiny.map(MapFn::Add, {renamed, x}, "sum");
    ValueId y = tiny.map(MapFn::Relu, {sum}, "y");
    for (size_t i = tiny.body().ops.size() - 2; i < tiny.body().ops.size(); ++i)
      tiny.body().ops[i].kernel = 2;
    tiny.output("y", y);
    InputId input = tiny.programInput("tokens", tiny.type({{"B", 8}, {"D", 16}}));
    UnitId previous;
    for (int64_t i = 0; i < layers; ++i) {
      InputBinding binding = i == 0 ? InputBinding(input) : InputBinding(UnitValue{previous, 0});
      previous = tiny.unit(block, "blocks", i, {binding});
    }
    tiny.programOutput("y", previous, 0);
  }
  /// F -> D
  ViewFields view() {
    ViewItem item;
    item.from = {tiny.name("F")};
    item.to = {tiny.dim({"D", 16})};
    ViewFields fields;
    fields.items.push_back(item);
    return fields;
  }
  TinyProgram tiny;
};

TEST(Unroll, KernelsOfUnitsInOrder) {
  Layers layers(2);
  Unrolled trace(layers.tiny.program);
  ASSERT_EQ(trace.outcome, Outcome::Done);
  EXPECT_THAT(trace.names(), ElementsAre("F0:blocks[0].h", "F0:blocks[0].y", "F0:blocks[1].h", "F0:blocks[1].y"));
  // 2 x 8 x 16 x 16; x and h are 512 bytes, w is 1024. The first node is made to last 1 ns.
  EXPECT_EQ(trace.nodes[0].opType, "contract");
  EXPECT_EQ(trace.nodes[0].flops, 4096u);
  EXPECT_EQ(trace.nodes[0].bytes, 8192u);
  EXPECT_EQ(trace.nodes[2].flops, 4096u);
  EXPECT_EQ(trace.nodes[2].bytes, 2048u);
  // Addition and maximum in one kernel: the sum between them is not moved.
  EXPECT_EQ(trace.nodes[1].opType, "map");
  EXPECT_EQ(trace.nodes[1].flops, 256u);
  EXPECT_EQ(trace.nodes[1].bytes, 1536u);
}

TEST(Unroll, DataDependenciesAreReadsAndOrderIsAChain) {
  Layers layers(2);
  Unrolled trace(layers.tiny.program);
  EXPECT_THAT(trace.nodes[0].data, IsEmpty());
  EXPECT_THAT(trace.nodes[0].ctrl, IsEmpty());
  // The view between h and the sum is looked through; x is an input of the program.
  EXPECT_THAT(trace.nodes[1].data, ElementsAre(1));
  EXPECT_THAT(trace.nodes[2].data, ElementsAre(2));
  EXPECT_THAT(trace.nodes[3].data, ElementsAre(2, 3));
  EXPECT_THAT(trace.nodes[3].ctrl, ElementsAre(3));
}

TEST(Unroll, OpsAreVisitedOncePerBody) {
  Layers few(2), many(200);
  Unrolled small(few.tiny.program), large(many.tiny.program);
  EXPECT_EQ(large.nodes.size(), 400u);
  EXPECT_EQ(small.stats.opVisits, large.stats.opVisits);
}

TEST(Unroll, PassedOnInputsKeepTheirNode) {
  TinyProgram tiny;
  BodyId first = tiny.beginBody("first");
  tiny.output("y", tiny.map(MapFn::Relu, {tiny.input("x", tiny.type({{"D", 4}}))}, "y"));
  BodyId pass = tiny.beginBody("pass");
  tiny.output("out", tiny.input("in", tiny.type({{"D", 4}})));
  BodyId last = tiny.beginBody("last");
  ValueId a = tiny.input("a", tiny.type({{"D", 4}})), b = tiny.input("b", tiny.type({{"D", 4}}));
  tiny.output("z", tiny.map(MapFn::Add, {a, b}, "z"));
  UnitId one = tiny.unit(first, "first", -1, {tiny.programInput("x", tiny.type({{"D", 4}}))});
  UnitId two = tiny.unit(pass, "pass", -1, {UnitValue{one, 0}});
  tiny.unit(last, "last", -1, {UnitValue{two, 0}, UnitValue{one, 0}});
  Unrolled trace(tiny.program);
  EXPECT_THAT(trace.names(), ElementsAre("F0:first.y", "F0:last.z"));
  EXPECT_THAT(trace.nodes[1].data, ElementsAre(1));
}

TEST(Unroll, NothingIsZero) {
  TinyProgram tiny;
  BodyId body = tiny.beginBody("all");
  ValueId data = tiny.input("table", tiny.type({{"V", 10}, {"D", 4}}));
  ValueId index = tiny.input("tokens", tiny.type({{"B", 3}}, ElementType::I32));
  tiny.output("y", tiny.op(OpKind::Gather, {data, index}, GatherFields{tiny.name("V")}, "y"));
  tiny.unit(body, "", -1,
            {tiny.programInput("table", tiny.type({{"V", 10}, {"D", 4}})),
             tiny.programInput("tokens", tiny.type({{"B", 3}}, ElementType::I32))});
  Unrolled trace(tiny.program, {.target = TraceTarget::Chakra});
  ASSERT_EQ(trace.nodes.size(), 1u);
  EXPECT_EQ(trace.nodes[0].name, "F0:y");
  EXPECT_EQ(trace.nodes[0].opType, "gather");
  EXPECT_EQ(trace.nodes[0].flops, 1u);
  // 3 rows read and written, and 3 indices.
  EXPECT_EQ(trace.nodes[0].bytes, 2u * 3 * 4 * 4 + 3 * 4);
}

TEST(Unroll, AnnotationsNameTensorsFromWriterToReader) {
  Layers layers(2);
  Unrolled trace(layers.tiny.program, {.detail = UnrollDetail::Annotations});
  EXPECT_THAT(trace.nodes[0].inputs, ElementsAre("tokens 512", "blocks[0].w 1024"));
  EXPECT_THAT(trace.nodes[0].outputs, ElementsAre("blocks[0].h 512"));
  EXPECT_THAT(trace.nodes[1].outputs, ElementsAre("blocks[0].y 512"));
  EXPECT_THAT(trace.nodes[2].inputs, ElementsAre("blocks[0].y 512", "blocks[1].w 1024"));
  EXPECT_THAT(trace.nodes[0].extents, ElementsAre(8, 16, 16));
  EXPECT_THAT(trace.nodes[1].extents, IsEmpty());
  EXPECT_EQ(trace.nodes[0].dtype, "f32");
  EXPECT_EQ(trace.nodes[0].part, "forward");
}

TEST(Unroll, SharedWeightsGoByTheirOwner) {
  TinyProgram tiny;
  BodyId body = tiny.beginBody("all");
  ValueId x = tiny.input("x", tiny.type({{"D", 4}}));
  ValueId mine = tiny.weight("w", tiny.type({{"D", 4}, {"E", 4}}));
  ValueId shared = tiny.weight("s", tiny.type({{"D", 4}, {"E", 4}}), /*owned=*/false);
  ValueId other = tiny.weight("o", tiny.type({{"D", 4}, {"E", 4}}), /*owned=*/false);
  tiny.output("y", tiny.contract({x, mine, shared, other}, {"D"}, "y"));
  tiny.program.weights.push_back({tiny.name("table"), tiny.type({{"D", 4}, {"E", 4}}), {}});
  InputId input = tiny.programInput("x", tiny.type({{"D", 4}}));
  // The second unit's third weight is the first unit's own.
  tiny.unit(body, "a", -1, {input}, {WeightId(0), WeightId(0)});
  tiny.unit(body, "b", -1, {input}, {WeightId(0), UnitSlot{UnitId(0), 0}});
  Unrolled trace(tiny.program, {.detail = UnrollDetail::Annotations});
  ASSERT_EQ(trace.nodes.size(), 2u);
  EXPECT_THAT(trace.nodes[1].inputs, ElementsAre("x 16", "b.w 64", "table 64", "a.w 64"));
}

TEST(Unroll, ProgramsWithoutKernelsAreRefused) {
  TinyProgram tiny;
  BodyId pass = tiny.beginBody("pass");
  tiny.output("out", tiny.input("in", tiny.type({{"D", 4}})));
  tiny.unit(pass, "pass", -1, {tiny.programInput("x", tiny.type({{"D", 4}}))});
  tiny.program.name = tiny.name("same");
  Unrolled trace(tiny.program);
  EXPECT_EQ(trace.outcome, Outcome::Failed);
  ASSERT_EQ(trace.diags.sorted().size(), 1u);
  EXPECT_EQ("[" + trace.diags.sorted()[0]->info.code() + "]", "[E751]");
}

TEST(Unroll, CountsBeyondTheFormatAreRefused) {
  TinyProgram tiny;
  BodyId body = tiny.beginBody("all");
  constexpr int64_t kHuge = int64_t(1) << 40;
  ValueId x = tiny.input("x", tiny.type({{"B", kHuge}, {"D", kHuge}}));
  tiny.output("y", tiny.map(MapFn::Relu, {x}, "y"));
  tiny.unit(body, "all", -1, {tiny.programInput("x", tiny.type({{"B", kHuge}, {"D", kHuge}}))});
  Unrolled trace(tiny.program);
  EXPECT_EQ(trace.outcome, Outcome::Failed);
  EXPECT_THAT(trace.nodes, IsEmpty());
  ASSERT_EQ(trace.diags.sorted().size(), 1u);
  EXPECT_EQ("[" + trace.diags.sorted()[0]->info.code() + "]", "[E752]");
  EXPECT_THAT(trace.diags.sorted()[0]->message, HasSubstr("`y`"));
}

} // namespace
