//===- DiagnosticTextTest.cpp - messages as people see them ---------------===//
// The expected texts are those of the language's design: place, source line, carets, notes.
#include "stg/Support/DiagnosticRenderer.h"

#include <gtest/gtest.h>

using namespace stg;

namespace {

class DiagnosticTextTest : public testing::Test {
protected:
  FileId add(llvm::StringRef path, std::string text) { return sources.addBuffer(path, std::move(text)); }

  /// The `occurrence`-th (from 0) `needle` in a file.
  SourceRange find(FileId file, llvm::StringRef needle, unsigned occurrence = 0) {
    size_t at = sources.text(file).find(needle);
    while (occurrence--)
      at = sources.text(file).find(needle, at + 1);
    EXPECT_NE(at, llvm::StringRef::npos) << needle.str();
    return {file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + needle.size())};
  }

  std::string rendered(TextDiagnosticOptions options = {.colours = Colours::Never}) {
    std::string out;
    llvm::raw_string_ostream os(out);
    printDiagnostics(diags, os, options);
    return "\n" + out;
  }

  SourceManager sources;
  Diagnostics diags{sources};
};

TEST_F(DiagnosticTextTest, fixitStandsBehindTheCarets) {
  FileId file = add("run.stg", "\n\n\n\n\n  model m.llama3_8b(B = 1024, S = 8K)\n");
  SourceRange range = find(file, "8K");
  diags
      .report(range,
              diag::AmbiguousSuffix{
                  .literal = "8K", .binary = "8Ki", .binaryValue = 8192, .decimal = "8k", .decimalValue = 8000})
      .fixit(range, "8Ki");
  EXPECT_EQ(rendered(), R"(
error[E101]: `8K` is ambiguous: write `8Ki` (8192) or `8k` (8000)
  --> run.stg:6:35
 6 |   model m.llama3_8b(B = 1024, S = 8K)
   |                                   ^^ help: 8Ki
)");
}

TEST_F(DiagnosticTextTest, labelNoteAndHelp) {
  FileId file = add("my.stg", "\n\n\n\n\n\n\n\n    x = x + ffn: swiglu(norm2: rmsnorm(x))\n");
  diags.report(find(file, "swiglu"), diag::MissingSize{.layer = "swiglu", .dim = "F"})
      .label("F is not a dimension of x[B, S, D] and has no default")
      .note("F is used by `weight w_gate[D, F]` at std/ffn.stg:18")
      .help("swiglu(norm2: rmsnorm(x); F = 4 * D)");
  EXPECT_EQ(rendered(), R"(
error[E201]: swiglu needs a size for F
  --> my.stg:9:18
 9 |     x = x + ffn: swiglu(norm2: rmsnorm(x))
   |                  ^^^^^^ F is not a dimension of x[B, S, D] and has no default
   = F is used by `weight w_gate[D, F]` at std/ffn.stg:18
   = help: swiglu(norm2: rmsnorm(x); F = 4 * D)
)");
}

TEST_F(DiagnosticTextTest, earlierLabelOfALineStandsBelowItsCarets) {
  FileId file = add("my.stg", "\n\n\n\n\n\n  y = sum(D) x * w_in\n");
  diags
      .report(find(file, "x"),
              diag::OneNameTwoSizes{.dim = "D", .leftSize = 4096, .left = "x", .rightSize = 1280, .right = "w_in"})
      .label("x[B, S, D = 4096]: D from model parameter at my.stg:14")
      .label(find(file, "w_in"), "w_in[D = 1280, F = 5120]: D from layer parameter at my.stg:3")
      .note("one name is one dimension. If these differ on purpose, rename one: x[D as Dtext]");
  EXPECT_EQ(rendered(), R"(
error[E202]: D is 4096 in `x` but 1280 in `w_in`
  --> my.stg:7:14
 7 |   y = sum(D) x * w_in
   |              ^   ^^^^ w_in[D = 1280, F = 5120]: D from layer parameter at my.stg:3
   |              x[B, S, D = 4096]: D from model parameter at my.stg:14
   = one name is one dimension. If these differ on purpose, rename one: x[D as Dtext]
)");
}

TEST_F(DiagnosticTextTest, shortLabelStaysOnTheCaretRowIfItFits) {
  FileId file = add("my.stg", "  y = q + some_longer_operand_here + p\n");
  diags.report(find(file, "q"), diag::OuterProduct{.expression = "q + p", .result = "[B, V]"})
      .label("has B")
      .label(find(file, "p", 1))
      .label(find(file, "longer"), "has V");
  EXPECT_EQ(rendered(), R"(
error[E204]: `q + p` would be an outer product [B, V]
  --> my.stg:1:7
 1 |   y = q + some_longer_operand_here + p
   |       ^ has B  ^^^^^^ has V          ^
)");
}

