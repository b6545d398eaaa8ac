//===- PassManagerTest.cpp - order of passes, and what a broken one leaves -----===//
#include "stg/Passes/PassManager.h"
#include "stg/IR/Reader.h"
#include "stg/Support/InternalError.h"
#include "gmock/gmock.h"

using namespace stg;

namespace {

constexpr PassId kBackwards[] = {PassId::InferShapes, PassId::Elaborate};
static_assert(!wellOrdered(kBackwards, PassLevel::Source), "a pipeline in a wrong order does not compile");
static_assert(!wellOrdered(kDefaultPipeline, PassLevel::Elaborated));

class PassManagerTest : public ::testing::Test {
protected:
  SourceManager sources;
  Diagnostics diags{sources};
  Program program;
  PassManagerTest()
      : program(*readProgram(sources.addBuffer("p.stgir", R"(stgir elaborated program p mode forward sizes B = 2
          input x : f32[B]
          body b { input x : f32[B] %x = input x kernel 0 %y = exp(%x) -> f32 kernel 1 output y = %y }
          unit @all : b(x = input x))"),
                             diags)) {}
};

TEST_F(PassManagerTest, RunsAndCounts) {
  std::vector<PassRun> runs;
  EXPECT_EQ(runPasses(program, {PassId::InferShapes}, diags, &runs), Outcome::Done);
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].stats.opVisits, 2u);
  EXPECT_EQ(program.level, Level::Typed);
}

TEST_F(PassManagerTest, RefusesAPassThatDoesNotFindItsLevel) {
  std::vector<PassRun> runs;
  EXPECT_EQ(runPasses(program, {PassId::InferShapes, PassId::InferShapes}, diags, &runs), Outcome::Failed);
  EXPECT_EQ(runs.size(), 1u);
  ASSERT_EQ(diags.sorted().size(), 1u);
  EXPECT_EQ(diags.sorted()[0]->info.code(), "E906");
  EXPECT_EQ(diags.sorted()[0]->message, "`infer-shapes` needs level elaborated, the program is typed");
}

TEST_F(PassManagerTest, ABrokenPromiseNamesPassLevelAndOp) {
  ASSERT_EQ(runPasses(program, {PassId::InferShapes}, diags), Outcome::Done);
  program.bodies[0].values[1].type->element = ElementType::BF16;
  try {
    verifyAfter("some-pass", program);
    FAIL() << "nothing was thrown";
  } catch (const InternalError &error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(::testing::HasSubstr("some-pass"), ::testing::HasSubstr("typed"),
                                               ::testing::HasSubstr("%y : bf16[B] = exp(%x)"),
                                               ::testing::HasSubstr("where its rule gives f32[B]")));
  }
}

TEST_F(PassManagerTest, VerifiesAfterEachPass) {
  // A unit that binds nothing: infer-shapes does not look at units, the verifier does.
  program.units[0].inputs.clear();
  EXPECT_THROW((void)runPasses(program, {PassId::InferShapes}, diags, nullptr, VerifyPasses::AfterEach), InternalError);
}

TEST(PassTableTest, NamesAreUniqueAndReadBack) {
  for (const PassInfo &info : kPasses)
    EXPECT_EQ(passFrom(info.name), info.id);
  EXPECT_FALSE(passFrom("no-such-pass"));
}

} // namespace
