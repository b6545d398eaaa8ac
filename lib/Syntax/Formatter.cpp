//===- Formatter.cpp - the one look of .stg files -------------------------===//
// Works on tokens, not on the AST, so that nothing but blanks can change. Three steps: comments are tied to the token
// they stand behind or above; tokens are cut into logical lines by their roles in the parse tree; each logical line is
// laid out (LineLayout.h). At last the comments behind code are aligned.
//===----------------------------------------------------------------------===//
#include "stg/Syntax/Formatter.h"
#include "LineLayout.h"
#include "Session.h"
#include "TokenRoles.h"

namespace stg {

namespace {

using P = antlr::StgParser;

struct Comment {
  llvm::StringRef text;
  /// An empty line stands before it.
  bool afterEmptyLine;
};

/// A token other than a newline.
struct Token {
  uint32_t type;
  TokenRole role;
  llvm::StringRef text;
  /// A newline or `;` separates it from the token before.
  bool startsLine = false;
  bool afterEmptyLine = false;
  llvm::SmallVector<Comment, 1> above;
  llvm::StringRef trailing;
  /// BlockOpen: index of the closing brace, and whether the block may stand on one line.
  size_t close = 0;
  bool mayInline = false;
  /// Any newline between the token before and this one.
  bool afterNewline = false;
};

class Formatter {
public:
  Formatter(llvm::ArrayRef<Lexeme> lexemes, llvm::ArrayRef<TokenRole> roles, llvm::StringRef text) {
    collect(lexemes, roles, text);
    matchBlocks();
  }

  std::string run() {
    for (at_ = 0; at_ < tokens_.size(); ++at_)
      step();
    flushLine();
    comments(tail_);
    alignComments();
    std::string result;
    for (const OutLine &line : out_)
      result += line.code + line.comment + "\n";
    return result;
  }

private:
  //===--------------------------------------------------------------------===//
  // Tokens and their comments
  //===--------------------------------------------------------------------===//

  void collect(llvm::ArrayRef<Lexeme> lexemes, llvm::ArrayRef<TokenRole> roles, llvm::StringRef text) {
    size_t visible = 0;
    unsigned newlines = 0;                  // since the last token or comment
    bool newline = false, separator = true; // since the last token
    llvm::SmallVector<Comment, 1> above;
    for (const Lexeme &lexeme : lexemes) {
      TokenRole role = lexeme.visible ? roles[visible++] : TokenRole::Plain;
      llvm::StringRef spelling = text.slice(lexeme.begin, lexeme.end);
      switch (lexeme.type) {
      case P::WS:
      case P::ERROR_CHAR: // a byte order mark, else the text would have errors
        continue;
      case P::NL:
        ++newlines;
        newline = true;
        separator |= role == TokenRole::Separator;
        continue;
      case P::COMMENT:
        if (newlines == 0 && !tokens_.empty() && tokens_.back().trailing.empty() && above.empty())
          tokens_.back().trailing = spelling.rtrim();
        else
          above.push_back({spelling.rtrim(), newlines > 1});
        newlines = 0;
        continue;
      default:
        break;
      }
      Token token{lexeme.type, role, spelling};
      token.startsLine = separator;
      token.afterEmptyLine = newlines > 1;
      token.afterNewline = newline;
      token.above = std::move(above);
      above.clear();
      tokens_.push_back(std::move(token));
      newlines = 0;
      newline = false;
      separator = role == TokenRole::Separator; // `;`
    }
    tail_ = std::move(above);
  }

