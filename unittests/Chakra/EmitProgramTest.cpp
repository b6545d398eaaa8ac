//===- EmitProgramTest.cpp - a program as files -----------------------------===//

#include "stg/Chakra/EmitProgram.h"
#include "Interp/TinyProgram.h"
#include "Trace/TrainStep.h"
#include "stg/Chakra/EtCommands.h"
#include "stg/Chakra/TraceSet.h"
#include "stg/Shape/InferShapes.h"
#include "stg/Support/AtomicOutput.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace stg;
using interp::TinyProgram;

namespace {

class EmitProgram : public testing::Test {
protected:
  EmitProgram() : diags(sources) {}
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("emit-program", path));
    root = std::string(path);
    BodyId body = tiny.beginBody("all");
    ValueId x = tiny.input("x", tiny.type({{"B", 64}, {"D", 64}}));
    ValueId h = tiny.contract({x, tiny.weight("w", tiny.type({{"D", 64}, {"F", 64}}))}, {"D"}, "h");
    tiny.output("y", tiny.map(MapFn::Relu, {h}, "y"));
    tiny.unit(body, "all", -1, {tiny.programInput("x", tiny.type({{"B", 64}, {"D", 64}}))});
    PassStats shapes;
    ASSERT_EQ(inferShapes(tiny.program, diags, shapes), Outcome::Done);
    tiny.program.level = Level::Typed;
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }

  EmitOptions options(const char *directory) {
    return {.output = root + "/" + directory, .prefix = "toy", .compilerVersion = "0.1.0"};
  }
  std::string run(ExitStatus (*command)(const VerifyOptions &, llvm::raw_ostream &, Diagnostics &), VerifyOptions to) {
    std::string text;
    llvm::raw_string_ostream out(text);
    command(to, out, diags);
    return text;
  }

  TinyProgram tiny;
  SourceManager sources;
  Diagnostics diags;
  EmitSummary summary;
  PassStats stats;
  std::string root;
};

