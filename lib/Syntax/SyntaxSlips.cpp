//===- SyntaxSlips.cpp - say what is wrong with a line --------------------===//
// `reportSlip` asks one recogniser after the other; each looks at the tokens of the line and either reports or
// declines. The order matters: a foreign `def` also lacks braces, and a colon in place of `{` is not one in place of
// `=`.
//===----------------------------------------------------------------------===//
#include "SyntaxSlips.h"
#include "LineWords.h"

#include "stg/Support/ClosestName.h"

#include "llvm/ADT/StringSwitch.h"

namespace stg {

namespace {

using P = antlr::StgParser;

/// More lenient than for names: the words are few, and two letters swapped (`spilt`) count as two.
std::optional<llvm::StringRef> closestWord(llvm::StringRef word, llvm::ArrayRef<llvm::StringRef> words) {
  if (std::optional<llvm::StringRef> close = closestName(word, words))
    return close;
  auto *found = llvm::find_if(
      words, [&](llvm::StringRef candidate) { return word.size() >= 4 && word.edit_distance(candidate) <= 2; });
  return found == words.end() ? std::nullopt : std::optional(*found);
}

constexpr const char *kSlashes = "`//` divides; a comment begins with `#`";

class SlipReporter {
public:
  SlipReporter(const Slip &slip, Diagnostics &diags)
      : slip_(slip), diags_(diags), tokens_(*slip.parser.getTokenStream()), at_(slip.token.getTokenIndex()) {
    findLine();
  }

  void run() {
    // The first line without `stg`: what the missing edition will be reported for.
    if (at_ == 0 && type(at_) == P::INT && list_ && list_->rule == P::RuleFile)
      return;
    if (foreignKeyword() || leadingOperator() || missingBraces() || danglingOperator() || assignmentInCondition() ||
        trailingComma() || missingOver() || colonForEquals() || equalsForColon() || unknownKeyword())
      return;
    if (slip_.afterLine && isLineStart(at_)) {
      auto builder = report(
          range(at_), diag::MissingLineBreak{.word = text(at_),
                                             .alternative = list_->rule == P::RuleFile ? "" : ", or a `;` before it"});
      if (lineHas(P::FLOORDIV))
        builder.note(kSlashes);
    } else {
      unexpected();
    }
  }

private:
  //===--------------------------------------------------------------------===//
  // Tokens of the line
  //===--------------------------------------------------------------------===//

  /// Finds the list, and the first token of the line, that the slip is in.
  void findLine() {
    auto *ctx = slip_.parser.getContext();
    first_ = at_;
    if (slip_.afterLine && !ctx->children.empty())
      if (auto *line = dynamic_cast<antlr4::ParserRuleContext *>(ctx->children.back()))
        first_ = line->start->getTokenIndex();
    for (; ctx; ctx = dynamic_cast<antlr4::ParserRuleContext *>(ctx->parent)) {
      rules_.push_back(ctx->getRuleIndex());
      // A list whose `{` is missing has not begun: the slip is in the line that it belongs to.
      bool begun = ctx->getRuleIndex() == P::RuleFile || ctx->start->getTokenIndex() < at_;
      if (const LineWords *words = lineWordsOf(ctx->getRuleIndex()); words && begun) {
        list_ = words;
        break;
      }
      first_ = ctx->start->getTokenIndex();
    }
  }

