//===- Session.h - all that lives while a text is parsed ------------------===//
#pragma once

#include "ASTBuilder.h"
#include "Brackets.h"
#include "ByteStream.h"
#include "Lexeme.h"
#include "RecoveringStrategy.h"
#include "StgParser.h"

namespace stg {

/// Hands the visible lexemes to ANTLR.
class LexemeSource : public antlr4::TokenSource {
public:
  LexemeSource(llvm::ArrayRef<Lexeme> lexemes, ByteStream &stream) : lexemes_(lexemes), stream_(stream) {}

  std::unique_ptr<antlr4::Token> nextToken() override {
    while (next_ < lexemes_.size() && !lexemes_[next_].visible)
      ++next_;
    if (next_ == lexemes_.size())
      return make(antlr4::Token::EOF, stream_.size(), stream_.size());
    const Lexeme &lexeme = lexemes_[next_++];
    return make(lexeme.type, lexeme.begin, lexeme.end);
  }
  size_t getLine() const override { return 0; }
  size_t getCharPositionInLine() override { return 0; }
  antlr4::CharStream *getInputStream() override { return &stream_; }
  std::string getSourceName() override { return stream_.getSourceName(); }
  antlr4::TokenFactory<antlr4::CommonToken> *getTokenFactory() override {
    return antlr4::CommonTokenFactory::DEFAULT.get();
  }

private:
  std::unique_ptr<antlr4::Token> make(size_t type, size_t begin, size_t end) {
    return std::make_unique<antlr4::CommonToken>(std::pair<antlr4::TokenSource *, antlr4::CharStream *>(this, &stream_),
                                                 type, antlr4::Token::DEFAULT_CHANNEL, begin, end - 1);
  }

  llvm::ArrayRef<Lexeme> lexemes_;
  ByteStream &stream_;
  size_t next_ = 0;
};

/// Lexer, bracket matching, parser and AST builder for one text. The tree and its tokens go with it; the AST stays.
class Session {
public:
  Session(FileId file, const SourceManager &sources, ast::ASTContext &context, Diagnostics &diags)
      : text_(sources.text(file)), lexemes_(lex(text_)), brackets_(matchBrackets(lexemes_, file, text_, diags)),
        stream_(text_), source_(lexemes_, stream_), tokens_(&source_), parser_(&tokens_),
        builder_(file, text_, context, diags) {
    tokens_.fill(); // messages look at the rest of the line
    auto strategy = std::make_shared<RecoveringStrategy>(file, text_, diags);
    for (uint32_t offset : brackets_.reported)
      strategy->silenceLine(sources.lineOf(file, offset));
    parser_.removeErrorListeners();
    parser_.setErrorHandler(strategy);
  }

  bool canParse() const { return !brackets_.tooDeep; }
  antlr::StgParser &parser() { return parser_; }
  const antlr4::Token *token(size_t index) const { return tokens_.get(index); }
  llvm::ArrayRef<Lexeme> lexemes() const { return lexemes_; }
  size_t numTokens() { return tokens_.size(); }
  ast::ASTBuilder &builder() { return builder_; }

private:
  llvm::StringRef text_;
  std::vector<Lexeme> lexemes_;
  BracketResult brackets_;
  ByteStream stream_;
  LexemeSource source_;
  antlr4::CommonTokenStream tokens_;
  antlr::StgParser parser_;
  ast::ASTBuilder builder_;
};

} // namespace stg
