//===- Parser.cpp - from source text to the AST ---------------------------===//
#include "stg/Syntax/Parser.h"
#include "Session.h"
#include "stg/Syntax/ParserProfile.h"

namespace stg {

const ast::File *parseFile(FileId file, const SourceManager &sources, ast::ASTContext &context, Diagnostics &diags) {
  Session session(file, sources, context, diags);
  return session.canParse() ? session.builder().file(session.parser().file()) : nullptr;
}

const ast::Expr *parseExpr(FileId file, const SourceManager &sources, ast::ASTContext &context, Diagnostics &diags) {
  size_t errorsBefore = diags.numErrors();
  Session session(file, sources, context, diags);
  if (!session.canParse())
    return nullptr;
  antlr::StgParser::LoneExprContext *tree = session.parser().loneExpr();
  return diags.numErrors() == errorsBefore ? session.builder().expr(tree->expr()) : nullptr;
}

std::optional<ast::Selector> parseSelector(FileId file, const SourceManager &sources, ast::ASTContext &context,
                                           Diagnostics &diags) {
  size_t errorsBefore = diags.numErrors();
  Session session(file, sources, context, diags);
  if (!session.canParse())
    return std::nullopt;
  antlr::StgParser::LoneSelContext *tree = session.parser().loneSel();
  if (diags.numErrors() != errorsBefore)
    return std::nullopt;
  return session.builder().selector(tree->sel());
}

ParserProfile profileParser(FileId file, const SourceManager &sources, Diagnostics &diags) {
  ast::ASTContext context;
  Session session(file, sources, context, diags);
  ParserProfile profile;
  if (!session.canParse())
    return profile;
  antlr::StgParser &parser = session.parser();
  parser.setProfile(true); // replaces the interpreter, so the mode is set behind it
  parser.getInterpreter<antlr4::atn::ParserATNSimulator>()->setPredictionMode(
      antlr4::atn::PredictionMode::LL_EXACT_AMBIG_DETECTION);
  parser.file();
  const antlr4::atn::ATN &atn = parser.getATN();
  for (const antlr4::atn::DecisionInfo &decision : parser.getParseInfo().getDecisionInfo()) {
    profile.predictions += decision.invocations;
    profile.fullContext += decision.LL_Fallback;
    for (const antlr4::atn::AmbiguityInfo &ambiguity : decision.ambiguities)
      profile.ambiguities.push_back(
          {parser.getRuleNames()[atn.getDecisionState(decision.decision)->ruleIndex],
           SourceRange{file, static_cast<uint32_t>(session.token(ambiguity.startIndex)->getStartIndex()),
                       static_cast<uint32_t>(session.token(ambiguity.stopIndex)->getStopIndex() + 1)}});
  }
  return profile;
}

} // namespace stg
