//===- GrammarTest.cpp - the grammar agrees with what is said about it ----===//
#include "../lib/Syntax/LineWords.h"
#include "SourceDir.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include "gtest/gtest.h"

#include <fstream>
#include <map>
#include <set>
#include <sstream>

namespace stg {
namespace {

std::string contents(const std::string &path) {
  std::stringstream text;
  text << std::ifstream(kSourceDir + ("/" + path)).rdbuf();
  return text.str();
}

/// The grammar without comments.
std::string grammar() {
  std::istringstream lines(contents("grammar/Stg.g4"));
  std::string result;
  for (std::string line; std::getline(lines, line);)
    if (!llvm::StringRef(line).starts_with("//"))
      result += line.substr(0, line.find(" // ")) + "\n";
  return result;
}

/// Body of a parser rule: what stands between `name :` and the `;` at the end of a line.
std::string rule(llvm::StringRef name) {
  std::string text = grammar();
  size_t start = text.find(("\n" + name + " ").str());
  if (start == std::string::npos) {
    ADD_FAILURE() << "no rule " << name.str();
    return "";
  }
  llvm::StringRef body = llvm::StringRef(text).drop_front(start).split(':').second;
  std::string result;
  while (!body.empty()) {
    auto [line, rest] = body.split('\n');
    result += line.str() + "\n";
    if (line.rtrim().ends_with(" ;"))
      break;
    body = rest;
  }
  return result;
}

/// What the parentheses of an extended regular expression match, everywhere in the text.
std::set<std::string> allMatches(llvm::StringRef text, llvm::StringRef pattern) {
  std::set<std::string> result;
  llvm::Regex regex(pattern, llvm::Regex::Newline);
  llvm::SmallVector<llvm::StringRef, 2> match;
  while (regex.match(text, &match)) {
    result.insert(match[1].str());
    text = text.drop_front(match[0].end() - text.begin());
  }
  return result;
}

TEST(Grammar, readmeNamesEveryAlternativeAndOnlyNodesThatExist) {
  std::set<std::string> labels = allMatches(contents("grammar/Stg.g4"), "[[:space:]]# ([A-Za-z]+)");
  std::set<std::string> nodes = allMatches(contents("include/stg/Syntax/AST.h"), "struct ([A-Za-z]+)");
  std::map<std::string, std::string> rows;
  std::istringstream lines(contents("grammar/README.md"));
  llvm::Regex row("^\\| `([A-Za-z]+)` \\| (.*) \\|$");
  llvm::SmallVector<llvm::StringRef, 3> match;
  for (std::string line; std::getline(lines, line);)
    if (row.match(line, &match))
      rows[match[1].str()] = match[2].str();
  EXPECT_EQ(labels.size(), 74u) << "the expression above finds the labels";
  for (const std::string &label : labels)
    EXPECT_TRUE(rows.count(label)) << label << " is missing in grammar/README.md";
  for (const auto &[label, node] : rows) {
    EXPECT_TRUE(labels.count(label)) << label << " is not in the grammar";
    for (const std::string &name : allMatches(node, "`([A-Z][A-Za-z]+)`"))
      EXPECT_TRUE(nodes.count(name)) << name << " is not in AST.h";
  }
}

TEST(Grammar, everyWordIsEitherReservedOrAName) {
  std::string text = grammar();
  size_t lexer = text.find("\nSUM "), literals = text.find("\nFLOAT ");
  ASSERT_NE(literals, std::string::npos);
  std::set<std::string> reserved = allMatches(text.substr(lexer, literals - lexer), "'([a-z]+)'");
  std::set<std::string> names = allMatches(rule("id"), "'([a-z]+)'");
  EXPECT_EQ(reserved.size(), 25u);
  for (const std::string &word : allMatches(text.substr(0, lexer), "'([a-z]+)'"))
    EXPECT_NE(reserved.count(word), names.count(word)) << word;
}

/// The words that the alternatives of a rule begin with.
std::set<std::string> firstWords(const std::string &name) {
  std::set<std::string> result;
  std::string text = rule(name);
  llvm::SmallVector<llvm::StringRef, 32> alternatives;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\'')
      i = text.find('\'', i + 1);
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (text[i] == '|' && depth == 0) {
      alternatives.push_back(llvm::StringRef(text).slice(start, i).trim());
      start = i + 1;
    }
  }
  alternatives.push_back(llvm::StringRef(text).substr(start).trim());
  for (llvm::StringRef alternative : alternatives) {
    if (alternative.consume_front("'"))
      result.insert(alternative.take_until([](char c) { return c == '\''; }).str());
    else if (alternative.starts_with("("))
      result.merge(allMatches(alternative.take_until([](char c) { return c == ')'; }).str(), "'([a-z]+)'"));
    else if (llvm::StringRef word = alternative.take_while(llvm::isAlpha); word != "target")
      result.merge(firstWords(word.str()));
  }
  return result;
}

TEST(Grammar, messagesKnowTheWordsThatLinesBeginWith) {
  const std::pair<const char *, const char *> lists[] = {{"a declaration", "item"},
                                                         {"a statement", "stmt"},
                                                         {"a property of an op", "opItem"},
                                                         {"a rule of a plan", "planItem"},
                                                         {"a line of a pipeline", "pipeItem"},
                                                         {"a line of a workload", "workItem"}};
  for (auto [thing, ruleName] : lists)
    for (const LineWords &list : allLineWords())
      if (list.thing == thing) {
        std::set<std::string> words;
        for (llvm::StringRef word : list.words)
          words.insert(word.str());
        EXPECT_EQ(words, firstWords(ruleName)) << thing;
      }
  EXPECT_EQ(allLineWords().size(), std::size(lists));
}

} // namespace
} // namespace stg
