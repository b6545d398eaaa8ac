//===- Brackets.cpp - match brackets before parsing -----------------------===//
// A stack of open brackets, each with the depth that the operators in it add to the parser's recursion:
//   prefix   `- - x`, `not not x`: ends with the operand;
//   reduce   `sum(D) sum(E) x`, `sum(D) x * sum(E) y`: an operand of a reduction reaches to the next `+`, `-` or
//   weaker; open     `if`, comparisons, `and`, `or`: to the end of the expression; postfix  `x[..][..]`: to the next
//   operator.
// The depth of a token is the sum over the stack.
//===----------------------------------------------------------------------===//
#include "Brackets.h"
#include "StgLexer.h"
#include "stg/Syntax/Parser.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace stg {

namespace {

using L = antlr::StgLexer;

struct Frame {
  /// Opening bracket; 0 for the file itself.
  uint32_t type = 0;
  SourceRange place;
  /// Indentation of the line that opens it.
  uint32_t indentation = 0;
  /// Depth of all frames below.
  unsigned below = 0;
  unsigned prefix = 0, reduce = 0, open = 0, postfix = 0;
  /// Holds `@`: in `[D @ dp tp]` names stand side by side.
  bool hasAt = false;
  /// The list of a reduction: an operand follows its `)`.
  bool ofReduction = false;
  /// `{ a = 1, b = 2 }`, not a block.
  bool isList = false;

  unsigned depth() const { return below + 1 + prefix + reduce + open + postfix; }
};

uint32_t closerOf(uint32_t opener) {
  return opener == L::LPAREN ? L::RPAREN : opener == L::LBRACKET ? L::RBRACKET : L::RBRACE;
}
const char *spelling(uint32_t bracket) {
  switch (bracket) {
  case L::LPAREN:
    return "(";
  case L::RPAREN:
    return ")";
  case L::LBRACKET:
    return "[";
  case L::RBRACKET:
    return "]";
  case L::LBRACE:
    return "{";
  default:
    return "}";
  }
}

class BracketMatcher {
public:
  BracketMatcher(std::vector<Lexeme> &lexemes, FileId file, llvm::StringRef text, Diagnostics &diags)
      : in_(lexemes), file_(file), text_(text), diags_(diags) {
    out_.reserve(in_.size() + 8);
    stack_.push_back({});
  }

  BracketResult run() {
    for (index_ = 0; index_ < in_.size(); ++index_) {
      const Lexeme &lexeme = in_[index_];
      if (!lexeme.visible) {
        out_.push_back(lexeme);
        continue;
      }
      switch (lexeme.type) {
      case L::NL:
        newline(lexeme);
        break;
      case L::LPAREN:
      case L::LBRACKET:
      case L::LBRACE:
        open(lexeme);
        break;
      case L::RPAREN:
      case L::RBRACKET:
        close(lexeme);
        break;
      case L::RBRACE:
        closeBrace(lexeme);
        break;
      default:
        other(lexeme);
      }
      if (result_.tooDeep)
        return std::move(result_);
    }
    closeOpenParens();
    closeBraces(lastVisible_.end);
    in_ = std::move(out_);
    return std::move(result_);
  }

private:
  Frame &top() { return stack_.back(); }
  bool inParens() const { return stack_.back().type == L::LPAREN || stack_.back().type == L::LBRACKET; }
  SourceRange place(const Lexeme &lexeme) const { return {file_, lexeme.begin, lexeme.end}; }
  llvm::StringRef textOf(const Lexeme &lexeme) const { return text_.slice(lexeme.begin, lexeme.end); }

  void emit(const Lexeme &lexeme) {
    out_.push_back(lexeme);
    if (lexeme.visible) {
      lastVisible_ = lexeme;
      lastClosedReduction_ = false;
      (lineFirst_.end == 0 ? lineFirst_ : lineSecond_.end == 0 ? lineSecond_ : lastVisible_) = lexeme;
      lineHasBrace_ |= lexeme.type == L::LBRACE;
      lineHasAssign_ |= lexeme.type == L::ASSIGN;
    }
  }
  void insertCloser(uint32_t opener) {
    emit({closerOf(opener), lastVisible_.end, lastVisible_.end, /*visible=*/true});
    stack_.pop_back();
  }
  bool afterOperand() const { return haveToken() && endsOperand(lastVisible_) && !lastClosedReduction_; }
  bool haveToken() const { return lastVisible_.end != 0; }

