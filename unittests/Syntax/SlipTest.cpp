//===- SlipTest.cpp - messages for common slips ---------------------------===//
// Exact texts: what people read is the feature. Further texts are in test/Syntax.
//===----------------------------------------------------------------------===//
#include "ParseFixture.h"
#include "StgFiles.h"

#include <fstream>
#include <sstream>

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

/// `let a = "..."`.
struct ParsedLet : Parsed {
  explicit ParsedLet(const std::string &value) : Parsed("stg 1\nlet a = " + value + "\n") {}
  std::string text() const {
    auto *constant = llvm::cast<ast::ConstantItem>(file->items[0]);
    return messages() + llvm::cast<ast::StringLit>(constant->value)->value.str();
  }
};

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

TEST(Slip, oneBracketTooManyOnALine) {
  EXPECT_EQ(inLayer("q[B, g, r), c] = f(x)"), "error[E103]: `)` closes nothing that is open\n"
                                              "  --> test.stg:3:12\n"
                                              " 3 |   q[B, g, r), c] = f(x)\n"
                                              "   |    ^       ^ help: remove it\n"
                                              "   |    this is open\n");
  EXPECT_EQ(Parsed("stg 1\nworkload w {\n  decode past = 3 }\n  ranks 8\n}\n").codes(), "E103");
}

TEST(Slip, missingBraceOfAList) {
  EXPECT_EQ(Parsed("stg 1\nworkload w {\n  train { steps = 1\n  ranks 8\n}\n").messages(),
            "error[E102]: missing `}`\n"
            "  --> test.stg:3:20\n"
            " 3 |   train { steps = 1\n"
            "   |         ^          ^ help: insert `}`\n"
            "   |         opened here\n");
}

TEST(Slip, missingOpeningBraceWhoseCloserIsThere) {
  Parsed parsed(
      "stg 1\nlayer f(x[B])\n     -> [B]\n  repeat 3 as b\n    x = x\n  }\n  if a\n    x = x\n  }\n  return x\n}\n"
      "plan p\n  mesh a = *\n}\n");
  EXPECT_EQ(parsed.codes(), "E109 E109 E109 E109");
  ASSERT_TRUE(parsed.file);
  EXPECT_EQ(parsed.file->items.size(), 2u);
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
  EXPECT_EQ(inOp("kind c = whole").substr(0, 68),
            "error[E105]: `=` where `:` belongs: `kind` is written `c: whole`\n  -");
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
  EXPECT_EQ(inLayer("y = x § x"), "error[E113]: `§` has no meaning here\n"
                                  "  --> test.stg:3:9\n"
                                  " 3 |   y = x § x\n"
                                  "   |         ^\n");
}

TEST(Slip, charactersOfWordProcessors) {
  EXPECT_EQ(inLayer("y = x × x"), "error[E113]: `×` has no meaning here\n"
                                  "  --> test.stg:3:9\n"
                                  " 3 |   y = x × x\n"
                                  "   |         ^ help: write `*`\n");
  EXPECT_EQ(inLayer("y = x\r + x").substr(0, 43), "error[E113]: `U+000D` has no meaning here\n ");
  EXPECT_EQ(Parsed("\xEF\xBB\xBFstg 1\r\nlet a = 3\r\n").messages(), "") << "byte order mark and CR LF";
}

TEST(Slip, commentsOfOtherLanguages) {
  EXPECT_EQ(inLayer("z = x // a comment"), "error[E119]: `comment` needs a line of its own, or a `;` before it\n"
                                           "  --> test.stg:3:14\n"
                                           " 3 |   z = x // a comment\n"
                                           "   |              ^^^^^^^\n"
                                           "   = `//` divides; a comment begins with `#`\n");
}

TEST(Slip, unterminatedString) {
  EXPECT_EQ(inLayer("require x, \"abc"), "error[E114]: this string has no closing quote on its line\n"
                                         "  --> test.stg:3:14\n"
                                         " 3 |   require x, \"abc\n"
                                         "   |              ^^^^ help: close it with `\"`\n");
}

