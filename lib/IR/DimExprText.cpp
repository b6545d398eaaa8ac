//===- DimExprText.cpp - DimExpr as text, and back -------------------------===//
// expr   = ["-"] term { ("+" | "-") term }
// term   = factor { ("*" | "/") factor }
// factor = primary ["^" integer]
// primary = integer | name | fn "(" expr { "," expr } ")" | "pairs" "(" mask ["(" expr ... ")"] "," expr "," expr ")"
//         | "(" expr ")" | "overflow"
//===----------------------------------------------------------------------===//
#include "DimNode.h"
#include "RationalMath.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace stg {

using detail::Atom;
using detail::DimNode;
using detail::Power;
using detail::Term;

namespace {

struct FnName {
  DimFn fn;
  llvm::StringLiteral name;
  unsigned minArgs, maxArgs;
};
constexpr unsigned kAny = 1000;
constexpr FnName kFnNames[] = {{DimFn::Ceil, "ceil", 1, 1},         {DimFn::Floor, "floor", 1, 1},
                               {DimFn::FloorDiv, "floordiv", 2, 2}, {DimFn::Mod, "mod", 2, 2},
                               {DimFn::Min, "min", 1, kAny},        {DimFn::Max, "max", 1, kAny},
                               {DimFn::Quotient, "quotient", 2, 2}};

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

std::string printNode(const DimNode &node);

std::string printArgs(llvm::ArrayRef<const DimNode *> args) {
  std::string text;
  for (const DimNode *arg : args)
    text += (text.empty() ? "" : ", ") + printNode(*arg);
  return text;
}

std::string printAtom(const Atom &atom) {
  if (atom.isSymbol)
    return atom.name;
  if (atom.fn == DimFn::Quotient)
    return "(" + printNode(*atom.args[0]) + ")";
  llvm::ArrayRef<const DimNode *> args = atom.args;
  if (atom.fn == DimFn::Pairs) {
    std::string parameters = args.size() > 2 ? "(" + printArgs(args.drop_back(2)) + ")" : "";
    return ("pairs(" + spelling(atom.mask) + parameters + ", " + printArgs(args.take_back(2)) + ")").str();
  }
  for (const FnName &entry : kFnNames)
    if (entry.fn == atom.fn)
      return (entry.name + "(" + printArgs(args) + ")").str();
  return "";
}

/// The term without its sign.
std::string printTerm(const Term &term) {
  std::string text, divisors;
  for (const Power &power : term.powers) {
    std::string &place = power.exponent > 0 ? text : divisors;
    if (power.exponent < 0)
      place += "/";
    else if (!place.empty())
      place += "*";
    place += printAtom(*power.atom);
    int64_t magnitude = power.exponent < 0 ? -int64_t(power.exponent) : power.exponent;
    if (magnitude != 1)
      place += "^" + std::to_string(magnitude);
  }
  Int128 numerator = term.coefficient.numerator < 0 ? -term.coefficient.numerator : term.coefficient.numerator;
  if (text.empty())
    text = toString(numerator);
  else if (numerator != 1)
    text = toString(numerator) + "*" + text;
  if (term.coefficient.denominator != 1)
    text += "/" + toString(term.coefficient.denominator);
  return text + divisors;
}

std::string printNode(const DimNode &node) {
  if (node.isOverflow)
    return "overflow";
  if (node.terms.empty())
    return "0";
  // A positive term first where there is one: `T - S`, not `-S + T`.
  size_t first = 0;
  while (first < node.terms.size() && node.terms[first].coefficient.numerator < 0)
    ++first;
  if (first == node.terms.size())
    first = 0;
  const Term &lead = node.terms[first];
  std::string text = (lead.coefficient.numerator < 0 ? "-" : "") + printTerm(lead);
  for (size_t i = 0; i < node.terms.size(); ++i)
    if (i != first)
      text += (node.terms[i].coefficient.numerator < 0 ? " - " : " + ") + printTerm(node.terms[i]);
  return text;
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '\'' || c == '.'; }

class Parser {
public:
  using Lookup = llvm::function_ref<std::optional<DimExpr>(llvm::StringRef)>;
  Parser(llvm::StringRef text, DimContext &dims, Lookup symbol) : rest_(text), dims_(dims), symbol_(symbol) {}

  std::optional<DimExpr> all() {
    std::optional<DimExpr> result = expr();
    skipSpace();
    return result && rest_.empty() ? result : std::nullopt;
  }

private:
  static constexpr int kMaxDepth = 100; // parentheses; ASan frames are large
  static constexpr int kMaxExponent = 64;

