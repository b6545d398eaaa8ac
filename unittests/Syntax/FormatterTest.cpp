//===- FormatterTest.cpp - the look of a text, and what formatting keeps --===//
#include "stg/Syntax/Formatter.h"
#include "ParseFixture.h"
#include "StgFiles.h"
#include "stg/Syntax/DumpAST.h"

#include <fstream>
#include <random>
#include <sstream>

namespace stg {
namespace {

std::string format(const std::string &text) {
  SourceManager sources;
  Diagnostics diags(sources);
  FileId file = sources.addBuffer("test.stg", text);
  std::optional<std::string> result = formatFile(file, sources, diags);
  if (result)
    return *result;
  std::string messages = "not formatted:\n";
  llvm::raw_string_ostream os(messages);
  printDiagnostics(diags, os, {.colours = Colours::Never});
  return messages;
}

std::string dump(const std::string &text) {
  Parsed parsed(text);
  return parsed.diags.hasErrors() ? parsed.messages() : dumpAST(*parsed.file);
}

std::string contents(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Comments in order, to see that none is lost.
std::vector<std::string> comments(const std::string &text) {
  std::vector<std::string> result;
  std::istringstream lines(text);
  bool inString = false;
  for (std::string line; std::getline(lines, line); inString = false)
    for (size_t i = 0; i < line.size(); ++i) {
      if (line[i] == '"' && (i == 0 || line[i - 1] != '\\'))
        inString = !inString;
      if (line[i] == '#' && !inString) {
        result.push_back(llvm::StringRef(line).drop_front(i).rtrim().str());
        break;
      }
    }
  return result;
}

void expectKept(const std::string &text, const std::string &what) {
  std::string once = format(text);
  EXPECT_EQ(dump(once), dump(text)) << what << "\n" << text << "\n-->\n" << once;
  EXPECT_EQ(format(once), once) << what << "\n" << text;
  EXPECT_EQ(comments(once), comments(text)) << what;
}

TEST(Formatter, blanks) {
  EXPECT_EQ(format("stg   1\nuse std . { a,b }\n"
                   "layer f ( x [ ... ,D ] :f32 ? ;F=4*D,act :layer )->y[...,D]{\n"
                   "return-x[S as T]+sum( D )g( x;F ,a = - 1 ) * blocks [ 0 ] . v\n"
                   "}\n"
                   "plan p{\nmesh a=* ,b\npin q . r:[ B / dp,S@tp dp ]\n"
                   "split B? or replicate,S zigzag over a in blocks [ 0 .. 4 by 2 ] . *\n"
                   "pipeline over pp{\nschedule 1f1b\ncut [ a * 3,b ]*2\n}\n"
                   "pipeline over pp{schedule interleaved_1f1b ( chunks=2 )}\nprecision{a=b,c=d}\n}\n"),
            "stg 1\n"
            "use std.{a, b}\n"
            "layer f(x[..., D]: f32?; F = 4 * D, act: layer) -> y[..., D] {\n"
            "  return -x[S as T] + sum(D) g(x; F, a = -1) * blocks[0].v\n"
            "}\n"
            "plan p {\n"
            "  mesh a = *, b\n"
            "  pin q.r: [B/dp, S @ tp dp]\n"
            "  split B? or replicate, S zigzag over a in blocks[0..4 by 2].*\n"
            "  pipeline over pp {\n"
            "    schedule 1f1b\n"
            "    cut [a*3, b] * 2\n"
            "  }\n"
            "  pipeline over pp { schedule interleaved_1f1b(chunks = 2) }\n"
            "  precision { a = b, c = d }\n"
            "}\n");
}

TEST(Formatter, blocksOnOneLineStayIfSimple) {
  EXPECT_EQ(format("stg 1\nlayer f(x[B]) -> [B] {return x}\nlayer g(x[B]) -> [B] { y = x; return y }\n"
                   "optimizer h(x[B]) {\n}\n"),
            "stg 1\n"
            "layer f(x[B]) -> [B] { return x }\n"
            "layer g(x[B]) -> [B] {\n"
            "  y = x\n"
            "  return y\n"
            "}\n"
            "optimizer h(x[B]) { }\n");
}

TEST(Formatter, commentsAndEmptyLinesStay) {
  EXPECT_EQ(
      format("# head\n\n\n\nstg 1   # edition\n## doc\nplan p {   # a plan\n\n  # first\n  mesh a = *   # longer\n"
             "  mesh bb = *, c # x\n\n\n\n  # own\n\n  microbatch 1\n  # last\n\n}\n# tail\n"),
      "# head\n"
      "\n"
      "stg 1  # edition\n"
      "## doc\n"
      "plan p {  # a plan\n"
      "  # first\n"
      "  mesh a = *      # longer\n"
      "  mesh bb = *, c  # x\n"
      "\n"
      "  # own\n"
      "\n"
      "  microbatch 1\n"
      "  # last\n"
      "}\n"
      "# tail\n");
}

TEST(Formatter, continuationsAreJoinedAndElseFollowsItsBrace) {
  EXPECT_EQ(
      format("stg 1\nlayer f(\n  x[B]\n)\n -> [B] {\n  y =\n    x +\n    x\n  if a ==\n b {\n    y = x\n  }\n  else {\n"
             "    y = 2\n  }\n  return y\n}\n"),
      "stg 1\n"
      "layer f(x[B]) -> [B] {\n"
      "  y = x + x\n"
      "  if a == b {\n"
      "    y = x\n"
      "  } else {\n"
      "    y = 2\n"
      "  }\n"
      "  return y\n"
      "}\n");
}

TEST(Formatter, longLinesBreakAtTheOutermostBracket) {
  EXPECT_EQ(
      format(
          "stg 1\nop attend(q[b, s, (g, r), c], k[b, t, g, c], v[b, t, g, d]; mask = causal) -> o[b, s, (g, r), d], "
          "lse[b, s, (g, r)]: f32 {\n  flops 1\n}\n"
          "let experts_ffn = moe(E, top = 8, groups = 8, top_groups = 4, score = sigmoid, expert = swiglu(F = 2048), "
          "shared = swiglu(F = 2048))\n"),
      "stg 1\n"
      "op attend(q[b, s, (g, r), c], k[b, t, g, c], v[b, t, g, d]; mask = causal)\n"
      "     -> o[b, s, (g, r), d], lse[b, s, (g, r)]: f32 {\n"
      "  flops 1\n"
      "}\n"
      "let experts_ffn = moe(E, top = 8, groups = 8, top_groups = 4, score = sigmoid, expert = swiglu(F = 2048),\n"
      "                      shared = swiglu(F = 2048))\n");
}

TEST(Formatter, textsWithErrorsAreLeftAlone) {
  EXPECT_EQ(format("stg 1\nlet a = \n").substr(0, 26), "not formatted:\nerror[E117]");
}

TEST(Formatter, keepsEveryFileOfTheRepository) {
  for (const std::string &path : correctStgFiles()) {
    std::string text = contents(path);
    expectKept(text, path);
    std::istringstream lines(format(text));
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.find('#') == std::string::npos ? line.size() : 0, kFormatWidth) << path << ": " << line;
  }
}

/// The same text with blanks, newlines and comments put in or taken out where they mean nothing.
std::string mangled(const std::string &text, std::mt19937 &random) {
  auto chance = [&](unsigned percent) { return random() % 100 < percent; };
  std::string result;
  int depth = 0;
  bool inString = false, inComment = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (inString || inComment) {
      result += c;
      inString &= !(c == '"' && text[i - 1] != '\\');
      inComment &= c != '\n';
      continue;
    }
    inString = c == '"';
    inComment = c == '#';
    depth += c == '(' || c == '[' ? 1 : c == ')' || c == ']' ? -1 : 0;
    bool bracket = c == '(' || c == ')' || c == '[' || c == ']' || c == ',';
    if (c == '\n') {
      // An empty line between a doc comment and its declaration would cut them apart; this keeps the AST the same.
      result += chance(20) ? "  # c\n" : chance(20) && i + 1 < text.size() && text[i + 1] != ' ' ? "\n\n" : "\n";
    } else if (bracket && chance(30)) {
      const char *blank = depth > 0 && c != ')' && c != ']' ? (chance(30) ? " # in\n\n" : "\n   ") : "  ";
      result += c;
      result += blank;
    } else if (c == ' ' && chance(40)) {
      result += depth > 0 && chance(30) ? "\n" : "   ";
    } else {
      result += c;
    }
  }
  return result;
}

TEST(Formatter, keepsMangledFiles) {
  // More rounds with another seed: STG_ROUNDS=100 STG_SEED=7.
  const char *roundsText = std::getenv("STG_ROUNDS"), *seedText = std::getenv("STG_SEED");
  int rounds = roundsText ? std::atoi(roundsText) : 2;
  std::mt19937 random(seedText ? std::atoi(seedText) : 1);
  for (const std::string &path : correctStgFiles()) {
    std::string text = contents(path);
    for (int round = 0; round < rounds; ++round) {
      std::string other = mangled(text, random);
      ASSERT_EQ(Parsed(other).messages(), "") << path << "\n" << other;
      expectKept(other, path + ", mangled");
    }
  }
}

} // namespace
} // namespace stg
