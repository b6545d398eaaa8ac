//===- Lexer.cpp - run the generated lexer --------------------------------===//
#include "ByteStream.h"
#include "Lexeme.h"
#include "StgLexer.h"

namespace stg {

using L = antlr::StgLexer;

// Words without a rule of their own come first: exactly those that may also be names.
static_assert(L::T__0 == 1);

std::vector<Lexeme> lex(llvm::StringRef text) {
  ByteStream stream(text);
  L lexer(&stream);
  lexer.removeErrorListeners(); // ERROR_CHAR takes what no other rule does, so there is nothing to hear
  std::vector<Lexeme> result;
  result.reserve(text.size() / 3);
  for (std::unique_ptr<antlr4::Token> token = lexer.nextToken(); token->getType() != antlr4::Token::EOF;
       token = lexer.nextToken())
    result.push_back({static_cast<uint32_t>(token->getType()), static_cast<uint32_t>(token->getStartIndex()),
                      static_cast<uint32_t>(token->getStopIndex() + 1),
                      token->getChannel() == antlr4::Token::DEFAULT_CHANNEL});
  return result;
}

bool isWord(const Lexeme &lexeme) { return lexeme.type == L::ID || lexeme.type < L::SUM; }

bool isReduction(const Lexeme &lexeme) { return lexeme.type >= L::SUM && lexeme.type <= L::EACH; }

bool endsOperand(const Lexeme &lexeme) {
  switch (lexeme.type) {
  case L::INT:
  case L::FLOAT:
  case L::BAD_NUMBER:
  case L::STRING:
  case L::UNTERMINATED:
  case L::REBOUND:
  case L::TRUE:
  case L::FALSE:
  case L::NONE:
  case L::RPAREN:
  case L::RBRACKET:
    return true;
  default:
    return isWord(lexeme);
  }
}

bool beginsOperand(const Lexeme &lexeme) {
  switch (lexeme.type) {
  case L::INT:
  case L::FLOAT:
  case L::BAD_NUMBER:
  case L::STRING:
  case L::UNTERMINATED:
  case L::TRUE:
  case L::FALSE:
  case L::NONE:
  case L::NOT:
  case L::IF:
  case L::LET:
  case L::REPEAT:
  case L::RETURN:
  case L::REQUIRE:
    return true;
  default:
    return isWord(lexeme) || isReduction(lexeme);
  }
}

} // namespace stg