  size_t type(size_t i) const { return tokens_.get(i)->getType(); }
  size_t typeBefore(size_t i, size_t steps) const { return i >= steps ? type(i - steps) : 0; }
  /// 0 behind the end of the file.
  size_t typeAfter(size_t i, size_t steps) const {
    for (; steps > 0 && type(i) != antlr4::Token::EOF; --steps)
      ++i;
    return steps == 0 ? type(i) : 0;
  }
  SourceRange range(size_t i) const {
    antlr4::Token *token = tokens_.get(i);
    auto begin = static_cast<uint32_t>(token->getStartIndex()), end = static_cast<uint32_t>(token->getStopIndex() + 1);
    // The end of a line is shown behind its last token, not behind a comment.
    if ((type(i) == P::NL || type(i) == antlr4::Token::EOF) && i > 0)
      begin = end = static_cast<uint32_t>(tokens_.get(i - 1)->getStopIndex() + 1);
    return {slip_.file, begin, std::min<uint32_t>(end, slip_.text.size())};
  }
  llvm::StringRef text(size_t i) const {
    antlr4::Token *token = tokens_.get(i);
    return slip_.text.slice(token->getStartIndex(), token->getStopIndex() + 1);
  }
  static bool isWordType(size_t type) { return type == P::ID || (type < P::SUM && type != 0); }
  static bool isLiteralType(size_t type) {
    return type == P::INT || type == P::FLOAT || type == P::STRING || type == P::BAD_NUMBER;
  }
  bool isEnd(size_t type) const { return type == P::NL || type == antlr4::Token::EOF; }
  bool inRule(size_t rule) const { return llvm::is_contained(rules_, rule); }
  /// A token of this type stands in the line before the slip.
  bool lineHas(size_t wanted) const {
    for (size_t i = first_; i < at_; ++i)
      if (type(i) == wanted)
        return true;
    return false;
  }
  /// ... or behind it.
  bool restHas(size_t wanted) const {
    for (size_t i = at_; !isEnd(type(i)); ++i)
      if (type(i) == wanted)
        return true;
    return false;
  }
  bool isLineStart(size_t i) const { return list_ && (isWordType(type(i)) || list_->contains(text(i))); }

  template <class Row> DiagnosticBuilder report(SourceRange range, const Row &row) { return diags_.report(range, row); }

  //===--------------------------------------------------------------------===//
  // Slips, most telling first
  //===--------------------------------------------------------------------===//

  bool foreignKeyword() {
    llvm::StringRef word = text(first_);
    const char *instead =
        llvm::StringSwitch<const char *>(word)
            .Cases("def", "class", "func", "function", "fn", "module",
                   "a layer begins with `layer`, an operator with `op`, a network with `model`")
            .Cases("for", "while", "the one loop is `repeat n as name { ... }`")
            .Cases("import", "from", "`use std.{attention}` or `use \"file.stg\" as name` brings names in")
            .Cases("elif", "elsif", "elseif", "write `else if`")
            .Cases("const", "var", "val", "int", "float", "write `let name = value`")
            .Cases("param", "parameter", "write `weight w[D, F]`")
            .Default(nullptr);
    bool atWord = at_ == first_ || at_ == first_ + 1;
    if (!instead || !atWord || (at_ != first_ && !isWordType(type(at_)) && !isLiteralType(type(at_))))
      return false;
    report(range(first_), diag::ForeignKeyword{.word = word, .instead = instead});
    return true;
  }

  /// A line that begins with an operator, as if it went on from the one before.
  bool leadingOperator() {
    size_t i = at_;
    while (type(i) == P::NL)
      ++i;
    if (i == 0 || type(i - 1) != P::NL || !isBinaryOperator(type(i)))
      return false;
    std::string note = type(i) == P::FLOORDIV
                           ? kSlashes
                           : ("the line before is complete; `" + text(i) + "` at its end would join the two").str();
    report(range(i),
           diag::UnexpectedToken{.expected = list_ ? list_->thing : "a name", .found = ("`" + text(i) + "`").str()})
        .note(note);
    return true;
  }

  /// `repeat n as b:`, or the line ends where `{` should stand.
  bool missingBraces() {
    bool end = isEnd(type(at_)) && slip_.expected.contains(static_cast<size_t>(P::LBRACE));
    std::optional<size_t> colon;
    if (type(at_) == P::COLON && isEnd(typeAfter(at_, 1)))
      colon = at_;
    else if (isEnd(type(at_)) && typeBefore(at_, 1) == P::COLON)
      colon = at_ - 1; // read as the `:` of an element type
    llvm::StringRef word = text(first_);
    bool opensBlock = llvm::StringSwitch<bool>(word)
                          .Cases("layer", "op", "model", "optimizer", "plan", "workload", true)
                          .Cases("repeat", "unit", "if", "grad", "define", "pipeline", true)
                          .Default(false);
    if (!opensBlock || !(colon || end))
      return false;
    auto builder = report(range(colon.value_or(at_)), diag::MissingBraces{.word = word});
    if (colon)
      builder.label("not behind `:`").fixit(range(*colon), " {", "{");
    else if (typeAfter(at_, 1) == P::LBRACE)
      builder.label("`{` stands on this line, not on the next");
    else
      builder.fixit(range(at_), " {", "{");
    return true;
  }

