//===- TokenRoles.cpp - what a token does in its rule ---------------------===//
#include "TokenRoles.h"

#include "llvm/ADT/SmallVector.h"

namespace stg {

using P = antlr::StgParser;

bool isListRule(size_t rule) {
  switch (rule) {
  case P::RuleFile:
  case P::RuleBlock:
  case P::RuleOpBlock:
  case P::RulePlanBlock:
  case P::RulePipeBlock:
  case P::RuleWorkBlock:
    return true;
  default:
    return false;
  }
}

namespace {

TokenRole parenRole(antlr4::ParserRuleContext *parent, antlr4::tree::ParseTree *node) {
  switch (parent->getRuleIndex()) {
  case P::RuleCall:
  case P::RuleConfigArgs:
  case P::RuleLayer:
  case P::RuleOp:
  case P::RuleOptimizer:
  case P::RuleModel:
  case P::RulePlan:
  case P::RuleWorkload:
    return TokenRole::Attached;
  case P::RuleExpr:
    return dynamic_cast<P::ExprReduceContext *>(parent) ? TokenRole::Attached : TokenRole::Plain;
  case P::RuleOpItem:
    return dynamic_cast<P::OpGradContext *>(parent) ? TokenRole::Attached : TokenRole::Plain;
  case P::RuleKindOf: // `(b, t): carry(c)`: only the second
    return parent->children.front() == node ? TokenRole::Plain : TokenRole::Attached;
  default:
    return TokenRole::Plain;
  }
}

TokenRole bracketRole(antlr4::ParserRuleContext *parent) {
  switch (parent->getRuleIndex()) {
  case P::RuleExpr:
  case P::RuleStmt: // repeat n as blocks[i]
  case P::RuleSelPart:
    return TokenRole::Attached;
  case P::RuleDims: { // `-> [B]` has no name before
    auto *out = dynamic_cast<P::OutContext *>(parent->parent);
    return out && !out->id() ? TokenRole::Plain : TokenRole::Attached;
  }
  default:
    return TokenRole::Plain;
  }
}

TokenRole roleOf(antlr4::tree::TerminalNode *node) {
  auto *parent = static_cast<antlr4::ParserRuleContext *>(node->parent);
  size_t rule = parent->getRuleIndex();
  switch (node->getSymbol()->getType()) {
  case P::NL:
    return isListRule(rule) ? TokenRole::Separator : TokenRole::Filler;
  case P::SEMI:
    return isListRule(rule) ? TokenRole::Separator : TokenRole::BreakAfter;
  case P::LBRACE: // of `use std.{a, b}`: no blanks around
    return isListRule(rule) ? TokenRole::BlockOpen : rule == P::RuleUse ? TokenRole::Tight : TokenRole::Plain;
  case P::RBRACE:
    return isListRule(rule) ? TokenRole::BlockClose : rule == P::RuleUse ? TokenRole::Tight : TokenRole::Plain;
  case P::LPAREN:
    return parenRole(parent, node);
  case P::LBRACKET:
    return bracketRole(parent);
  case P::MINUS:
    return dynamic_cast<P::ExprNegContext *>(parent) ? TokenRole::Sign : TokenRole::BreakAfter;
  case P::COMMA:
  case P::PLUS:
  case P::AND:
  case P::OR:
    return TokenRole::BreakAfter;
  case P::SLASH:
    return rule == P::RuleLayoutDim ? TokenRole::Tight : TokenRole::Plain;
  case P::STAR:
    return rule == P::RuleStageUnit ? TokenRole::Tight : TokenRole::Plain;
  case P::ARROW:
    return TokenRole::BreakBefore;
  case P::ELSE:
    return rule == P::RuleExpr ? TokenRole::BreakBefore : TokenRole::StatementElse;
  default:
    return TokenRole::Plain;
  }
}

} // namespace

std::vector<TokenRole> tokenRoles(P::FileContext *tree, size_t count) {
  std::vector<TokenRole> roles(count, TokenRole::Plain);
  // A sum of 100,000 terms is a tree as deep: no recursion.
  llvm::SmallVector<antlr4::tree::ParseTree *, 64> pending{tree};
  while (!pending.empty()) {
    antlr4::tree::ParseTree *node = pending.pop_back_val();
    if (auto *terminal = dynamic_cast<antlr4::tree::TerminalNode *>(node))
      roles[terminal->getSymbol()->getTokenIndex()] = roleOf(terminal);
    pending.append(node->children.begin(), node->children.end());
  }
  return roles;
}

} // namespace stg