  /// The next token that the parser would see, newlines aside; `in_.size()` at the end.
  size_t nextSignificant(size_t i) const {
    while (i < in_.size() && (!in_[i].visible || in_[i].type == L::NL))
      ++i;
    return i;
  }
  size_t nextVisible(size_t i) const {
    while (i < in_.size() && !in_[i].visible)
      ++i;
    return i;
  }
  uint32_t typeAt(size_t i) const { return i < in_.size() ? in_[i].type : 0; }

  uint32_t indentationAt(uint32_t offset) const {
    llvm::StringRef before = text_.take_front(offset);
    llvm::StringRef line = text_.substr(before.rfind('\n') + 1);
    return static_cast<uint32_t>(line.size() - line.ltrim(" \t").size());
  }
  bool firstOnLine(uint32_t offset) const {
    llvm::StringRef before = text_.take_front(offset).rtrim(" \t");
    return before.empty() || before.ends_with("\n");
  }

  template <class Row> DiagnosticBuilder report(SourceRange range, const Row &row) {
    result_.reported.push_back(range.begin);
    return diags_.report(range, row);
  }

  void checkDepth(SourceRange here) {
    if (top().depth() <= kMaxNesting)
      return;
    report(here, diag::NestedTooDeep{.limit = kMaxNesting});
    result_.tooDeep = true;
  }

  /// Reports and inserts what closes every open ( and [.
  void closeOpenParens() {
    if (!inParens())
      return;
    std::string closers;
    SourceRange opener;
    for (size_t i = stack_.size(); i-- > 0 && (stack_[i].type == L::LPAREN || stack_[i].type == L::LBRACKET);) {
      closers += spelling(closerOf(stack_[i].type));
      opener = stack_[i].place;
    }
    reportMissing(closers, lastVisible_.end, closers.size() == 1 ? opener : top().place);
    while (inParens())
      insertCloser(top().type);
  }

  void reportMissing(llvm::StringRef closers, uint32_t at, SourceRange opener) {
    SourceRange here{file_, at, at};
    report(here, diag::MissingCloser{.closer = closers})
        .label(opener, "opened here")
        .fixit(here, closers.str(), ("insert `" + closers + "`").str());
  }

  /// Reports and inserts what closes every open brace: a declaration begins, or the file ends.
  void closeBraces(uint32_t at) {
    if (stack_.size() == 1)
      return;
    // The brace that was closed too early by a line further to the left is the one that lacks its own.
    SourceRange opener = suspect_.valid() ? suspect_ : top().place;
    report(SourceRange{file_, at, at}, diag::MissingCloser{.closer = std::string(stack_.size() - 1, '}')})
        .label(opener, "opened here");
    suspect_ = {};
    while (stack_.size() > 1)
      insertCloser(top().type);
  }

  void newline(const Lexeme &lexeme) {
    size_t next = nextSignificant(index_);
    closeList(next);
    if (inParens()) {
      if (lineMustEnd(next))
        closeOpenParens();
      else
        return out_.push_back({lexeme.type, lexeme.begin, lexeme.end, /*visible=*/false});
    }
    if (stack_.size() > 1 && beginsDeclaration(next))
      closeBraces(lastVisible_.end);
    insertOpeningBrace(next);
    top().prefix = top().reduce = top().open = top().postfix = 0;
    if (typeAt(next) != L::ARROW && !joinsLines(lastVisible_.type)) {
      lineFirst_ = lineSecond_ = {};
      lineHasBrace_ = lineHasAssign_ = false;
    }
    // Not by `emit`: what stands before a newline decides how the next line is read.
    out_.push_back(lexeme);
    lastWasNewline_ = true;
  }