  /// `y = a +` and the next line is a statement of its own.
  bool danglingOperator() {
    size_t newline = at_;
    while (newline > first_ && type(newline) != P::NL && at_ - newline < 3)
      --newline;
    if (newline <= first_ || newline == at_ || type(newline) != P::NL)
      return false;
    while (type(newline - 1) == P::NL)
      --newline;
    size_t before = type(newline - 1);
    if (!isBinaryOperator(before) && before != P::ASSIGN)
      return false;
    report(range(newline), diag::UnexpectedToken{.expected = "an expression", .found = "the end of the line"})
        .note(("`" + text(newline - 1) + "` joins this line to the next").str());
    return true;
  }

  bool assignmentInCondition() {
    llvm::StringRef word = text(first_);
    if (type(at_) != P::ASSIGN || !(word == "if" || word == "require" || word == "where"))
      return false;
    report(range(at_), diag::AssignmentInCondition{}).fixit(range(at_), "==");
    return true;
  }

  bool trailingComma() {
    std::optional<size_t> comma;
    if (type(at_) == P::COMMA && isEnd(typeAfter(at_, 1)))
      comma = at_; // `x = a,`
    else if (type(at_) == P::RPAREN || type(at_) == P::RBRACKET || type(at_) == P::RBRACE || isEnd(type(at_)))
      comma = commaBefore(at_); // `f(x, )`, `return a,` and then `}`
    else if (type(at_) == P::ASSIGN || isWordType(type(at_)) || type(at_) == P::LBRACKET)
      comma = commaEndingLineBefore(at_); // `weight a[D],` and on the next line `x = ...`
    if (!comma)
      return false;
    report(range(*comma), diag::TrailingComma{}).fixit(range(*comma), "", "remove it");
    return true;
  }
  /// The comma in front of `i`, newlines aside.
  std::optional<size_t> commaBefore(size_t i) const {
    while (i > first_ && type(i - 1) == P::NL)
      --i;
    return i > first_ && type(i - 1) == P::COMMA ? std::optional(i - 1) : std::nullopt;
  }
  /// The comma that joined the line at `i` to the one before, if this line reads as one of its own.
  std::optional<size_t> commaEndingLineBefore(size_t i) const {
    size_t start = i;
    while (start > first_ && type(start - 1) != P::NL && i - start < 3)
      --start;
    if (start <= first_ || type(start - 1) != P::NL || start == i || !isLineStart(start))
      return std::nullopt;
    return commaBefore(start);
  }

  bool missingOver() {
    llvm::StringRef word = text(first_);
    bool takesOver =
        list_ && list_->rule == P::RulePlanBlock &&
        llvm::StringSwitch<bool>(word).Cases("split", "zero", "store", "fold", "pipeline", true).Default(false);
    if (!takesOver || at_ == first_ || lineHas(P::OVER) || restHas(P::OVER))
      return false;
    bool betweenNames = at_ > first_ + 1 || word == "pipeline";
    bool otherWord = llvm::StringSwitch<bool>(text(at_))
                         .Cases("on", "across", "by", "in", "to", "along", "onto", true)
                         .Default(false);
    if (!betweenNames || !(isWordType(type(at_)) || otherWord || isEnd(type(at_))))
      return false;
    auto builder = report(range(at_), diag::MissingOver{.word = word});
    if (otherWord && isWordType(typeAfter(at_, 1)))
      builder.fixit(range(at_), "over");
    else if (isWordType(type(at_)))
      builder.fixit(range(at_).start(), "over ", ("over " + text(at_)).str());
    return true;
  }

