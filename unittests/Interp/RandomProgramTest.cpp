//===- RandomProgramTest.cpp - the interpreter against the shape rules -----===//
// The interpreter works shapes and element types out anew and compares them with the types that the shape rules gave.
// So every random program that runs is a check of both.
//===----------------------------------------------------------------------===//
#include "RandomProgram.h"
#include "stg/Interp/Interpreter.h"
#include "gtest/gtest.h"

namespace stg::interp {
namespace {

TEST(RandomProgram, RunsAndHasTheTypesThatItStates) {
  constexpr uint64_t kCount = 300;
  uint64_t first = firstSeed(1), ran = 0;
  for (uint64_t seed = first; seed < first + kCount; ++seed) {
    Program program = randomProgram(seed);
    InterpInputs inputs;
    inputs.seed = seed;
    try {
      InterpResult result = interpret(program, inputs, KeepValues::All);
      ++ran;
      EXPECT_EQ(result.outputs.size(), program.outputs.size());
    } catch (const InterpFault &fault) {
      llvm::StringRef text = fault.what();
      // Indices may be any number there, and some calls are opaque.
      EXPECT_TRUE(text.contains("neither a define block nor a reference") || text.contains("is outside 0.."))
          << "STG_SEED=" << seed << ": " << text.str();
    }
  }
  EXPECT_GT(ran, kCount / 3);
}

TEST(RandomProgram, TheSameSeedGivesTheSameNumbers) {
  Program program = randomProgram(firstSeed(1));
  InterpInputs inputs;
  auto run = [&]() -> std::string {
    try {
      std::string text;
      for (const NamedTensor &value : interpret(program, inputs, KeepValues::All).values)
        text.append(reinterpret_cast<const char *>(value.value.data.data()), value.value.data.size() * sizeof(double));
      return text;
    } catch (const InterpFault &fault) {
      return fault.what();
    }
  };
  EXPECT_EQ(run(), run());
}

} // namespace
} // namespace stg::interp