  /// `train { steps = 1` and a new line that does not go on with it.
  void closeList(size_t next) {
    if (!top().isList || !afterOperand() || typeAt(next) == L::RBRACE || typeAt(next) == L::COMMA)
      return;
    reportMissing("}", lastVisible_.end, top().place);
    insertCloser(top().type);
  }

  /// A line that needs a block and has no `{`. Repaired only if a `}` is left over: else all of the block is missing,
  /// and the parser says so.
  void insertOpeningBrace(size_t next) {
    if (inParens() || lineHasBrace_ || !lineNeedsBlock() || typeAt(next) == L::ARROW || typeAt(next) == L::LBRACE ||
        !(afterOperand() || lastVisible_.type == L::COLON))
      return;
    int surplus = -static_cast<int>(stack_.size() - 1);
    for (size_t i = next; i < in_.size() && !beginsDeclaration(i); i = nextSignificant(i + 1))
      surplus += in_[i].type == L::RBRACE ? 1 : in_[i].type == L::LBRACE ? -1 : 0;
    if (surplus <= 0)
      return;
    SourceRange here{file_, lastVisible_.end, lastVisible_.end};
    auto builder = report(here, diag::MissingBraces{.word = textOf(lineFirst_)});
    if (lastVisible_.type == L::COLON) {
      here.begin = lastVisible_.begin;
      out_.back().visible = out_.back().type != L::COLON && out_.back().visible;
    }
    builder.fixit(here, " {", "{");
    open({L::LBRACE, lastVisible_.end, lastVisible_.end, /*visible=*/true});
  }
  bool lineNeedsBlock() const {
    llvm::StringRef word = textOf(lineFirst_);
    bool named = isWord(lineSecond_);
    if (stack_.size() == 1)
      return named && llvm::StringSwitch<bool>(word)
                          .Cases("layer", "op", "model", "optimizer", "plan", "workload", true)
                          .Default(false);
    return (word == "repeat" && (named || lineSecond_.type == L::INT)) || (word == "unit" && named) ||
           (word == "if" && lineSecond_.type != L::ASSIGN) || (word == "pipeline" && lineSecond_.type == L::OVER);
  }

  static bool joinsLines(uint32_t type) {
    return type == L::COMMA || type == L::ARROW || type == L::ASSIGN || type == L::PLUS || type == L::MINUS;
  }

  /// Inside ( or [: the line before and the line at `next` cannot belong together.
  bool lineMustEnd(size_t next) const {
    if (next == in_.size())
      return true;
    switch (in_[next].type) {
    case L::RBRACE:
    case L::LET:
    case L::REPEAT:
    case L::RETURN:
    case L::REQUIRE:
      return true;
    default:
      break;
    }
    // `weight w`, `flops 2`: two operands side by side begin a line.
    size_t second = nextVisible(next + 1);
    if (isWord(in_[next]) && second < in_.size() &&
        (isWord(in_[second]) || in_[second].type == L::INT || in_[second].type == L::STRING) && !stack_.back().hasAt)
      return true;
    return !stack_.back().hasAt && afterOperand() && beginsOperand(in_[next]);
  }

  /// `layer f(`, `plan p {` ... at `i`: nothing of a block begins like that.
  bool beginsDeclaration(size_t i) const {
    if (i >= in_.size())
      return false;
    llvm::StringRef word = textOf(in_[i]);
    size_t second = nextVisible(i + 1);
    if (word == "use")
      return typeAt(second) == L::STRING || (second < in_.size() && isWord(in_[second]));
    bool always = word == "layer" || word == "op" || word == "workload";
    // These three also begin lines of a workload, but there no `{` follows.
    bool withBody = word == "model" || word == "plan" || word == "optimizer";
    if ((!always && !withBody) || second >= in_.size() || !isWord(in_[second]))
      return false;
    size_t third = nextVisible(second + 1);
    if (typeAt(third) == L::LBRACE)
      return true;
    if (typeAt(third) != L::LPAREN)
      return false;
    if (always)
      return true;
    unsigned depth = 0;
    for (size_t j = third; j < in_.size(); ++j) {
      if (in_[j].type == L::LPAREN)
        ++depth;
      else if (in_[j].type == L::RPAREN && --depth == 0)
        return typeAt(nextVisible(j + 1)) == L::LBRACE;
    }
    return false;
  }