  bool colonForEquals() {
    std::optional<size_t> colon;
    if (type(at_) == P::COLON)
      colon = at_; // `mesh dp: 8`
    else if (typeBefore(at_, 1) == P::COLON)
      colon = at_ - 1; // `f(x; F: 4 * D)`
    else if (typeBefore(at_, 2) == P::COLON && isWordType(typeBefore(at_, 1)) && inRule(P::RuleExpr))
      colon = at_ - 2; // `f(x; F: D)`
    if (!colon || *colon == 0 || !isWordType(type(*colon - 1)))
      return false;
    // `weight w: f32` lacks the dimensions; `kind c: 3` wants a kind.
    llvm::StringRef word = text(first_);
    if (inRule(P::RuleDecl) || inRule(P::RuleTparam) || inRule(P::RuleKindOf) || word == "kind" || word == "pin")
      return false;
    report(range(*colon), diag::ColonForEquals{.before = text(*colon - 1)})
        .fixit(range(*colon), " =", (text(*colon - 1) + " =").str());
    return true;
  }

  bool equalsForColon() {
    if (type(at_) != P::ASSIGN)
      return false;
    llvm::StringRef word = text(first_);
    bool type32 = isWordType(typeAfter(at_, 1)) && typeBefore(at_, 1) == P::RBRACKET &&
                  (inRule(P::RuleDecl) || inRule(P::RuleParams) || inRule(P::RuleOuts) || word == "weight" ||
                   word == "input" || word == "state" || word == "layer" || word == "op");
    std::string rule, before = text(at_ - (at_ > 0)).str();
    if (word == "kind")
      rule = "`kind` is written `" + before + ": whole`";
    else if (word == "pin")
      rule = "`pin` is written `" + before + ": [B/dp, S]`";
    else if (type32)
      rule = "an element type is written `: " + text(at_ + 1).str() + "`";
    else if (lineHas(P::ASSIGN) && isWordType(typeBefore(at_, 1)))
      rule = "a label is written `" + before + ": layer(...)`";
    else
      return false;
    SourceRange place = range(at_);
    // The blanks before `=` go as well.
    place.begin = range(at_ - 1).end;
    report(range(at_), diag::EqualsForColon{.rule = rule}).fixit(place, ":", type32 ? ":" : before + ":");
    return true;
  }

