//===- RoundTripTest.cpp - print, read, print -------------------------------===//
#include "RandomProgram.h"
#include "SourceDir.h"
#include "stg/IR/Printer.h"
#include "stg/IR/Reader.h"
#include "stg/IR/Verifier.h"
#include "stg/Shape/VerifyTypes.h"
#include "stg/Support/DiagnosticRenderer.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <fstream>
#include <random>
#include <set>

using namespace stg;

namespace {

struct Read {
  SourceManager sources;
  Diagnostics diags{sources};
  std::optional<Program> program;
  explicit Read(std::string text) { program = readProgram(sources.addBuffer("test.stgir", std::move(text)), diags); }
  std::string errors() const {
    std::string text;
    for (const Diagnostic *diagnostic : diags.sorted())
      text += sources.describe(diagnostic->range) + ": " + diagnostic->info.code() + ": " + diagnostic->message + "\n";
    return text;
  }
};

std::string violations(const Program &program) {
  std::vector<Violation> found = verify(program);
  if (found.empty() && program.level >= Level::Typed)
    found = verifyTypes(program);
  std::string text;
  for (const Violation &violation : found)
    text += violation.op + ": " + violation.text + "\n";
  return text;
}

/// Kinds that no source program has: test/IR/training-forms.stgir does.
bool isMadeByPasses(OpKind kind) { return kind >= OpKind::Pad && kind <= OpKind::Load; }

TEST(RoundTripTest, RandomProgramsReadBackAsThemselves) {
  uint64_t first = firstSeed(1);
  std::set<OpKind> kinds;
  std::set<MapFn> functions;
  for (uint64_t seed = first; seed < first + 2000; ++seed) {
    Program program = randomProgram(seed);
    ASSERT_EQ(violations(program), "") << "STG_SEED=" << seed;
    std::string text = toString(program);
    Read read(text);
    ASSERT_TRUE(read.program) << "STG_SEED=" << seed << "\n" << read.errors() << text;
    ASSERT_EQ(toString(*read.program), text) << "STG_SEED=" << seed;
    ASSERT_EQ(violations(*read.program), "") << "STG_SEED=" << seed;
    for (const Body &body : program.bodies)
      for (const Op &op : body.ops) {
        kinds.insert(op.kind);
        if (op.kind == OpKind::Map)
          functions.insert(op.get<MapFields>().fn);
      }
  }
#define OP(kind, ...) EXPECT_TRUE(kinds.count(OpKind::kind) || isMadeByPasses(OpKind::kind)) << #kind;
#include "stg/IR/Ops.def"
#define FN(name, ...) EXPECT_TRUE(functions.count(MapFn::name)) << #name;
#include "stg/IR/MapFns.def"
}

TEST(RoundTripTest, FilesOfTheTestsReadBackAsThemselves) {
  size_t files = 0;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(kSourceDir + std::string("/test"))) {
    if (entry.path().extension() != ".stgir")
      continue;
    std::ifstream in(entry.path());
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    Read read(text);
    // Tests of the reader's own errors are named so.
    if (entry.path().filename().string().find("-errors") != std::string::npos)
      continue;
    ASSERT_TRUE(read.program) << entry.path() << "\n" << read.errors();
    std::string once = toString(*read.program);
    Read again(once);
    ASSERT_TRUE(again.program) << entry.path() << "\n" << again.errors() << once;
    EXPECT_EQ(toString(*again.program), once) << entry.path();
    ++files;
  }
  EXPECT_GT(files, 0u);
}

TEST(RoundTripTest, DamagedTextNeverCrashesTheReader) {
  uint64_t first = firstSeed(1);
  for (uint64_t seed = first; seed < first + 300; ++seed) {
    std::string text = toString(randomProgram(seed));
    std::mt19937_64 random(seed);
    for (int damage = 0; damage < 5; ++damage) {
      std::string broken = text;
      switch (random() % 3) {
      case 0: // a byte changed
        broken[random() % broken.size()] = static_cast<char>(random());
        break;
      case 1: // the end missing
        broken.resize(random() % broken.size());
        break;
      case 2: { // a stretch copied elsewhere
        size_t from = random() % broken.size();
        broken.insert(random() % broken.size(), broken.substr(from, random() % 40));
        break;
      }
      }
      Read read(broken);
      // Whatever was read prints, and verifying it does not crash either.
      if (read.program) {
        toString(*read.program);
        violations(*read.program);
      } else {
        EXPECT_EQ(read.diags.numErrors(), 1u);
      }
    }
  }
}

TEST(ReaderTest, ErrorsNameThePlaceAndWhatWasExpected) {
  auto error = [](const char *text) { return Read(text).errors(); };
  EXPECT_EQ(error(""), "test.stgir:1:1: E901: expected `stgir`, found the end of the file\n");
  EXPECT_EQ(error("stgir typed\nprogram p mode fast\n"), "test.stgir:2:16: E901: expected a mode, found `fast`\n");
  EXPECT_EQ(error("stgir typed program p mode train sizes B = x"),
            "test.stgir:1:44: E901: expected a whole number, found `x`\n");
  EXPECT_EQ(error("stgir typed program p mode train sizes B = 1, B = 2"),
            "test.stgir:1:47: E903: size `B` is already defined\n");
  EXPECT_EQ(error("stgir typed program p mode train input x : f32[B]"), "test.stgir:1:48: E904: `B` is no size\n");
  EXPECT_EQ(error("stgir typed program p mode train input x : f32[B = 2 +]"),
            "test.stgir:1:52: E904: `2 +` is no size\n");
  EXPECT_EQ(error("stgir typed program p mode train body b {\n  %y = exp(%x) -> f32 kernel 0 }"),
            "test.stgir:2:12: E902: no value `x` here\n");
  EXPECT_EQ(error("stgir typed program p mode train body b {\n  %y = sine() kernel 0 }"),
            "test.stgir:2:8: E901: expected an op, found `sine`\n");
  EXPECT_EQ(error("stgir typed program p mode train body b { %y = constant 1 kernel 0 }"),
            "test.stgir:1:59: E901: expected `->` and an element type, found `kernel`\n");
  EXPECT_EQ(error("stgir typed program p mode train unit @u : b()"), "test.stgir:1:44: E902: no body `b` here\n");
  EXPECT_EQ(error("stgir typed program p mode train body b {\n} unit @u : b() unit @v : b(x = @u:y)"),
            "test.stgir:2:29: E902: no slot `x` here\n");
  EXPECT_EQ(error("stgir typed program \"p"),
            "test.stgir:1:23: E901: expected `\"` at the end of the string, found the "
            "end of the file\n");
  EXPECT_EQ(error("stgir typed\n\xC3\xA9"), "test.stgir:2:1: E901: expected `program`, found `\xC3\xA9`\n");
}

TEST(ReaderTest, NestingIsBounded) {
  Read deep("stgir typed program p mode train sizes B = 1 input x : f32[F = " + std::string(100000, '(') + "]");
  EXPECT_FALSE(deep.program);
}

TEST(PrinterTest, PrintsWhatTheVerifierRefuses) {
  Program program = randomProgram(3);
  for (Body &body : program.bodies) {
    for (Op &op : body.ops) {
      for (ValueId &operand : op.operands)
        operand = ValueId(100000);
      op.fields = StopFields();
    }
    body.name = NameId();
    body.values.pop_back();
  }
  program.units[0].body = BodyId(77);
  EXPECT_FALSE(toString(program).empty());
  EXPECT_FALSE(verify(program).empty());
}

} // namespace