TEST(Slip, unterminatedStringsOfAllKinds) {
  for (const char *value : {"\"", "\"\\", "\"a\\\"", "\"a\\\\", "\"\\q"})
    EXPECT_EQ(inLayer(std::string("require x, ") + value).substr(0, 11), "error[E114]") << value;
  ParsedLet backslash("\"a\\\\\"");
  EXPECT_EQ(backslash.text(), "a\\");
  EXPECT_EQ(ParsedLet("\"\\\"\"").text(), "\"");
  EXPECT_EQ(ParsedLet("\"\"").text(), "");
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

TEST(Slip, whatIsNotTooDeepIsBuilt) {
  auto nested = [](const std::string &open, const std::string &inner, const std::string &close) {
    std::string text = inner;
    for (int i = 0; i < 120; ++i)
      text = open + text + close;
    return text;
  };
  for (const std::string &value :
       {nested("(", "x", ")"), nested("f(a: g(", "x", "))"), nested("[", "x", "]"), nested("- not ", "x", ""),
        nested("sum(D) ", "x", ""), nested("if a then b else ", "x", ""), nested("", "x", "[A as B]"),
        nested("a == ", "x", ""), nested("x[", "1", "]")})
    EXPECT_EQ(Parsed("stg 1\nlet a = " + value + "\n").messages(), "") << value;
  for (const std::string &lines :
       {nested("if a { ", "x = y", " }"), nested("if a { } else ", "{ }", ""), nested("repeat 3 as b { ", "", " }")})
    EXPECT_EQ(Parsed("stg 1\nlayer f(; F) {\n" + lines + "\n}\n").messages(), "") << lines;
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

// A schedule may be called `1f1b`, but not `2`.
TEST(Slip, scheduleIsAName) {
  EXPECT_TRUE(llvm::StringRef(inPlan("pipeline over pp { schedule 2 }"))
                  .starts_with("error[E117]: expected a name, found `2`\n"));
}

TEST(Slip, editionNotFirst) { EXPECT_EQ(Parsed("let a = 3\nstg 1\n").codes(), "E122"); }

TEST(Slip, assignmentInCondition) {
  EXPECT_EQ(inLayer("if x = 3 { z = x }"), "error[E123]: `=` gives a value; to compare, write `==`\n"
                                           "  --> test.stg:3:8\n"
                                           " 3 |   if x = 3 { z = x }\n"
                                           "   |        ^ help: ==\n");
}

/// Every file of test/Syntax/Inputs with one token left out, for every 29th token.
std::vector<std::string> textsWithOneSlip() {
  std::vector<std::string> texts;
  size_t turn = 0;
  for (const std::string &path : correctStgFiles()) {
    if (path.find("test/Syntax/Inputs") == std::string::npos)
      continue;
    std::stringstream stream;
    stream << std::ifstream(path).rdbuf();
    std::string text = stream.str();
    for (size_t begin = 0, end = 0; begin < text.size(); begin = std::max(end, begin + 1)) {
      end = begin;
      while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_'))
        ++end;
      if (end == begin && !std::isspace(static_cast<unsigned char>(text[begin])))
        end = begin + 1;
      if (end > begin && ++turn % 29 == 0)
        texts.push_back(text.substr(0, begin) + text.substr(end));
    }
  }
  return texts;
}

TEST(Slip, aMissingTokenGivesOneMessageInOurWords) {
  size_t wrong = 0, oneMessage = 0;
  for (const std::string &text : textsWithOneSlip()) {
    Parsed parsed(text);
    std::string messages = parsed.messages();
    wrong += parsed.diags.hasErrors();
    oneMessage += parsed.diags.sorted().size() == 1;
    for (const Diagnostic *diagnostic : parsed.diags.sorted())
      for (const char *word : {"viable", "mismatched", "extraneous", "<EOF>", "T__", "NL", "LBRACE", "something else"})
        EXPECT_EQ(diagnostic->message.find(word), std::string::npos) << messages << text;
  }
  EXPECT_GT(wrong, 250u);
  EXPECT_GE(oneMessage * 100, wrong * 98) << oneMessage << " of " << wrong;
}

TEST(Slip, independentSlipsGiveOneMessageEach) {
  Parsed parsed(
      "stg 1\nlayer f(x[B]) -> [B] {\n  y = silu(x\n  z = 3 3\n  repeat 2 as b {\n    u = x +* x\n    v = x\n  }\n"
      "  w = 8K\n}\nplan p {\n  mesh dp = *\n  split B dp\n  precision { weight bf16 }\n  split B over dp\n}\n");
  EXPECT_EQ(parsed.codes(), "E102 E117 E117 E101 E106 E117");
  ASSERT_TRUE(parsed.file);
  ASSERT_EQ(parsed.file->items.size(), 2u);
  auto *plan = llvm::cast<ast::PlanItemDecl>(parsed.file->items[1]);
  EXPECT_EQ(plan->body.items.size(), 2u) << "what is right is kept";
}

} // namespace
} // namespace stg