  bool unknownKeyword() {
    if (!list_ || !isWordType(type(first_)) || list_->contains(text(first_)))
      return false;
    // Where lines may begin with any name, a word is a keyword only if something follows that no name takes.
    bool reads = list_->rule == P::RuleBlock
                     ? at_ == first_ + 1 && (isWordType(type(at_)) || isLiteralType(type(at_)) ||
                                             type(at_) == P::LBRACE || type(at_) == P::DOT)
                     : at_ == first_;
    if (!reads || slip_.afterLine)
      return false;
    llvm::StringRef word = text(first_);
    auto builder = report(range(first_), diag::UnknownKeyword{.word = word, .thing = list_->thing});
    if (const LineWords *home = lineWordsWith(word))
      builder.note(("`" + word + "` begins " + home->thing).str());
    else if (std::optional<llvm::StringRef> meant = closestWord(word, list_->words))
      builder.fixit(range(first_), meant->str());
    else
      builder.note(list_->sentence());
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Anything else
  //===--------------------------------------------------------------------===//

  void unexpected() {
    std::string found = isEnd(type(at_)) ? (type(at_) == P::NL ? "the end of the line" : "the end of the file")
                                         : ("`" + text(at_) + "`").str();
    auto builder = report(range(at_), diag::UnexpectedToken{.expected = expectedText(), .found = found});
    if (type(at_) == P::LPAREN && list_ && list_->rule == P::RuleBlock && at_ == first_ + 1)
      builder.note("a statement names its result, `y = " + text(first_).str() + "(...)`, or returns it");
    if (lineHas(P::FLOORDIV) || type(at_) == P::FLOORDIV)
      builder.note(kSlashes);
    if (type(at_) == P::COLON && inRule(P::RuleTparam))
      builder.note("a tensor lists its dimensions, `" + text(at_ - 1).str() +
                   "[..., D]`; what is no tensor stands behind `;`");
  }

  std::string expectedText() const {
    antlr4::misc::IntervalSet expected = slip_.expected;
    // With long lookahead the set belongs to the token where the prediction began, not to this one.
    if (expected.contains(slip_.token.getType()) && !slip_.afterLine)
      return byRule();
    std::vector<std::string> parts;
    bool expression = expected.contains(static_cast<size_t>(P::NOT)),
         name = expected.contains(static_cast<size_t>(P::ID));
    if (expression)
      parts.push_back("an expression");
    else if (list_ && name && (type(at_) != P::NL && at_ == first_) && !slip_.afterLine)
      return list_->thing.str();
    else if (name)
      parts.push_back("a name");
    bool operators = expected.contains(static_cast<size_t>(P::PLUS));
    if (operators)
      parts.push_back("an operator");
    for (ssize_t token : expected.toList()) {
      auto t = static_cast<size_t>(token);
      bool isName = isWordType(t) || t == P::BAD_NUMBER; // `1f1b`
      bool covered = (name && isName) || (expression && beginsExpression(t)) || (operators && isOperator(t)) ||
                     t == antlr4::Token::EPSILON;
      if (!covered && !isEnd(t))
        parts.push_back(spelling(t));
    }
    if (parts.empty())
      return slip_.afterLine || expected.contains(static_cast<size_t>(P::NL)) ? "the end of the line" : byRule();
    if (parts.size() > 8)
      return at_ == first_ && list_ ? list_->thing.str() : byRule();
    std::string result = parts[0];
    for (size_t i = 1; i < parts.size(); ++i)
      result += (i + 1 == parts.size() ? " or " : ", ") + parts[i];
    return result;
  }

  std::string byRule() const {
    size_t before = at_ > 0 ? type(at_ - 1) : 0;
    bool afterOperand = isWordType(before) || isLiteralType(before) || before == P::RPAREN || before == P::RBRACKET;
    if (slip_.afterLine)
      return "the end of the line";
    if (inRule(P::RuleExpr) || inRule(P::RuleArgs))
      return afterOperand ? "an operator, `,` or a closing bracket" : "an expression";
    if (inRule(P::RuleDims) || inRule(P::RuleDim))
      return "a dimension";
    return at_ == first_ && list_ ? list_->thing.str() : "something else";
  }

  static bool isBinaryOperator(size_t t) {
    return (t >= P::PLUS && t <= P::PERCENT) || (t >= P::EQ && t <= P::GE) || t == P::AND || t == P::OR;
  }
  static bool isOperator(size_t t) {
    return isBinaryOperator(t) || t == P::IN || t == P::LBRACKET || t == P::LPAREN || t == P::DOT;
  }
  static bool beginsExpression(size_t t) {
    return isWordType(t) || isLiteralType(t) || (t >= P::SUM && t <= P::EACH) || t == P::IF || t == P::NOT ||
           t == P::MINUS || t == P::LPAREN || t == P::LBRACKET || t == P::TRUE || t == P::FALSE || t == P::NONE;
  }
  std::string spelling(size_t t) const {
    switch (t) {
    case P::INT:
    case P::FLOAT:
    case P::BAD_NUMBER:
      return "a number";
    case P::STRING:
      return "a string";
    case P::REBOUND:
      return "a name";
    default: {
      // Spelt 'x' in ANTLR's vocabulary.
      std::string name = slip_.parser.getVocabulary().getLiteralName(t);
      return name.empty() ? "something else" : "`" + name.substr(1, name.size() - 2) + "`";
    }
    }
  }

  const Slip &slip_;
  Diagnostics &diags_;
  antlr4::TokenStream &tokens_;
  /// Index of the token that does not fit.
  size_t at_;
  /// Index of the first token of its line.
  size_t first_ = 0;
  /// The list that the line stands in; null for a lone expression.
  const LineWords *list_ = nullptr;
  /// Rules between the list and the slip, innermost first.
  llvm::SmallVector<size_t, 16> rules_;
};

} // namespace

void reportSlip(const Slip &slip, Diagnostics &diags) { SlipReporter(slip, diags).run(); }

} // namespace stg
