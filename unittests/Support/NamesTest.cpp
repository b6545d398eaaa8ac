//===- NamesTest.cpp - ids, interned strings, misspelt names, faults ------===//
#include "stg/Support/ClosestName.h"
#include "stg/Support/InternalError.h"
#include "stg/Support/Interner.h"

#include <gtest/gtest.h>

using namespace stg;

namespace {

using AppleId = Id<struct AppleTag>;
using PearId = Id<struct PearTag>;
static_assert(!std::is_convertible_v<AppleId, PearId>);
static_assert(!std::is_convertible_v<uint32_t, AppleId>);

TEST(Ids, invalidUntilGiven) {
  EXPECT_FALSE(AppleId().valid());
  EXPECT_TRUE(AppleId(0).valid());
  EXPECT_LT(AppleId(1), AppleId(2));
  llvm::DenseMap<AppleId, int> map;
  map[AppleId(0)] = 1;
  map[AppleId()] = 2;
  EXPECT_EQ(map.lookup(AppleId(0)), 1);
  EXPECT_EQ(map.lookup(AppleId()), 2);
}

TEST(Interner, oneSymbolPerText) {
  Interner names;
  Symbol empty = names.intern("");
  std::vector<Symbol> symbols;
  for (int i = 0; i != 1000; ++i)
    symbols.push_back(names.intern("name" + std::to_string(i)));
  for (int i = 0; i != 1000; ++i) {
    EXPECT_EQ(names.intern("name" + std::to_string(i)), symbols[i]);
    EXPECT_EQ(names.text(symbols[i]), "name" + std::to_string(i));
  }
  EXPECT_EQ(names.text(empty), "");
  EXPECT_EQ(names.size(), 1001u);
  EXPECT_EQ(names.find("name7"), symbols[7]);
  EXPECT_FALSE(names.find("none").valid());
}

TEST(ClosestName, nearEnoughOrNothing) {
  EXPECT_EQ(closestName("swigul", {"linear", "swiglu"}), "swiglu");
  EXPECT_EQ(closestName("replicat", {"replicate", "replica"}), "replicate");
  EXPECT_EQ(closestName("dp", {"tp", "pp"}), std::nullopt);
  EXPECT_EQ(closestName("Dff", {"D", "F"}), std::nullopt);
  EXPECT_EQ(closestName("h", {"B", "H"}), "H");
  EXPECT_EQ(closestName("attention", {"retention", "attend"}), "retention");
  EXPECT_EQ(closestName("rmsnorm", {"RMSNorm", "rmsnrom"}), "RMSNorm");
  EXPECT_EQ(closestName("x", {}), std::nullopt);
  EXPECT_EQ(closestName("abc", {"abc"}), std::nullopt);
}

TEST(InternalError, namesPassLevelAndOp) {
  std::string text;
  try {
    InternalErrorScope scope("infer-shapes", "Elaborated");
    internalError("%3 = contract", "an operand has no type");
  } catch (const InternalError &error) {
    llvm::raw_string_ostream os(text);
    EXPECT_EQ(static_cast<int>(reportInternalError(error, os)), 70);
  }
  EXPECT_EQ(text, "stgc: internal error: an operand has no type\n  pass  infer-shapes\n  level Elaborated\n"
                  "  op    %3 = contract\n"
                  "  this is a fault of the compiler, not of your program; please report it with the input\n");
  try {
    internalError("", "outside");
  } catch (const InternalError &error) {
    EXPECT_EQ(llvm::StringRef(error.what()).find("pass "), llvm::StringRef::npos);
  }
}

} // namespace