TEST_F(DiagnosticTextTest, waitingLabelsHaveBars) {
  FileId file = add("my.stg", "a b c\n");
  diags.report(find(file, "a"), diag::DuplicateDim{.dim = "S"})
      .label("first")
      .label(find(file, "b"), "second")
      .label(find(file, "c"), "third");
  EXPECT_EQ(rendered(), R"(
error[E206]: a tensor cannot have the dimension S twice
  --> my.stg:1:1
 1 | a b c
   | ^ ^ ^ third
   | | second
   | first
)");
}

TEST_F(DiagnosticTextTest, secondCaretsWithoutText) {
  FileId file = add("my.stg", "\n\n\n\n\n\n\n  score[B, H, S, S] = sum(Dh) q * k\n");
  diags.report(find(file, "S"), diag::DuplicateDim{.dim = "S"})
      .label(find(file, "S", 1))
      .note("`q` and `k` both have S, so `q * k` pairs position i with position i only")
      .help("name the keys' positions: score[B, H, S, T] = sum(Dh) q * k[S as T]")
      .note("or use the fused kernel: o, lse = attend(q, k, v)");
  EXPECT_EQ(rendered(), R"(
error[E206]: a tensor cannot have the dimension S twice
  --> my.stg:8:15
 8 |   score[B, H, S, S] = sum(Dh) q * k
   |               ^  ^
   = `q` and `k` both have S, so `q * k` pairs position i with position i only
   = help: name the keys' positions: score[B, H, S, T] = sum(Dh) q * k[S as T]
   = or use the fused kernel: o, lse = attend(q, k, v)
)");
}

TEST_F(DiagnosticTextTest, labelAndFixitTogether) {
  FileId file = add("my.stg", "\n\n\n\n  g = sum(Dff) x * w_gate\n");
  diags.report(find(file, "Dff"), diag::NothingToSum{.operands = "neither `x` nor `w_gate` has", .dim = "Dff"})
      .label("x[B, S, D], w_gate[D, F]; they share D")
      .fixit(find(file, "Dff"), "D", "sum(D)");
  EXPECT_EQ(rendered(), R"(
error[E205]: nothing to sum: neither `x` nor `w_gate` has dimension Dff
  --> my.stg:5:11
 5 |   g = sum(Dff) x * w_gate
   |           ^^^ x[B, S, D], w_gate[D, F]; they share D.  help: sum(D)
)");
}

TEST_F(DiagnosticTextTest, placeInsideALibraryAndTheCallThatLedThere) {
  FileId library = add("std/attention.stg", "\n  factor H = (KV, R)   # of the range only\n");
  FileId file = add("my.stg", "    attn: gqa(x)\n");
  diags
      .report(find(library, "factor H = (KV, R)"),
              diag::NotAMultiple{.dim = "H", .size = 30, .divisor = "KV", .divisorSize = 8})
      .snippet(Snippet::Inline)
      .within(find(file, "gqa"), "attn: gqa(...)")
      .note("H was set by --set model.H=30.  Nearest that work: 24, 32");
  EXPECT_EQ(rendered(), R"(
error[E208]: H = 30 is not a multiple of KV = 8
  --> std/attention.stg:2:3    factor H = (KV, R)
   in attn: gqa(...), my.stg:1:11
   = H was set by --set model.H=30.  Nearest that work: 24, 32
)");
}

TEST_F(DiagnosticTextTest, withoutAPlace) {
  diags
      .report(diag::ScheduleNeeds{
          .schedule = "interleaved_1f1b", .rule = "micro-batches in multiples of pp = 4", .verb = "are", .count = 30})
      .detail("B = 960 / (micro = 1 x dp = 32) = 30")
      .note("B = 896 gives 28, B = 1024 gives 32");
  EXPECT_EQ(rendered(), R"(
error[E402]: interleaved_1f1b needs micro-batches in multiples of pp = 4, but there are 30
   B = 960 / (micro = 1 x dp = 32) = 30
   = B = 896 gives 28, B = 1024 gives 32
)");
}

TEST_F(DiagnosticTextTest, warningsSayWarning) {
  FileId file = add("plan.stg", "\n\n\n\n\n\n  split S over tp\n");
  diags.report(find(file, "split S over tp"), diag::RuleNeverApplies{})
      .label("every tensor and operator with S gives tp to B first (line 5: `split B over dp, tp`)");
  EXPECT_EQ(rendered(), R"(
warning[W303]: this rule never applies
  --> plan.stg:7:3
 7 |   split S over tp
   |   ^^^^^^^^^^^^^^^ every tensor and operator with S gives tp to B first (line 5: `split B over dp, tp`)
)");
}