  void open(const Lexeme &lexeme) {
    if (lexeme.type == L::LBRACE)
      closeOpenParens();
    if (lexeme.type == L::LBRACKET && afterOperand() && !lastWasNewline_)
      ++top().postfix;
    Frame frame;
    frame.type = lexeme.type;
    frame.place = place(lexeme);
    frame.indentation = indentationAt(lexeme.begin);
    frame.below = top().depth();
    frame.isList = lexeme.type == L::LBRACE && opensList();
    frame.ofReduction = haveToken() && isReduction(lastVisible_);
    emit(lexeme);
    lastWasNewline_ = false;
    stack_.push_back(frame);
    checkDepth(frame.place);
  }

  bool opensList() const {
    return llvm::StringSwitch<bool>(textOf(lineFirst_))
        .Cases("train", "prefill", "decode", "emit", "precision", true)
        .Cases("zero", "store", "recompute", "offload", "fold", "use", true)
        .Default(false);
  }

  void close(const Lexeme &lexeme) {
    lastWasNewline_ = false;
    uint32_t wanted = lexeme.type == L::RPAREN ? L::LPAREN : L::LBRACKET;
    size_t match = stack_.size();
    for (size_t i = stack_.size(); i-- > 0 && (stack_[i].type == L::LPAREN || stack_[i].type == L::LBRACKET);)
      if (stack_[i].type == wanted) {
        match = i;
        break;
      }
    if (match == stack_.size()) {
      auto builder = report(place(lexeme), diag::UnmatchedCloser{.closer = spelling(lexeme.type)});
      if (!inParens()) {
        out_.push_back({lexeme.type, lexeme.begin, lexeme.end, /*visible=*/false});
        return;
      }
      builder.label(top().place, "this is open");
      if (closesLater()) { // `[B, g, r), c]`: one too many
        builder.fixit(place(lexeme), "", "remove it");
        out_.push_back({lexeme.type, lexeme.begin, lexeme.end, /*visible=*/false});
        return;
      }
      // `f(x]`: read it as the closer of what is open.
      builder.fixit(place(lexeme), spelling(closerOf(top().type)));
      emit({closerOf(top().type), lexeme.begin, lexeme.end, /*visible=*/true});
      stack_.pop_back();
      return;
    }
    while (stack_.size() - 1 > match) {
      reportMissing(spelling(closerOf(top().type)), lastVisible_.end, top().place);
      insertCloser(top().type);
    }
    bool ofReduction = top().ofReduction;
    stack_.pop_back();
    emit(lexeme);
    lastClosedReduction_ = ofReduction;
  }

  /// The bracket on top of the stack is closed behind this token, before any brace.
  bool closesLater() const {
    int depth = 0;
    for (size_t i = index_ + 1; i < in_.size() && in_[i].type != L::LBRACE && in_[i].type != L::RBRACE; ++i) {
      if (depth == 0 && in_[i].type == closerOf(stack_.back().type))
        return true;
      depth += in_[i].type == L::LPAREN || in_[i].type == L::LBRACKET   ? 1
               : in_[i].type == L::RPAREN || in_[i].type == L::RBRACKET ? -1
                                                                        : 0;
    }
    return false;
  }

  void closeBrace(const Lexeme &lexeme) {
    closeOpenParens();
    // `decode past = 3 }`: the brace of a list, whose own `{` is missing.
    bool ofList = opensList() && lineHasAssign_ && !lineHasBrace_;
    if (stack_.size() == 1 || ofList) {
      report(place(lexeme), diag::UnmatchedCloser{.closer = "}"});
      out_.push_back({lexeme.type, lexeme.begin, lexeme.end, /*visible=*/false});
      return;
    }
    if (!suspect_.valid() && firstOnLine(lexeme.begin) && indentationAt(lexeme.begin) < top().indentation)
      suspect_ = top().place;
    stack_.pop_back();
    emit(lexeme);
    lastWasNewline_ = false;
  }

