//===- IRLexer.h - tokens of .stgir text ------------------------------------===//
// Private to lib/IR. Line breaks are blanks. Every function that cannot go on reports once and throws ReadFailure,
// which readProgram catches.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_IRLEXER_H
#define STG_LIB_IR_IRLEXER_H

#include "TextNames.h"
#include "stg/Support/CroppedText.h"
#include "stg/Support/Diagnostics.h"
#include <cctype>
#include <charconv>

namespace stg::detail {

struct ReadFailure {};

class IRLexer {
public:
  IRLexer(FileId file, llvm::StringRef text, Diagnostics &diags) : file_(file), text_(text), diags_(diags) { skip(); }

  bool atEnd() const { return at_ >= text_.size(); }
  uint32_t position() const { return static_cast<uint32_t>(at_); }
  SourceRange since(uint32_t begin) const {
    return {file_, begin, static_cast<uint32_t>(std::max<size_t>(end_, begin))};
  }
  Diagnostics &diags() { return diags_; }

  [[noreturn]] void expected(const std::string &what) {
    size_t length = 1;
    if (!atEnd() && isPathPart(text_[at_]))
      length = text_.substr(at_).take_while(isPathPart).size();
    // Whole characters only: a message never holds half of one.
    while (at_ + length < text_.size() && (static_cast<unsigned char>(text_[at_ + length]) & 0xC0) == 0x80)
      ++length;
    llvm::StringRef found = text_.substr(at_, length);
    SourceRange place{file_, position(), static_cast<uint32_t>(at_ + found.size())};
    diags_.report(
        place, diag::IRSyntax{.expected = what,
                              .found = atEnd() ? std::string("the end of the file") : "`" + croppedText(found) + "`"});
    throw ReadFailure();
  }

  bool peek(char c) const { return !atEnd() && text_[at_] == c; }
  bool take(llvm::StringRef punctuation) {
    if (!text_.substr(at_).starts_with(punctuation))
      return false;
    advance(punctuation.size());
    return true;
  }
  void want(llvm::StringRef punctuation) {
    if (!take(punctuation))
      expected("`" + punctuation.str() + "`");
  }

  /// A bare word, or an empty text.
  llvm::StringRef peekWord() const {
    if (atEnd() || !isNameStart(text_[at_]))
      return {};
    return text_.substr(at_).take_while(isNamePart);
  }
  bool takeWord(llvm::StringRef word) {
    if (peekWord() != word)
      return false;
    advance(word.size());
    return true;
  }
  void wantWord(llvm::StringRef word) {
    if (!takeWord(word))
      expected("`" + word.str() + "`");
  }
  llvm::StringRef word(const std::string &what) {
    llvm::StringRef found = peekWord();
    if (found.empty())
      expected(what);
    advance(found.size());
    return found;
  }

  /// A bare or quoted name.
  std::string name(const std::string &what) {
    if (peek('"'))
      return string();
    return word(what).str();
  }

  std::string string() {
    if (!peek('"'))
      expected("a string");
    size_t at = at_ + 1;
    std::string value;
    while (at < text_.size() && text_[at] != '"' && text_[at] != '\n') {
      if (text_[at] == '\\' && at + 1 < text_.size() && text_[at + 1] != '\n')
        value += text_[++at] == 'n' ? '\n' : text_[at];
      else
        value += text_[at];
      ++at;
    }
    if (at >= text_.size() || text_[at] != '"') {
      at_ = std::min(at, text_.size());
      expected("`\"` at the end of the string");
    }
    advance(at + 1 - at_);
    return value;
  }

  /// What stands behind `%` or `@`; `isNumber` if it is a plain number (an unnamed value).
  std::string path(char sigil, bool *isNumber = nullptr) {
    want(llvm::StringRef(&sigil, 1));
    if (peek('"'))
      return string();
    llvm::StringRef found = text_.substr(at_).take_while(isPathPart);
    if (found.empty())
      expected("a name");
    if (isNumber)
      *isNumber = llvm::all_of(found, llvm::isDigit);
    advance(found.size());
    return found.str();
  }

  /// The text up to one of `ends` outside parentheses, which stays.
  llvm::StringRef rawUntil(llvm::StringRef ends) {
    int depth = 0;
    size_t at = at_;
    for (; at < text_.size(); ++at) {
      char c = text_[at];
      if (depth == 0 && ends.contains(c))
        break;
      depth += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (depth < 0 || c == '\n')
        break;
    }
    llvm::StringRef raw = text_.slice(at_, at);
    advance(raw.size());
    return raw.rtrim();
  }

  template <class Number> Number number(const std::string &what) {
    llvm::StringRef rest =
        text_.substr(at_).take_while([](char c) { return llvm::isAlnum(c) || c == '.' || c == '+' || c == '-'; });
    Number value{};
    auto [end, error] = std::from_chars(rest.begin(), rest.end(), value);
    if (error != std::errc() || end != rest.end())
      expected(what);
    advance(rest.size());
    return value;
  }

  /// `( each, each )`; the list may be empty.
  template <class Fn> void list(char open, char close, Fn each) {
    want(llvm::StringRef(&open, 1));
    if (take(llvm::StringRef(&close, 1)))
      return;
    do
      each();
    while (take(","));
    want(llvm::StringRef(&close, 1));
  }

private:
  void advance(size_t length) {
    at_ = std::min(at_ + length, text_.size());
    end_ = at_;
    skip();
  }
  void skip() {
    while (!atEnd()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])))
        ++at_;
      else if (text_.substr(at_).starts_with("//"))
        at_ = std::min(text_.find('\n', at_), text_.size());
      else
        return;
    }
  }

  FileId file_;
  llvm::StringRef text_;
  Diagnostics &diags_;
  size_t at_ = 0;
  size_t end_ = 0; ///< of the last token
};

} // namespace stg::detail

#endif