TEST_F(EmitProgram, OneRankIsReadBack) {
  ASSERT_EQ(emitProgram(tiny.program, options("out"), summary, stats, diags), Outcome::Done);
  EXPECT_EQ(summary.ranks(), 1u);
  EXPECT_EQ(summary.classes.front().nodesPerRank, 2u);
  std::string text;
  llvm::raw_string_ostream out(text);
  EXPECT_EQ(dumpTraces({.inputs = {root + "/out"}}, out, diags), ExitStatus::Done);
  EXPECT_NE(text.find("1 COMP F0:all.h is_cpu_op=false num_ops=524288 tensor_size=49152 op_type=contract"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("mesh=\"one rank\" program="), std::string::npos);
  EXPECT_EQ(run(verifyTraces, {.inputs = {root + "/out"}}), "ok: 1 rank, 2 nodes, 2 dependencies\n");
}

TEST_F(EmitProgram, ReplicatedRanksDifferInTheirMetadataOnly) {
  tiny.program.mesh.axes = {{"dp", 2}, {"tp", 2}};
  ASSERT_EQ(emitProgram(tiny.program, options("out"), summary, stats, diags), Outcome::Done);
  EXPECT_EQ(summary.ranks(), 4u);
  EXPECT_EQ(run(verifyTraces, {.inputs = {root + "/out"}}), "ok: 4 ranks, 8 nodes, 8 dependencies\n");
  for (uint32_t rank = 0; rank < 4; ++rank) {
    auto reader = TraceReader::open(root + "/out/toy." + std::to_string(rank) + ".et");
    ASSERT_TRUE(bool(reader));
    EXPECT_EQ(reader->fileBytes(), summary.classes.front().bytesPerRank);
    ASSERT_TRUE(reader->metadata().has_value());
    for (const DecodedAttribute &attribute : reader->metadata()->attributes) {
      if (attribute.name == "rank")
        EXPECT_EQ(attribute.asUnsigned(), rank);
      if (attribute.name == "mesh")
        EXPECT_EQ(*attribute.asString(), "dp 2 x tp 2");
    }
  }
}

TEST_F(EmitProgram, SameProgramSameBytes) {
  ASSERT_EQ(emitProgram(tiny.program, options("one"), summary, stats, diags), Outcome::Done);
  ASSERT_EQ(emitProgram(tiny.program, options("two"), summary, stats, diags), Outcome::Done);
  auto one = llvm::MemoryBuffer::getFile(root + "/one/toy.0.et"),
       two = llvm::MemoryBuffer::getFile(root + "/two/toy.0.et");
  ASSERT_TRUE(one && two);
  EXPECT_EQ((*one)->getBuffer(), (*two)->getBuffer());
  EXPECT_NE(metadataOf(tiny.program, ProcessGroups(tiny.program), "0.1.0").programHash, std::string(16, '0'));
}

TEST_F(EmitProgram, EachRankNamesItsOwnGroups) {
  Program program = trainStep();
  ASSERT_EQ(emitProgram(program, options("out"), summary, stats, diags), Outcome::Done);
  EXPECT_EQ(run(verifyTraces, {.inputs = {root + "/out"}}).substr(0, 3), "ok:");
  EXPECT_TRUE(diags.sorted().empty());
  auto groups = readGroupFile(root + "/out/comm_groups.json");
  ASSERT_TRUE(bool(groups));
  std::map<std::string, std::vector<uint32_t>> expected = {{"1", {0, 1}}, {"3", {2, 3}}, {"2", {0, 2}}, {"4", {1, 3}}};
  EXPECT_EQ(*groups, expected);
  const char *tp[] = {"1", "1", "3", "3"}, *dp[] = {"2", "4", "2", "4"};
  for (uint32_t rank = 0; rank < 4; ++rank) {
    auto reader = TraceReader::open(root + "/out/toy." + std::to_string(rank) + ".et");
    ASSERT_TRUE(bool(reader));
    std::string kinds;
    for (const DecodedAttribute &attribute : reader->metadata()->attributes)
      if (attribute.name == "group_kinds")
        kinds = *attribute.asString();
    EXPECT_EQ(kinds, "tp dp");
    DecodedNode node;
    size_t collectives = 0;
    while (reader->next(node)) {
      if (!node.is(EtNodeType::Coll))
        continue;
      ++collectives;
      bool overTp = node.name.find("(tp)") != std::string::npos;
      EXPECT_EQ(*node.find("pg_name")->asString(), overTp ? tp[rank] : dp[rank]) << node.name;
    }
    EXPECT_EQ(collectives, 2u * 2 * 2 + 2 + 1);
  }
}

TEST_F(EmitProgram, GroupIdsHaveAFixedWidthOnManyRanksAndAnyThreads) {
  Program program = trainStep(trainStepText(1, 1, 64));
  EmitOptions one = options("one"), many = options("many");
  one.threads = 1;
  many.threads = 4;
  ASSERT_EQ(emitProgram(program, one, summary, stats, diags), Outcome::Done);
  ASSERT_EQ(emitProgram(program, many, summary, stats, diags), Outcome::Done);
  EXPECT_EQ(summary.ranks(), 128u);
  for (uint32_t rank : {0u, 1u, 63u, 64u, 127u}) {
    std::string name = "/toy." + std::to_string(rank) + ".et";
    auto left = llvm::MemoryBuffer::getFile(root + "/one" + name),
         right = llvm::MemoryBuffer::getFile(root + "/many" + name);
    ASSERT_TRUE(left && right);
    EXPECT_EQ((*left)->getBuffer(), (*right)->getBuffer());
    EXPECT_EQ((*left)->getBufferSize(), summary.classes.front().bytesPerRank);
  }
  EXPECT_EQ(run(verifyTraces, {.inputs = {root + "/many"}}).substr(0, 3), "ok:");
}

TEST_F(EmitProgram, OtherReadersTargetIsVerifiedByItsOwnRule) {
  Program program = trainStep();
  EmitOptions chakra = options("out");
  chakra.target = TraceTarget::Chakra;
  ASSERT_EQ(emitProgram(program, chakra, summary, stats, diags), Outcome::Done);
  EXPECT_EQ(run(verifyTraces, {.inputs = {root + "/out"}, .target = TraceTarget::Chakra}).substr(0, 3), "ok:");
}

TEST_F(EmitProgram, WhatIsNoTraceIsNotReplaced) {
  llvm::sys::fs::create_directories(root + "/out");
  ASSERT_FALSE(writeOutputFile(root + "/out/notes.txt", llvm::StringRef("mine")));
  EXPECT_EQ(emitProgram(tiny.program, options("out"), summary, stats, diags), Outcome::Failed);
  ASSERT_EQ(diags.sorted().size(), 1u);
  EXPECT_EQ("[" + diags.sorted()[0]->info.code() + "]", "[E606]");
  EXPECT_EQ(diags.exitStatus(), ExitStatus::Environment);
  EXPECT_TRUE(llvm::sys::fs::exists(root + "/out/notes.txt"));
}

} // namespace