  void other(Lexeme lexeme) {
    if (lexeme.type == L::ERROR_CHAR) {
      strayCharacter(lexeme);
      lexeme.visible = false;
      return out_.push_back(lexeme);
    }
    if (lexeme.type == L::UNTERMINATED) {
      SourceRange end = place(lexeme).finish();
      report(place(lexeme), diag::UnterminatedString{}).fixit(end, "\"", "close it with `\"`");
      lexeme.type = L::STRING;
    }
    countOperator(lexeme);
    emit(lexeme);
    lastWasNewline_ = false;
    checkDepth(place(lexeme));
  }

  void strayCharacter(const Lexeme &lexeme) {
    llvm::StringRef character = textOf(lexeme);
    constexpr llvm::StringRef kByteOrderMark = "\xEF\xBB\xBF";
    if (lexeme.begin == 0 && character == kByteOrderMark)
      return;
    auto control = static_cast<unsigned char>(character[0]);
    std::string shown =
        control < 0x20 || control == 0x7F ? ("U+00" + llvm::utohexstr(control, false, 2)) : character.str();
    auto builder = report(place(lexeme), diag::StrayCharacter{.character = shown});
    // What word processors and mathematicians write.
    llvm::StringRef meant = llvm::StringSwitch<llvm::StringRef>(character)
                                .Cases("\u201C", "\u201D", "\u201E", "'", "\"")
                                .Cases("\u2212", "\u2013", "\u2014", "-")
                                .Cases("\u00D7", "\u00B7", "*")
                                .Case("\u2264", "<=")
                                .Case("\u2265", ">=")
                                .Case("\u2260", "!=")
                                .Case("\u2192", "->")
                                .Case("\u00A0", " ")
                                .Default("");
    if (!meant.empty())
      builder.fixit(place(lexeme), meant.str(), ("write `" + meant + "`").str());
  }

  void countOperator(const Lexeme &lexeme) {
    Frame &frame = top();
    bool binary = afterOperand() && !lastWasNewline_;
    if (isReduction(lexeme)) {
      ++frame.reduce;
      return;
    }
    switch (lexeme.type) {
    case L::NOT:
      ++frame.prefix;
      return;
    case L::MINUS:
      if (!binary) {
        ++frame.prefix;
        return;
      }
      [[fallthrough]];
    case L::PLUS:
      frame.prefix = frame.reduce = frame.postfix = 0;
      return;
    case L::IF:
    case L::AND:
    case L::OR:
    case L::IN:
    case L::EQ:
    case L::NE:
    case L::LT:
    case L::LE:
    case L::GT:
    case L::GE:
      frame.prefix = frame.postfix = 0;
      ++frame.open;
      return;
    case L::COMMA:
    case L::SEMI:
      frame.prefix = frame.reduce = frame.open = frame.postfix = 0;
      return;
    case L::AT:
      frame.hasAt = true;
      return;
    case L::DOT:
      return;
    default:
      frame.prefix = 0;
      if (!endsOperand(lexeme))
        frame.postfix = 0;
      return;
    }
  }

  std::vector<Lexeme> &in_;
  std::vector<Lexeme> out_;
  FileId file_;
  llvm::StringRef text_;
  Diagnostics &diags_;
  llvm::SmallVector<Frame, 16> stack_;
  size_t index_ = 0;
  Lexeme lastVisible_{0, 0, 0, false};
  /// The first two tokens of the line, and what else it has.
  Lexeme lineFirst_{0, 0, 0, false}, lineSecond_{0, 0, 0, false};
  bool lineHasBrace_ = false, lineHasAssign_ = false;
  bool lastClosedReduction_ = false;
  bool lastWasNewline_ = true;
  BracketResult result_;
  SourceRange suspect_;
};

} // namespace

BracketResult matchBrackets(std::vector<Lexeme> &lexemes, FileId file, llvm::StringRef text, Diagnostics &diags) {
  return BracketMatcher(lexemes, file, text, diags).run();
}

} // namespace stg
