//===- RecoveringStrategy.cpp - where parsing goes on after a slip --------===//
// Lists in braces are loops over (line | NL | ';'). `sync` runs before each turn of such a loop: what cannot begin a
// line is reported there and skipped, so the loop itself never fails. Errors within a line unwind to its rule, which
// skips to the end of the line, over braces that the line opened. Brackets.h has balanced all brackets before, so
// skipping cannot run out of a block.
//===----------------------------------------------------------------------===//
#include "RecoveringStrategy.h"
#include "SyntaxSlips.h"
#include "TokenRoles.h"

namespace stg {

namespace {

using P = antlr::StgParser;

/// Rules that stand on a line of their own.
bool isLineRule(size_t rule) {
  switch (rule) {
  case P::RuleStmt:
  case P::RuleOpItem:
  case P::RulePlanItem:
  case P::RulePipeItem:
  case P::RuleWorkItem:
    return true;
  default:
    return false;
  }
}

bool endsLine(size_t token) {
  return token == P::NL || token == P::SEMI || token == P::RBRACE || token == antlr4::Token::EOF;
}

bool beginsDeclaration(antlr4::Parser *parser, size_t token) {
  const antlr4::atn::ATN &atn = parser->getATN();
  return atn.nextTokens(atn.ruleToStartState[P::RuleItem]).contains(token);
}

/// The next line begins with what no line begins with, so it belongs to the one that is being skipped.
bool goesOn(antlr4::Parser *parser) {
  antlr4::TokenStream *tokens = parser->getTokenStream();
  ssize_t i = 1;
  while (tokens->LA(i) == P::NL)
    ++i;
  return tokens->LA(i) == P::LBRACE || tokens->LA(i) == P::ELSE;
}

/// How a token changes the number of open brackets.
int bracketStep(size_t type) {
  switch (type) {
  case P::LPAREN:
  case P::LBRACKET:
  case P::LBRACE:
    return 1;
  case P::RPAREN:
  case P::RBRACKET:
  case P::RBRACE:
    return -1;
  default:
    return 0;
  }
}

/// Brackets opened and not closed between the start of the rule and the current token.
int openBrackets(antlr4::Parser *parser, const antlr4::ParserRuleContext *ctx) {
  antlr4::TokenStream *tokens = parser->getTokenStream();
  int open = 0;
  for (size_t i = ctx->start->getTokenIndex(); i < tokens->index(); ++i)
    open += bracketStep(tokens->get(i)->getType());
  return open;
}

} // namespace

void RecoveringStrategy::report(const Slip &slip) {
  uint32_t at = std::min<uint32_t>(slip.token.getStartIndex(), text_.size());
  if (silent_.insert(diags_.sources().lineOf(file_, at)).second)
    reportSlip(slip, diags_);
}

void RecoveringStrategy::reportError(antlr4::Parser *parser, const antlr4::RecognitionException &error) {
  if (inErrorRecoveryMode(parser))
    return;
  beginErrorCondition(parser);
  report(Slip{file_, text_, *parser, *error.getOffendingToken(), error.getExpectedTokens()});
}

antlr4::Token *RecoveringStrategy::recoverInline(antlr4::Parser *parser) {
  throw antlr4::InputMismatchException(parser);
}

void RecoveringStrategy::recover(antlr4::Parser *parser, std::exception_ptr error) {
  antlr4::ParserRuleContext *ctx = parser->getContext();
  size_t rule = ctx->getRuleIndex();
  if (isLineRule(rule))
    skipLine(parser, openBrackets(parser, ctx));
  else if (rule == P::RuleItem || rule == P::RuleEdition)
    skipDeclaration(parser, openBrackets(parser, ctx));
  else if (rule == P::RuleFile || rule == P::RuleLoneExpr || rule == P::RuleLoneSel)
    while (parser->getCurrentToken()->getType() != antlr4::Token::EOF)
      parser->consume();
  else
    std::rethrow_exception(error);
  endErrorCondition(parser);
}

void RecoveringStrategy::skipLine(antlr4::Parser *parser, int open) {
  while (true) {
    size_t type = parser->getCurrentToken()->getType();
    if (type == antlr4::Token::EOF || (open <= 0 && endsLine(type) && !(type == P::NL && goesOn(parser))))
      return;
    open += bracketStep(type);
    parser->consume();
  }
}

void RecoveringStrategy::skipDeclaration(antlr4::Parser *parser, int open) {
  while (true) {
    antlr4::Token *token = parser->getCurrentToken();
    size_t type = token->getType();
    if (type == antlr4::Token::EOF)
      return;
    if (type == P::NL && open <= 0) {
      // What is indented belongs to what was skipped.
      antlr4::Token *next = parser->getTokenStream()->LT(2);
      size_t start = next->getStartIndex();
      if (next->getType() == antlr4::Token::EOF ||
          (beginsDeclaration(parser, next->getType()) && start > 0 && text_[start - 1] == '\n'))
        return;
    }
    open += bracketStep(type);
    parser->consume();
  }
}

void RecoveringStrategy::sync(antlr4::Parser *parser) {
  antlr4::ParserRuleContext *ctx = parser->getContext();
  size_t rule = ctx->getRuleIndex();
  if (!isListRule(rule))
    return;
  bool isFile = rule == P::RuleFile;
  while (true) {
    antlr4::Token *token = parser->getCurrentToken();
    size_t type = token->getType();
    if (type == antlr4::Token::EOF || type == P::NL || (!isFile && (type == P::SEMI || type == P::RBRACE)))
      return;
    const antlr4::atn::ATN &atn = parser->getATN();
    antlr4::misc::IntervalSet expected = atn.nextTokens(atn.states[parser->getState()]);
    antlr4::Token *before = parser->getTokenStream()->LT(-1);
    bool atLineStart = !before || before->getType() == P::NL || before->getType() == P::SEMI ||
                       (!isFile && before->getType() == P::LBRACE);
    if (atLineStart && expected.contains(type))
      return;
    report(Slip{file_, text_, *parser, *token, std::move(expected), /*afterLine=*/!atLineStart});
    if (isFile)
      skipDeclaration(parser, 0);
    else
      skipLine(parser, 0);
    // Nothing of that line is heard of again.
    if (parser->getCurrentToken() == token)
      parser->consume();
  }
}

} // namespace stg
