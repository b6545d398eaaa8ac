//===- SlipTest.cpp - messages for common slips ---------------------------===//
// Exact texts: what people read is the feature. Further texts are in test/Syntax.
//===----------------------------------------------------------------------===//
#include "ParseFixture.h"

namespace stg {
namespace {

/// Messages for the body of a layer.
std::string inLayer(const std::string &line) {
  return Parsed("stg 1\nlayer f(x[B, D]) -> [B, D] {\n  " + line + "\n  y = x\n}\n").messages();
}
std::string inPlan(const std::string &line) {
  return Parsed("stg 1\nplan p {\n  " + line + "\n  split B over dp\n}\n").messages();
}
std::string inOp(const std::string &line) {
  return Parsed("stg 1\nop f(x[b]) -> [b] {\n  " + line + "\n  flops 1\n}\n").messages();
}

TEST(Slip, ambiguousSuffix) {
  EXPECT_EQ(Parsed("stg 1\n\n\nworkload w {\n  ranks 2\n  model m.llama3_8b(B = 1024, S = 8K)\n}\n").messages(),
            "error[E101]: `8K` is ambiguous: write `8Ki` (8192) or `8k` (8000)\n"
            "  --> test.stg:6:35\n"
            " 6 |   model m.llama3_8b(B = 1024, S = 8K)\n"
            "   |                                   ^^ help: 8Ki\n");
}

TEST(Slip, missingParenthesis) {
  EXPECT_EQ(inLayer("y = silu(x"), "error[E102]: missing `)`\n"
                                   "  --> test.stg:3:13\n"
                                   " 3 |   y = silu(x\n"
                                   "   |           ^ ^ help: insert `)`\n"
                                   "   |           opened here\n");
}

TEST(Slip, missingBracketBeforeAnotherCloser) {
  EXPECT_EQ(Parsed("stg 1\nlayer f(x[B, D) -> [B, D] { return x }\n").messages(),
            "error[E102]: missing `]`\n"
            "  --> test.stg:2:15\n"
            " 2 | layer f(x[B, D) -> [B, D] { return x }\n"
            "   |          ^    ^ help: insert `]`\n"
            "   |          opened here\n");
}

TEST(Slip, missingBraceIsNoticedAtTheNextDeclaration) {
  Parsed parsed("stg 1\nlayer f(x[B]) -> [B] {\n  repeat 3 as b {\n    x = x + x\n  return x\n}\n\n"
                "layer g(x[B]) -> [B] { return x }\n");
  EXPECT_EQ(parsed.messages(), "error[E102]: missing `}`\n"
                               "  --> test.stg:6:2\n"
                               " 3 |   repeat 3 as b {\n"
                               "   |                 ^ opened here\n"
                               "   :\n"
                               " 6 | }\n"
                               "   |  ^\n");
  ASSERT_TRUE(parsed.file);
  EXPECT_EQ(parsed.file->items.size(), 2u) << "both layers are there";
}

TEST(Slip, unmatchedCloser) {
  EXPECT_EQ(Parsed("stg 1\nlayer f(x[B]) -> [B] { return x }\n}\n").messages(),
            "error[E103]: `}` closes nothing that is open\n"
            "  --> test.stg:3:1\n"
            " 3 | }\n"
            "   | ^\n");
  EXPECT_EQ(inLayer("q[B, S) = x"), "error[E103]: `)` closes nothing that is open\n"
                                    "  --> test.stg:3:9\n"
                                    " 3 |   q[B, S) = x\n"
                                    "   |    ^    ^ help: ]\n"
                                    "   |    this is open\n");
}

TEST(Slip, colonForEquals) {
  EXPECT_EQ(inPlan("mesh dp: 4, tp = 8"), "error[E104]: `:` where `=` belongs: `dp = ...` gives a value\n"
                                          "  --> test.stg:3:10\n"
                                          " 3 |   mesh dp: 4, tp = 8\n"
                                          "   |          ^ help: dp =\n");
  for (const char *line : {"y = f(x; F: 4 * D)", "y = f(x; F: D)", "y: f(x)", "let a: 3"})
    EXPECT_EQ(inLayer(line).substr(0, 11), "error[E104]") << line;
}

TEST(Slip, equalsForColon) {
  EXPECT_EQ(inLayer("x = x + attn = gqa(x)"),
            "error[E105]: `=` where `:` belongs: a label is written `attn: layer(...)`\n"
            "  --> test.stg:3:16\n"
            " 3 |   x = x + attn = gqa(x)\n"
            "   |                ^ help: attn:\n");
  EXPECT_EQ(inLayer("weight w[B, D] = i32"), "error[E105]: `=` where `:` belongs: an element type is written `: i32`\n"
                                             "  --> test.stg:3:18\n"
                                             " 3 |   weight w[B, D] = i32\n"
                                             "   |                  ^ help: :\n");
  EXPECT_EQ(inOp("kind c = whole").substr(0, 68), "error[E105]: `=` where `:` belongs: `kind` is written `c: whole`\n  -");
  EXPECT_EQ(inPlan("pin a.b = [B/dp]").substr(0, 11), "error[E105]");
}

TEST(Slip, missingOver) {
  EXPECT_EQ(inPlan("split H, F dp"), "error[E106]: missing `over`: `split ... over` names the mesh axes\n"
                                     "  --> test.stg:3:14\n"
                                     " 3 |   split H, F dp\n"
                                     "   |              ^^ help: over dp\n");
  EXPECT_EQ(inPlan("split H on dp"), "error[E106]: missing `over`: `split ... over` names the mesh axes\n"
                                     "  --> test.stg:3:11\n"
                                     " 3 |   split H on dp\n"
                                     "   |           ^^ help: over\n");
  for (const char *line : {"split H", "zero 1", "zero 1 dp", "fold x dp { a = 1 }", "pipeline pp { cut even }"})
    EXPECT_EQ(inPlan(line).substr(0, 11), "error[E106]") << line;
}

TEST(Slip, pythonDefinition) {
  EXPECT_EQ(Parsed("stg 1\ndef f(x):\n    y = x + 1\n    return y\nlet a = 3\n").messages(),
            "error[E107]: `def` is not a word of this language: a layer begins with `layer`, an operator with `op`, a "
            "network with `model`\n"
            "  --> test.stg:2:1\n"
            " 2 | def f(x):\n"
            "   | ^^^\n");
  EXPECT_EQ(inLayer("for i in 3 { y = x }").substr(0, 11), "error[E107]");
}

TEST(Slip, commaAtTheEndOfALine) {
  EXPECT_EQ(inLayer("weight a[D],"), "error[E108]: nothing follows this comma\n"
                                     "  --> test.stg:3:14\n"
                                     " 3 |   weight a[D],\n"
                                     "   |              ^ help: remove it\n");
  for (const char *line : {"z = x,", "z = f(x, )", "z = f(x,\n)"})
    EXPECT_EQ(inLayer(line).substr(0, 11), "error[E108]") << line;
}

TEST(Slip, indentedBlockWithoutBraces) {
  EXPECT_EQ(Parsed("stg 1\nlayer f(x[B]) -> [B]:\n\ty = x\n\treturn y\n\nlet a = 3\n").messages(),
            "error[E109]: the body of `layer` stands in braces\n"
            "  --> test.stg:2:21\n"
            " 2 | layer f(x[B]) -> [B]:\n"
            "   |                     ^ not behind `:`.  help: {\n");
  EXPECT_EQ(inLayer("repeat 3 as blocks:\n\tx = x"), "error[E109]: the body of `repeat` stands in braces\n"
                                                     "  --> test.stg:3:21\n"
                                                     " 3 |   repeat 3 as blocks:\n"
                                                     "   |                     ^ not behind `:`.  help: {\n");
  EXPECT_EQ(inLayer("if x\n  {\n    y = 3\n  }\n  else { y = 4 }"),
            "error[E109]: the body of `if` stands in braces\n"
            "  --> test.stg:3:7\n"
            " 3 |   if x\n"
            "   |       ^ `{` stands on this line, not on the next\n");
}

TEST(Slip, missingEdition) {
  Parsed parsed("layer f(x[B]) -> [B] { return x }\n");
  EXPECT_EQ(parsed.messages(), "error[E110]: the first line must name the edition of the language: `stg 1`\n"
                               "  --> test.stg:1:1\n"
                               " 1 | layer f(x[B]) -> [B] { return x }\n"
                               "   | ^\n"
                               "   = help: begin the file with the line `stg 1`\n");
  EXPECT_EQ(Parsed("").codes(), "E110");
}

TEST(Slip, unknownEdition) {
  EXPECT_EQ(Parsed("stg 2\n").messages(), "error[E111]: edition 2 of the language is unknown\n"
                                          "  --> test.stg:1:5\n"
                                          " 1 | stg 2\n"
                                          "   |     ^ this compiler knows edition 1.  help: 1\n");
}

TEST(Slip, unknownKeyword) {
  EXPECT_EQ(inPlan("spilt B over dp"), "error[E112]: `spilt` does not begin a rule of a plan\n"
                                       "  --> test.stg:3:3\n"
                                       " 3 |   spilt B over dp\n"
                                       "   |   ^^^^^ help: split\n");
  EXPECT_EQ(inLayer("split B over dp"), "error[E112]: `split` does not begin a statement\n"
                                        "  --> test.stg:3:3\n"
                                        " 3 |   split B over dp\n"
                                        "   |   ^^^^^\n"
                                        "   = `split` begins a rule of a plan\n");
  EXPECT_EQ(Parsed("stg 1\nmodle m(B) { }\n").codes(), "E112");
  EXPECT_EQ(inLayer("wieght w[D]").substr(0, 11), "error[E112]");
}

TEST(Slip, strayCharacter) {
  EXPECT_EQ(inLayer("y = x · x"), "error[E113]: `·` has no meaning here\n"
                                  "  --> test.stg:3:9\n"
                                  " 3 |   y = x · x\n"
                                  "   |         ^\n");
}

TEST(Slip, unterminatedString) {
  EXPECT_EQ(inLayer("require x, \"abc"), "error[E114]: this string has no closing quote on its line\n"
                                         "  --> test.stg:3:14\n"
                                         " 3 |   require x, \"abc\n"
                                         "   |              ^^^^ help: close it with `\"`\n");
}

TEST(Slip, nestedTooDeep) {
  std::string deep(10000, '(');
  EXPECT_EQ(Parsed("stg 1\nlet a = " + deep + "1" + std::string(10000, ')') + "\n").codes(), "E115");
  EXPECT_EQ(Parsed("stg 1\nlet a = " + deep + "\n").codes(), "E115");
  std::string minus, negations, reductions, conditions, views, elses, products, comparisons;
  for (int i = 0; i < 1000; ++i) {
    minus += "- ";
    negations += "not ";
    reductions += "sum(D) ";
    products += "sum(D) x * ";
    conditions += "if a then b else ";
    comparisons += "a and ";
    views += "[A as B]";
    elses += "if a { } else ";
  }
  for (const std::string &text : {minus + "x", negations + "x", reductions + "x", products + "x", conditions + "x",
                                  comparisons + "x", "x" + views})
    EXPECT_EQ(Parsed("stg 1\nlet a = " + text + "\n").codes(), "E115") << text.substr(0, 20);
  EXPECT_EQ(Parsed("stg 1\nplan p {\n" + elses + "{ }\n}\n").codes(), "E115");
}

TEST(Slip, longButFlatIsNotTooDeep) {
  std::string sums = "sum(D) x", views = "x[A as B]", list = "not a", products = "x";
  for (int i = 0; i < 1000; ++i) {
    sums += " + sum(D) -x";
    views += " * x[A as B] - y[A as B]";
    list += ", not a";
    products += " * x";
  }
  EXPECT_EQ(Parsed("stg 1\nlet a = [" + sums + ", " + views + ", " + products + ", " + list + "]\n").messages(), "");
  EXPECT_EQ(Parsed("stg 1\nlet a = " + std::string(250, '(') + "1" + std::string(250, ')') + "\n").messages(), "");
}

TEST(Slip, numberTooLarge) {
  EXPECT_EQ(inLayer("y = 9_223_372_036_854_775_807 + 9_223_372_036_854_775_808"),
            "error[E116]: `9_223_372_036_854_775_808` is too large: the limit is 9_223_372_036_854_775_807\n"
            "  --> test.stg:3:35\n"
            " 3 |   y = 9_223_372_036_854_775_807 + 9_223_372_036_854_775_808\n"
            "   |                                   ^^^^^^^^^^^^^^^^^^^^^^^^^\n");
  EXPECT_EQ(inLayer("y = 9_000_000Ti").substr(0, 11), "error[E116]");
  EXPECT_EQ(inLayer("y = 1e999").substr(0, 11), "error[E116]");
}

TEST(Slip, somethingElse) {
  EXPECT_EQ(inLayer("y = (a b)"), "error[E117]: expected `)`, found `b`\n"
                                  "  --> test.stg:3:10\n"
                                  " 3 |   y = (a b)\n"
                                  "   |          ^\n");
  EXPECT_EQ(inLayer("y = a +"), "error[E117]: expected an expression, found the end of the line\n"
                                "  --> test.stg:3:10\n"
                                " 3 |   y = a +\n"
                                "   |          ^\n"
                                "   = `+` joins this line to the next\n");
  EXPECT_EQ(inLayer("f(x)"), "error[E117]: expected `=`, found `(`\n"
                             "  --> test.stg:3:4\n"
                             " 3 |   f(x)\n"
                             "   |    ^\n"
                             "   = a statement names its result, `y = f(...)`, or returns it\n");
}

TEST(Slip, operatorAtTheBeginningOfALine) {
  EXPECT_EQ(inLayer("z = x\n    + x"), "error[E117]: expected a statement, found `+`\n"
                                       "  --> test.stg:4:5\n"
                                       " 4 |     + x\n"
                                       "   |     ^\n"
                                       "   = the line before is complete; `+` at its end would join the two\n");
  EXPECT_EQ(inLayer("if x\n  == y { z = x }").substr(0, 11), "error[E117]");
  EXPECT_EQ(inLayer("z = (x\n    + x)"), "") << "in parentheses a newline is a blank";
}

TEST(Slip, malformedNumber) {
  EXPECT_EQ(inLayer("y = 0x10").substr(0, 52), "error[E118]: `0x10` is neither a number nor a name\n ");
  EXPECT_EQ(inLayer("y = 8.5Ki").substr(0, 11), "error[E118]");
}

TEST(Slip, twoStatementsOnALine) {
  EXPECT_EQ(inLayer("z = x w = x"), "error[E119]: `w` needs a line of its own, or a `;` before it\n"
                                    "  --> test.stg:3:9\n"
                                    " 3 |   z = x w = x\n"
                                    "   |         ^\n");
  EXPECT_EQ(inLayer("z = x; w = x"), "");
}

TEST(Slip, unknownEscape) {
  EXPECT_EQ(inLayer("require x, \"a\\qb\""), "error[E120]: a string has no escape `\\q`\n"
                                              "  --> test.stg:3:16\n"
                                              " 3 |   require x, \"a\\qb\"\n"
                                              "   |                ^^\n"
                                              "   = escapes: \\\" \\\\ \\n \\t\n");
}

TEST(Slip, givenTwice) {
  EXPECT_EQ(inOp("flops 2"), "error[E121]: `flops` is given twice in op `f`\n"
                             "  --> test.stg:4:3\n"
                             " 3 |   flops 2\n"
                             "   |   ^^^^^ first here\n"
                             " 4 |   flops 1\n"
                             "   |   ^^^^^\n");
  EXPECT_EQ(inPlan("pipeline over pp { cut even; cut balanced }").substr(0, 11), "error[E121]");
}

TEST(Slip, editionNotFirst) {
  EXPECT_EQ(Parsed("let a = 3\nstg 1\n").codes(), "E122");
}

TEST(Slip, assignmentInCondition) {
  EXPECT_EQ(inLayer("if x = 3 { z = x }"), "error[E123]: `=` gives a value; to compare, write `==`\n"
                                           "  --> test.stg:3:8\n"
                                           " 3 |   if x = 3 { z = x }\n"
                                           "   |        ^ help: ==\n");
}

TEST(Slip, independentSlipsGiveOneMessageEach) {
  Parsed parsed("stg 1\nlayer f(x[B]) -> [B] {\n  y = silu(x\n  z = 3 3\n  repeat 2 as b {\n    u = x +* x\n    v = x\n  }\n"
                "  w = 8K\n}\nplan p {\n  mesh dp = *\n  split B dp\n  precision { weight bf16 }\n  split B over dp\n}\n");
  EXPECT_EQ(parsed.codes(), "E102 E117 E117 E101 E106 E117");
  ASSERT_TRUE(parsed.file);
  ASSERT_EQ(parsed.file->items.size(), 2u);
  auto *plan = llvm::cast<ast::PlanItemDecl>(parsed.file->items[1]);
  EXPECT_EQ(plan->body.items.size(), 2u) << "what is right is kept";
}

} // namespace
} // namespace stg