TEST_F(DiagnosticTextTest, labelsOnOtherLinesAndInOtherFiles) {
  std::string text;
  for (int line = 1; line <= 120; ++line)
    text += "line" + std::to_string(line) + "\n";
  FileId file = add("long.stg", text);
  FileId other = add("other.stg", "weight w\n");
  diags.report(find(file, "line118"), diag::DuplicateDim{.dim = "S"})
      .label("here")
      .label(find(file, "line119"), "next")
      .label(find(file, "line7"), "far")
      .label(find(other, "w", 1), "elsewhere")
      .noteAt(find(other, "weight"), "declared here");
  EXPECT_EQ(rendered(), R"(
error[E206]: a tensor cannot have the dimension S twice
   --> long.stg:118:1
  7 | line7
    | ^^^^^ far
    :
118 | line118
    | ^^^^^^^ here
119 | line119
    | ^^^^^^^ next
   ::: other.stg:1:8
  1 | weight w
    |        ^ elsewhere
note: declared here
   --> other.stg:1:1
  1 | weight w
    | ^^^^^^
)");
}

TEST_F(DiagnosticTextTest, caretsCountTerminalColumns) {
  // Two bytes one column, three bytes two columns, a combining accent, a tab.
  FileId file = add("u.stg", "é = \"層e\u0301\"\t+ bad\n");
  diags.report(find(file, "bad"), diag::DuplicateDim{.dim = "S"});
  EXPECT_EQ(rendered(), "\nerror[E206]: a tensor cannot have the dimension S twice\n"
                        "  --> u.stg:1:13\n"
                        " 1 | é = \"層e\u0301\"   + bad\n"
                        "   |               ^^^\n");
}

TEST_F(DiagnosticTextTest, controlCharactersDoNotReachTheTerminal) {
  FileId file = add("u.stg", "a \x1b[31m b\n");
  diags.report(find(file, "b"), diag::DuplicateDim{.dim = "S"});
  std::string text = rendered();
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_NE(text.find("a \uFFFD[31m b\n   |         ^"), std::string::npos) << text;
}

TEST_F(DiagnosticTextTest, rangeOverSeveralLinesIsUnderlinedToTheEndOfItsFirst) {
  FileId file = add("m.stg", "layer f {\r\n  x\r\n}\r\n");
  diags.report({file, 6, 17}, diag::DuplicateDim{.dim = "S"}).label("here");
  EXPECT_EQ(rendered(), R"(
error[E206]: a tensor cannot have the dimension S twice
  --> m.stg:1:7
 1 | layer f {
   |       ^^^ here
)");
}

TEST_F(DiagnosticTextTest, endOfFileGetsOneCaret) {
  FileId file = add("m.stg", "layer f {");
  diags.report({file, 9, 9}, diag::DuplicateDim{.dim = "S"});
  EXPECT_EQ(rendered(), R"(
error[E206]: a tensor cannot have the dimension S twice
  --> m.stg:1:10
 1 | layer f {
   |          ^
)");
}

TEST_F(DiagnosticTextTest, veryLongLineShowsThePartAroundTheCarets) {
  std::string x(1000, 'x'), y(1000, 'y');
  FileId file = add("m.stg", x + "bad" + y + "far\n");
  diags.report(find(file, "bad"), diag::DuplicateDim{.dim = "S"}).label(find(file, "far"), "far");
  EXPECT_EQ(rendered(), "\nerror[E206]: a tensor cannot have the dimension S twice\n"
                        "  --> m.stg:1:1001\n"
                        " 1 | …" +
                            x.substr(0, 60) + "bad" + y.substr(0, 137) + "…\n   | " + std::string(61, ' ') + "^^^" +
                            std::string(137, ' ') + "^ far\n");
}

TEST_F(DiagnosticTextTest, coloursOnlyWhenWanted) {
  FileId file = add("m.stg", "x\n");
  diags.report(find(file, "x"), diag::DuplicateDim{.dim = "S"});
  EXPECT_NE(rendered({.colours = Colours::Always}).find("\x1b[1;31merror[E206]\x1b[0m"), std::string::npos);
  EXPECT_EQ(rendered({.colours = Colours::Auto}).find('\x1b'), std::string::npos);
}

TEST_F(DiagnosticTextTest, errorLimitSaysHowManyMore) {
  FileId file = add("m.stg", "xyz\n");
  for (uint32_t i = 0; i != 3; ++i)
    diags.report({file, i, i + 1}, diag::DuplicateDim{.dim = "S"});
  std::string text = rendered({.colours = Colours::Never, .errorLimit = 1});
  EXPECT_NE(text.find("m.stg:1:1"), std::string::npos);
  EXPECT_EQ(text.find("m.stg:1:2"), std::string::npos);
  EXPECT_NE(text.find("\n2 more errors are not shown\n"), std::string::npos) << text;
}

} // namespace