  /// Finds the partner of each block's brace, and which blocks were written on one line and are simple enough to stay.
  void matchBlocks() {
    llvm::SmallVector<size_t, 8> open;
    for (size_t i = 0; i < tokens_.size(); ++i) {
      if (tokens_[i].role == TokenRole::BlockOpen) {
        open.push_back(i);
      } else if (tokens_[i].role == TokenRole::BlockClose) {
        size_t opener = open.pop_back_val();
        tokens_[opener].close = i;
        tokens_[opener].mayInline = isSimple(opener, i);
      }
    }
  }
  bool isSimple(size_t open, size_t close) const {
    if (!tokens_[open].trailing.empty())
      return false;
    for (size_t i = open + 1; i <= close; ++i) {
      const Token &token = tokens_[i];
      bool last = i == close;
      if (!token.above.empty() || (!last && !token.trailing.empty()))
        return false;
      if (!last && (token.role == TokenRole::BlockOpen || token.role == TokenRole::Separator))
        return false;
      if (token.afterNewline && close != open + 1)
        return false;
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Logical lines
  //===--------------------------------------------------------------------===//

  void step() {
    Token &token = tokens_[at_];
    if (token.role == TokenRole::Separator) { // `;`
      flushLine();
      comments(token.above);
      if (!token.trailing.empty())
        trail(token.trailing);
      return;
    }
    bool explodedClose = token.role == TokenRole::BlockClose && at_ > inlineUntil_;
    if (explodedClose || (token.startsLine && at_ > inlineUntil_))
      flushLine();
    if (line_.empty()) {
      comments(token.above);
      if (explodedClose)
        indent_ -= 2;
      else if (token.afterEmptyLine)
        emptyLine();
      checkInline();
    }
    append(token);
    if (token.role != TokenRole::BlockOpen)
      return;
    if (token.mayInline) {
      inlineUntil_ = token.close;
      return;
    }
    flushLine();
    indent_ += 2;
    atBlockStart_ = true;
  }

  /// At the start of a line: its blocks may only stand on it if all of it fits.
  void checkInline() {
    size_t width = indent_;
    llvm::SmallVector<size_t, 2> blocks;
    size_t inlineUntil = 0;
    for (size_t i = at_; i < tokens_.size(); ++i) {
      const Token &token = tokens_[i];
      if (i > at_ && i > inlineUntil &&
          (token.startsLine || token.role == TokenRole::Separator || (token.role == TokenRole::BlockClose)))
        break;
      width += displayWidth(token.text) + (i > at_ && blankBetween(tokens_[i - 1], token));
      if (token.role != TokenRole::BlockOpen)
        continue;
      if (!token.mayInline)
        break;
      blocks.push_back(i);
      inlineUntil = token.close;
    }
    if (width > kFormatWidth)
      for (size_t block : blocks)
        tokens_[block].mayInline = tokens_[block].close == block + 1;
  }

  void append(const Token &token) {
    Piece piece;
    piece.text = token.text;
    piece.blankBefore = at_ > 0 && blankBetween(tokens_[at_ - 1], token);
    piece.breakAfter = token.role == TokenRole::BreakAfter;
    piece.breakBefore = token.role == TokenRole::BreakBefore;
    piece.leads = token.type == P::ARROW;
    piece.hugsIndent = token.role == TokenRole::StatementElse;
    bool block = token.role == TokenRole::BlockOpen || token.role == TokenRole::BlockClose;
    piece.opens = token.type == P::LPAREN || token.type == P::LBRACKET || (token.type == P::LBRACE && !block);
    piece.closes = token.type == P::RPAREN || token.type == P::RBRACKET || (token.type == P::RBRACE && !block);
    if (!line_.empty()) // those of the first piece stand above the line already
      for (const Comment &comment : token.above)
        piece.above.push_back(comment.text);
    piece.trailing = token.trailing;
    line_.push_back(std::move(piece));
  }

  void flushLine() {
    if (line_.empty())
      return;
    layOut(line_, indent_, out_);
    line_.clear();
    atBlockStart_ = false;
  }

  void comments(llvm::ArrayRef<Comment> comments) {
    for (const Comment &comment : comments) {
      if (comment.afterEmptyLine)
        emptyLine();
      out_.push_back({std::string(indent_, ' ') + comment.text.str(), ""});
      atBlockStart_ = false;
    }
  }

  /// At most one, none at the start of a file or block. The end of a block is `}`, which asks for none.
  void emptyLine() {
    if (!out_.empty() && !atBlockStart_ && !(out_.back().code.empty() && out_.back().comment.empty()))
      out_.push_back({});
  }

  /// A comment behind a `;` that is gone.
  void trail(llvm::StringRef comment) {
    if (!out_.empty() && out_.back().comment.empty() && !out_.back().code.empty())
      out_.back().comment = comment.str();
    else
      out_.push_back({std::string(indent_, ' ') + comment.str(), ""});
  }

  //===--------------------------------------------------------------------===//
  // Blanks
  //===--------------------------------------------------------------------===//

  static bool blankBetween(const Token &left, const Token &right) {
    if (left.role == TokenRole::Sign || left.role == TokenRole::Tight || right.role == TokenRole::Tight ||
        right.role == TokenRole::Attached)
      return false;
    switch (right.type) {
    case P::RPAREN:
    case P::RBRACKET:
    case P::COMMA:
    case P::COLON:
    case P::QUESTION:
    case P::DOT:
    case P::DOTDOT:
    case P::SEMI:
      return false;
    default:
      break;
    }
    switch (left.type) {
    case P::LPAREN:
    case P::LBRACKET:
    case P::DOT:
    case P::DOTDOT:
      return false;
    default:
      return true;
    }
  }

  //===--------------------------------------------------------------------===//
  // Comments behind code
  //===--------------------------------------------------------------------===//

  /// Two blanks before them; on neighbouring lines in one column, if that keeps all of them within the width.
  void alignComments() {
    for (size_t begin = 0; begin < out_.size();) {
      size_t end = begin, widest = 0, longest = 0;
      for (; end < out_.size() && !out_[end].comment.empty(); ++end) {
        widest = std::max(widest, displayWidth(out_[end].code));
        longest = std::max(longest, displayWidth(out_[end].comment));
      }
      bool align = widest + 2 + longest <= kFormatWidth;
      for (; begin < end; ++begin) {
        OutLine &line = out_[begin];
        line.comment.insert(0, 2 + (align ? widest - displayWidth(line.code) : 0), ' ');
      }
      begin = end + 1;
    }
  }

  std::vector<Token> tokens_;
  llvm::SmallVector<Comment, 1> tail_;
  size_t at_ = 0;
  /// The tokens up to here belong to a block on one line.
  size_t inlineUntil_ = 0;
  size_t indent_ = 0;
  bool atBlockStart_ = true;
  std::vector<Piece> line_;
  std::vector<OutLine> out_;
};

} // namespace

std::optional<std::string> formatFile(FileId file, const SourceManager &sources, Diagnostics &diags) {
  size_t errorsBefore = diags.numErrors();
  ast::ASTContext context;
  Session session(file, sources, context, diags);
  if (!session.canParse())
    return std::nullopt;
  P::FileContext *tree = session.parser().file();
  session.builder().file(tree); // for the errors that only it finds
  if (diags.numErrors() != errorsBefore)
    return std::nullopt;
  return Formatter(session.lexemes(), tokenRoles(tree, session.numTokens()), sources.text(file)).run();
}

} // namespace stg