  void skipSpace() { rest_ = rest_.ltrim(' '); }
  bool take(char c) {
    skipSpace();
    if (rest_.empty() || rest_.front() != c)
      return false;
    rest_ = rest_.drop_front();
    return true;
  }

  std::optional<DimExpr> expr() {
    if (depth_ >= kMaxDepth)
      return std::nullopt;
    ++depth_;
    std::optional<DimExpr> result = sum();
    --depth_;
    return result;
  }

  std::optional<DimExpr> sum() {
    bool negative = take('-');
    std::optional<DimExpr> left = term();
    if (left && negative)
      left = *left * -1;
    while (left) {
      bool plus = take('+');
      if (!plus && !take('-'))
        return left;
      std::optional<DimExpr> right = term();
      if (!right)
        return std::nullopt;
      left = plus ? *left + *right : *left - *right;
    }
    return left;
  }

  /// Repeats multiplication or division, so that `/(S + T)^2` divides twice by the same sum.
  std::optional<DimExpr> apply(DimExpr left, bool divide) {
    std::optional<DimExpr> base = primary();
    if (!base)
      return std::nullopt;
    unsigned exponent = 1;
    if (take('^')) {
      skipSpace();
      if (rest_.consumeInteger(10, exponent) || exponent > kMaxExponent)
        return std::nullopt;
    }
    for (unsigned i = 0; i < exponent; ++i)
      left = divide ? left / *base : left * *base;
    return left;
  }

  std::optional<DimExpr> term() {
    std::optional<DimExpr> left = apply(dims_.constant(int64_t(1)), false);
    while (left) {
      bool times = take('*');
      if (!times && !take('/'))
        return left;
      left = apply(*left, !times);
    }
    return left;
  }

  std::optional<DimExpr> number() {
    Int128 value = 0;
    while (!rest_.empty() && llvm::isDigit(rest_.front())) {
      if (__builtin_mul_overflow(value, Int128(10), &value) || !detail::addTo(value, rest_.front() - '0'))
        return std::nullopt;
      rest_ = rest_.drop_front();
    }
    return dims_.constant(Rational{value, 1});
  }

  std::optional<llvm::SmallVector<DimExpr, 4>> args() {
    llvm::SmallVector<DimExpr, 4> list;
    do {
      std::optional<DimExpr> arg = expr();
      if (!arg)
        return std::nullopt;
      list.push_back(*arg);
    } while (take(','));
    return take(')') ? std::optional(list) : std::nullopt;
  }

  llvm::StringRef name() {
    llvm::StringRef text = rest_.take_while(isNamePart);
    rest_ = rest_.drop_front(text.size());
    return text;
  }

  std::optional<DimExpr> pairs() {
    skipSpace();
    std::optional<MaskKind> mask = maskKindFrom(name());
    if (!mask)
      return std::nullopt;
    llvm::SmallVector<DimExpr, 4> parameters;
    if (take('(')) {
      auto list = args();
      if (!list)
        return std::nullopt;
      parameters = *list;
    }
    if (!take(','))
      return std::nullopt;
    auto sizes = args();
    if (!sizes || sizes->size() != 2)
      return std::nullopt;
    return dims_.pairs(*mask, parameters, (*sizes)[0], (*sizes)[1]);
  }

  std::optional<DimExpr> primary() {
    if (take('(')) {
      std::optional<DimExpr> inner = expr();
      return inner && take(')') ? inner : std::nullopt;
    }
    skipSpace();
    if (rest_.empty())
      return std::nullopt;
    if (llvm::isDigit(rest_.front()))
      return number();
    if (!isNameStart(rest_.front()))
      return std::nullopt;
    llvm::StringRef word = name();
    if (take('(')) {
      if (word == "pairs")
        return pairs();
      for (const FnName &entry : kFnNames) {
        if (entry.name != word)
          continue;
        auto list = args();
        if (!list || list->size() < entry.minArgs || list->size() > entry.maxArgs)
          return std::nullopt;
        return dims_.apply(entry.fn, *list);
      }
      return std::nullopt;
    }
    return symbol_(word);
  }

  llvm::StringRef rest_;
  DimContext &dims_;
  Lookup symbol_;
  int depth_ = 0;
};

} // namespace

std::string DimExpr::str() const { return node_ ? printNode(*node_) : "?"; }

std::optional<DimExpr> DimContext::parse(llvm::StringRef text) {
  auto symbol = [&](llvm::StringRef name) -> std::optional<DimExpr> {
    if (const Atom *atom = impl_->findSymbol(name))
      return impl_->fromAtom(atom);
    if (name == "overflow")
      return impl_->overflow();
    return std::nullopt;
  };
  return Parser(text, *this, symbol).all();
}

} // namespace stg
