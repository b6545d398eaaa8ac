//===- AssignTest.cpp - the one procedure, case by case -------------------------===//
#include "stg/IR/Reader.h"
#include "stg/Sharding/ExplainLayouts.h"
#include "gtest/gtest.h"

using namespace stg;

namespace {

/// A program with one value of each kind of tensor; `home` says where one lives, with the rule in brackets.
struct Homes {
  SourceManager sources;
  Diagnostics diags{sources};
  std::optional<Program> program;

  explicit Homes(const std::string &meshAndPlan, const std::string &sizes = "B = 8, S = 8, D = 8, KV = 2, R = 8") {
    auto [mesh, plan] = llvm::StringRef(meshAndPlan).split('\n');
    program = readProgram(sources.addBuffer("h.stgir", "stgir differentiated\nprogram p mode forward\n" + mesh.str() +
                                                           "\nsizes " + sizes + "\nfactor H = (KV, R)\n" + plan.str() +
                                                           R"(
      input x : f32[B, S, D] input q : f32[B, KV, R] input k : f32[B, KV]
      body b {
        input x : f32[B, S, D]
        input q : f32[B, KV, R]
        input k : f32[B, KV]
        %x : f32[B, S, D] = input x kernel 0
        %q : f32[B, KV, R] = input q kernel 0
        %k : f32[B, KV] = input k kernel 0
        %y : f32[B, S] = reduce(%x) sum(D) kernel 1 scope attn
      }
      unit @u[3] : b(x = input x, q = input q, k = input k)
    )"),
                          diags);
    for (const Diagnostic *diagnostic : diags.sorted())
      ADD_FAILURE() << sources.describe(diagnostic->range) << " " << diagnostic->message;
  }

  const Body &body() const { return program->bodies[0]; }
  ValueId value(llvm::StringRef name) const {
    for (uint32_t i = 0; i < body().values.size(); ++i)
      if (program->text(body().values[i].name) == name)
        return ValueId(i);
    throw std::runtime_error("no value");
  }
  std::string home(llvm::StringRef name) const {
    HomeExplanation found = explainHome(*program, UnitId(0), value(name));
    return toString(found.home, body().value(value(name)).type->dims, program->mesh.atoms(), program->context->names);
  }
};

TEST(Assign, AnAxisGoesToTheFirstDimOfTheFirstRule) {
  Homes homes("mesh dp = 2, tp = 4\nsplit (B) over (dp)\nsplit (R, S) over (tp)\nsplit (D) over (tp)");
  EXPECT_EQ(homes.home("x"), "[B/dp, S/tp, D]");
  EXPECT_EQ(homes.home("q"), "[B/dp, KV, R/tp]");
  EXPECT_EQ(homes.home("k"), "[B/dp, KV]");
}

TEST(Assign, SaysWhoPlacedWhatAndWhoLost) {
  Homes homes("mesh dp = 2, tp = 4\nsplit (B) over (dp)\nsplit (S) over (tp)\nsplit (D) over (tp)");
  Assignment home = explainHome(*homes.program, UnitId(0), homes.value("x")).assignment;
  EXPECT_EQ(home.atoms[1].item, 1);
  EXPECT_EQ(home.atoms[1].rule, 1);
  ASSERT_EQ(home.atoms[1].losers.size(), 1u);
  EXPECT_EQ(home.atoms[1].losers[0].rule, 2u);
  EXPECT_EQ(home.atoms[1].losers[0].item, 2u);
}

TEST(Assign, SeveralAxesOnOneDimAndOnlyWhatDivides) {
  Homes homes("mesh a = 2, b = 2, c = 4\nsplit (B) over (a, b)\nsplit (B or replicate) over (c)");
  EXPECT_EQ(homes.home("x"), "[B/a/b, S, D]"); // 8 / 4 = 2 is less than c, which must be cut
  Assignment home = explainHome(*homes.program, UnitId(0), homes.value("x")).assignment;
  ASSERT_TRUE(home.cut);
  EXPECT_EQ(home.cut->atom, 2u);
  EXPECT_EQ(home.cut->major, 2);
}

TEST(Assign, TheRestOfAReplicatedAxisIsNotOfferedAgain) {
  Homes homes("mesh tp = 4 cut (2)\nsplit (KV or replicate, R or replicate) over (tp)\nsplit (B) over (tp)");
  EXPECT_EQ(homes.home("q"), "[B, KV/tp', R/tp'']");
  EXPECT_EQ(homes.home("k"), "[B, KV/tp']");
  EXPECT_EQ(homes.home("x"), "[B/tp'/tp'', S, D]");
}

TEST(Assign, FactorsOfACompositeAreTriedBeforeAnError) {
  Homes homes("mesh tp = 4\nsplit (KV, R, H) over (tp)");
  EXPECT_EQ(homes.home("q"), "[B, KV, R/tp]"); // 2 key-value heads do not divide, 8 query heads each do
  Assignment home = explainHome(*homes.program, UnitId(0), homes.value("k")).assignment;
  ASSERT_EQ(home.refusals.size(), 1u);
  EXPECT_EQ(home.refusals[0].target, 0u);
}

TEST(Assign, ADimThatIsThereIsNotPassedOver) {
  Homes homes("mesh dp = 16\nsplit (B, S) over (dp)", "B = 8, S = 16, D = 8, KV = 2, R = 8");
  EXPECT_EQ(explainHome(*homes.program, UnitId(0), homes.value("x")).assignment.refusals.size(), 1u);
}

TEST(Assign, PadPlacesWhatDoesNotDivide) {
  Homes homes("mesh dp = 3\nsplit (B pad) over (dp)");
  EXPECT_EQ(homes.home("x"), "[B/dp, S, D]");
}

TEST(Assign, KeepAndScopes) {
  Homes homes("mesh dp = 2, tp = 2\nsplit (B) over (dp)\nkeep B in (\"attn\")\nsplit (S) over (tp) in (\"u[0..3]\")\n"
              "split (S) over (tp) in (\"u[3..4].attn\")");
  EXPECT_EQ(homes.home("x"), "[B/dp, S, D]");
  EXPECT_EQ(homes.home("y"), "[B, S/tp]");
}

TEST(Assign, OpsTakeTheDimsOfTheirResultFirst) {
  Homes homes("mesh tp = 2, x = 2\nsplit (S) over (tp)\nsplit (D) over (x)");
  Assignment compute = explainCompute(*homes.program, UnitId(0), homes.body().value(homes.value("y")).def);
  EXPECT_EQ(compute.atoms[0].item, 1); // factors B, S, D
  EXPECT_EQ(compute.atoms[1].item, 2);
}

} // namespace
