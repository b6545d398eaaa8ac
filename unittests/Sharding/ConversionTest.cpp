//===- ConversionTest.cpp - from one layout to another --------------------------===//
#include "stg/Sharding/Conversion.h"
#include "gtest/gtest.h"
#include <random>

using namespace stg;

namespace {

struct Tensor {
  IRContext context;
  std::vector<Dim> dims;
  std::vector<MeshAtom> atoms;

  Tensor(std::vector<std::string> dimNames, std::vector<std::string> atomNames) {
    for (const std::string &name : dimNames)
      dims.push_back({context.name(name), context.dims.symbol(name, 16)});
    for (const std::string &name : atomNames)
      atoms.push_back({name, 2, 1, 0});
  }
  Layout layout(llvm::StringRef text) const { return *layoutFrom(text, dims, atoms, context.names); }
  std::string steps(llvm::StringRef from, llvm::StringRef to) const {
    std::string text;
    for (const ConversionStep &step : planConversion(layout(from), layout(to))) {
      text += (text.empty() ? "" : ", ") + mnemonic(step.kind).str() + " over";
      for (uint32_t atom : step.atoms)
        text += " " + atoms[atom].name;
    }
    return text;
  }
};

// Kundu et al. 2025 (STAGE), Table IV: the collectives between two layouts.
TEST(Conversion, CollectiveMatchingOfThePaper) {
  Tensor tensor({"B", "S", "H"}, {"dp", "tp"});
  const char *from = "[B/dp, S, H @ tp]";
  EXPECT_EQ(tensor.steps(from, "[B/dp, S, H/tp]"), "reduce_scatter over tp");
  EXPECT_EQ(tensor.steps(from, "[B, S/dp, H @ tp]"), "all_to_all over dp");
  EXPECT_EQ(tensor.steps(from, "[B, S, H @ tp]"), "all_gather over dp");
  EXPECT_EQ(tensor.steps(from, "[B/dp, S, H]"), "all_reduce over tp");
  EXPECT_EQ(tensor.steps(from, "[B/tp, S, H/dp]"), "reduce_scatter over tp, all_to_all over dp");
  EXPECT_EQ(tensor.steps(from, "[B, S, H]"), "all_reduce over tp, all_gather over dp");
}

TEST(Conversion, AtomsWithOneMoveGoTogether) {
  Tensor tensor({"B", "S"}, {"a", "b", "c"});
  EXPECT_EQ(tensor.steps("[B, S @ a b c]", "[B, S]"), "all_reduce over a b c");
  EXPECT_EQ(tensor.steps("[B/a/b, S/c]", "[B, S]"), "all_gather over a b, all_gather over c");
}

TEST(Conversion, ShrinksFirstAndGrowsLast) {
  Tensor tensor({"B", "S"}, {"a", "b", "c", "d", "e"});
  EXPECT_EQ(tensor.steps("[B/a, S/b @ c d]", "[B/b/e, S/c]"),
            "shard over e, reduce_scatter over c, all_reduce over d, all_to_all over b, all_gather over a");
}

TEST(Conversion, WholeValuesAreDemoted) {
  Tensor tensor({"B"}, {"a", "b"});
  EXPECT_EQ(tensor.steps("[B @ a]", "[B @ a b]"), "demote over b");
  EXPECT_EQ(tensor.steps("[B/a]", "[B @ a]"), "all_gather over a, demote over a");
}

// The steps lead from the first layout to the second, each can be applied, and none moves an atom that lies right.
TEST(Conversion, RandomLayouts) {
  std::mt19937 random(7);
  Tensor tensor({"B", "S", "D"}, {"a", "b", "c", "d"});
  auto anyLayout = [&] {
    Layout layout(4);
    for (Place &place : layout.places)
      switch (random() % 6) {
      case 0:
        break;
      case 1:
        place = Place::partial();
        break;
      case 2:
        place = Place::partial(ReduceFn::Max);
        break;
      default:
        place = Place::split(tensor.dims[random() % 3].name);
      }
    return layout;
  };
  for (int i = 0; i < 20000; ++i) {
    Layout from = anyLayout(), to = anyLayout(), at = from;
    for (const ConversionStep &step : planConversion(from, to)) {
      CollectiveFields fields{step.atoms, step.from, step.to, step.fn, {}};
      std::optional<Layout> after = layoutAfter(step.kind, fields, at);
      ASSERT_TRUE(after);
      ASSERT_EQ(*after, step.after);
      for (uint32_t atom : step.atoms)
        ASSERT_NE(from.places[atom], to.places[atom]);
      at = *after;
    }
    ASSERT_EQ(at, to);
  }
}

} // namespace
