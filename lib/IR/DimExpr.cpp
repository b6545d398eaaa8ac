//===- DimExpr.cpp - interned polynomials with values ----------------------===//
// Why equal expressions are equal pointers: every constructor ends in Impl::make, which sorts terms and powers by an
// order of structure, adds up equal monomials, drops zeros, and looks the result up. Products multiply out, so a sum
// never hides in a monomial; the exception is a divisor that is a sum, which is an atom (Quotient) with negative
// powers. That form is not canonical for rational functions; where both sides have values, sameSize lets the values
// decide.
//===----------------------------------------------------------------------===//
#include "DimNode.h"
#include "RationalMath.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>

namespace stg {

using detail::Atom;
using detail::DimNode;
using detail::Power;
using detail::Term;

namespace {

/// More terms than this count as overflow: a product of many sums would otherwise not end.
constexpr size_t kMaxTerms = 4096;

template <class T> int compare3(const T &a, const T &b) { return a < b ? -1 : b < a; }

int compareRationals(Rational a, Rational b) {
  if (int order = compare3(a.numerator, b.numerator))
    return order;
  return compare3(a.denominator, b.denominator);
}

int64_t degree(llvm::ArrayRef<Power> powers) {
  int64_t sum = 0;
  for (const Power &power : powers)
    sum += power.exponent;
  return sum;
}

/// Merges two sorted monomials; false if an exponent passes 32 bits.
bool multiplyMonomials(llvm::ArrayRef<Power> a, llvm::ArrayRef<Power> b, llvm::SmallVectorImpl<Power> &out) {
  size_t i = 0, j = 0;
  while (i < a.size() || j < b.size()) {
    int order = i == a.size() ? 1 : j == b.size() ? -1 : detail::compareAtoms(*a[i].atom, *b[j].atom);
    if (order < 0) {
      out.push_back(a[i++]);
    } else if (order > 0) {
      out.push_back(b[j++]);
    } else {
      Power merged = a[i];
      if (__builtin_add_overflow(a[i++].exponent, b[j++].exponent, &merged.exponent))
        return false;
      if (merged.exponent != 0)
        out.push_back(merged);
    }
  }
  return true;
}

std::optional<Term> multiplyTerms(const Term &a, const Term &b) {
  std::optional<Rational> coefficient = detail::multiply(a.coefficient, b.coefficient);
  Term product;
  if (!coefficient || !multiplyMonomials(a.powers, b.powers, product.powers))
    return std::nullopt;
  product.coefficient = *coefficient;
  return product;
}

/// 1 / term, for a coefficient other than zero.
std::optional<Term> invertTerm(const Term &term) {
  Term inverse = term;
  std::optional<Rational> coefficient = detail::divide({1, 1}, term.coefficient);
  if (!coefficient)
    return std::nullopt;
  inverse.coefficient = *coefficient;
  for (Power &power : inverse.powers)
    if (__builtin_sub_overflow(0, power.exponent, &power.exponent))
      return std::nullopt;
  return inverse;
}

/// True for what is an integer whenever all symbols are: whole coefficients, no division.
bool isIntegral(const DimNode &node) {
  if (node.isOverflow)
    return false;
  for (const Term &term : node.terms) {
    if (!term.coefficient.isInteger())
      return false;
    for (const Power &power : term.powers) {
      if (power.exponent < 0)
        return false;
      const Atom &atom = *power.atom;
      if (atom.isSymbol)
        continue;
      if (atom.fn == DimFn::Mod || atom.fn == DimFn::Min || atom.fn == DimFn::Max)
        for (const DimNode *arg : atom.args)
          if (!isIntegral(*arg))
            return false;
    }
  }
  return true;
}

struct Evaluation {
  std::optional<Rational> value;
  bool overflowed = false;
};

Evaluation evaluateTerms(llvm::ArrayRef<Term> terms) {
  Rational sum{0, 1};
  Evaluation result;
  bool known = true;
  for (const Term &term : terms) {
    std::optional<Rational> product = term.coefficient;
    for (const Power &power : term.powers) {
      result.overflowed |= power.atom->overflowed;
      if (!power.atom->value || (power.exponent < 0 && power.atom->value->numerator == 0)) {
        known = false;
        continue;
      }
      if (!product)
        continue;
      std::optional<Rational> factor = detail::power(*power.atom->value, power.exponent);
      product = factor ? detail::multiply(*product, *factor) : std::nullopt;
      // A later factor may be unknown, but this one already left 128 bits.
      result.overflowed |= !product;
    }
    if (!product || !known)
      continue;
    if (std::optional<Rational> next = detail::add(sum, *product))
      sum = *next;
    else
      result.overflowed = true;
  }
  if (known && !result.overflowed)
    result.value = sum;
  return result;
}

Evaluation of(std::optional<Int128> value) {
  if (!value)
    return {std::nullopt, true};
  return {Rational{*value, 1}, false};
}

Evaluation evaluatePairs(MaskKind mask, llvm::ArrayRef<Rational> args) {
  llvm::SmallVector<int64_t, 8> numbers;
  for (const Rational &arg : args) {
    int64_t number = static_cast<int64_t>(arg.numerator);
    if (!arg.isInteger() || number != arg.numerator)
      return {};
    numbers.push_back(number);
  }
  int64_t t = numbers.pop_back_val(), s = numbers.pop_back_val();
  if (std::optional<Int128> count = countPairs(mask, numbers, s, t))
    return of(count);
  return {};
}

Evaluation evaluateFunction(DimFn fn, MaskKind mask, llvm::ArrayRef<Rational> args) {
  switch (fn) {
  case DimFn::Floor:
    return of(detail::floorOf(args[0]));
  case DimFn::Ceil:
    return of(-detail::floorOf(detail::negate(args[0])));
  case DimFn::FloorDiv:
  case DimFn::Mod: {
    if (args[1].numerator == 0)
      return {};
    std::optional<Rational> quotient = detail::divide(args[0], args[1]);
    if (!quotient)
      return {std::nullopt, true};
    Int128 floor = detail::floorOf(*quotient);
    if (fn == DimFn::FloorDiv)
      return of(floor);
    std::optional<Rational> whole = detail::multiply({floor, 1}, args[1]);
    std::optional<Rational> rest = whole ? detail::add(args[0], detail::negate(*whole)) : std::nullopt;
    return {rest, !rest};
  }
  case DimFn::Min:
  case DimFn::Max: {
    Rational best = args[0];
    for (const Rational &arg : args.drop_front()) {
      std::optional<int> order = detail::compareValues(arg, best);
      if (!order)
        return {std::nullopt, true};
      if (fn == DimFn::Min ? *order < 0 : *order > 0)
        best = arg;
    }
    return {best, false};
  }
  case DimFn::Quotient:
    return {args[0], false};
  case DimFn::Pairs:
    return evaluatePairs(mask, args);
  }
  return {};
}

} // namespace

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

int detail::compareAtoms(const Atom &a, const Atom &b) {
  if (&a == &b)
    return 0;
  if (a.isSymbol != b.isSymbol)
    return a.isSymbol ? -1 : 1;
  if (a.isSymbol)
    return compare3(a.creation, b.creation);
  if (a.fn != b.fn)
    return compare3(a.fn, b.fn);
  if (a.mask != b.mask)
    return compare3(a.mask, b.mask);
  if (a.args.size() != b.args.size())
    return compare3(a.args.size(), b.args.size());
  for (size_t i = 0; i < a.args.size(); ++i)
    if (int order = compareNodes(*a.args[i], *b.args[i]))
      return order;
  return 0;
}

int detail::compareMonomials(llvm::ArrayRef<Power> a, llvm::ArrayRef<Power> b) {
  // High degrees first, constants last.
  if (int order = compare3(degree(b), degree(a)))
    return order;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    if (int order = compareAtoms(*a[i].atom, *b[i].atom))
      return order;
    if (int order = compare3(b[i].exponent, a[i].exponent))
      return order;
  }
  return compare3(b.size(), a.size());
}

int detail::compareNodes(const DimNode &a, const DimNode &b) {
  if (&a == &b)
    return 0;
  if (a.isOverflow != b.isOverflow)
    return a.isOverflow ? 1 : -1;
  for (size_t i = 0; i < std::min(a.terms.size(), b.terms.size()); ++i) {
    if (int order = compareMonomials(a.terms[i].powers, b.terms[i].powers))
      return order;
    if (int order = compareRationals(a.terms[i].coefficient, b.terms[i].coefficient))
      return order;
  }
  return compare3(b.terms.size(), a.terms.size());
}

//===----------------------------------------------------------------------===//
// Interning
//===----------------------------------------------------------------------===//

namespace {

size_t hashRational(Rational r) {
  return llvm::hash_combine(static_cast<uint64_t>(r.numerator), static_cast<uint64_t>(r.numerator >> 64),
                            static_cast<uint64_t>(r.denominator));
}

size_t hashTerms(llvm::ArrayRef<Term> terms) {
  size_t hash = terms.size();
  for (const Term &term : terms) {
    hash = llvm::hash_combine(hash, hashRational(term.coefficient));
    for (const Power &power : term.powers)
      hash = llvm::hash_combine(hash, power.atom->creation, power.exponent);
  }
  return hash;
}

bool sameTerms(llvm::ArrayRef<Term> a, llvm::ArrayRef<Term> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Term &x, const Term &y) {
    return x.coefficient == y.coefficient && x.powers == y.powers;
  });
}

} // namespace

DimContext::Impl::Impl(DimContext &context) : context(context) {
  DimNode &node = nodes.emplace_back();
  node.context = &context;
  node.overflowed = node.isOverflow = true;
  overflow_ = &node;
}

DimExpr DimContext::Impl::make(std::vector<Term> terms) {
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term &a, const Term &b) { return detail::compareMonomials(a.powers, b.powers) < 0; });
  std::vector<Term> sum;
  for (Term &term : terms) {
    if (!sum.empty() && sum.back().powers == term.powers) {
      std::optional<Rational> coefficient = detail::add(sum.back().coefficient, term.coefficient);
      if (!coefficient)
        return overflow();
      sum.back().coefficient = *coefficient;
    } else {
      sum.push_back(std::move(term));
    }
  }
  llvm::erase_if(sum, [](const Term &term) { return term.coefficient.numerator == 0; });
  if (sum.size() > kMaxTerms)
    return overflow();

  size_t hash = hashTerms(sum);
  auto [first, last] = nodeIndex.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (sameTerms(it->second->terms, sum))
      return DimNode::handle(it->second);
  Evaluation evaluation = evaluateTerms(sum);
  DimNode &node = nodes.emplace_back();
  node.context = &context;
  node.id = static_cast<uint32_t>(nodes.size() - 1);
  node.terms = std::move(sum);
  node.value = evaluation.value;
  node.overflowed = evaluation.overflowed;
  nodeIndex.emplace(hash, &node);
  return DimNode::handle(&node);
}

DimExpr DimContext::Impl::fromAtom(const Atom *atom, int32_t exponent) {
  Term term;
  term.powers.push_back({atom, exponent});
  return make({term});
}

const Atom *DimContext::Impl::symbolAtom(llvm::StringRef name, std::optional<int64_t> value) {
  std::optional<Rational> wanted = value ? std::optional(Rational{*value, 1}) : std::nullopt;
  size_t hash = llvm::hash_value(name);
  auto [first, last] = atomIndex.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (it->second->isSymbol && it->second->name == name && it->second->value == wanted)
      return it->second;
  Atom &atom = atoms.emplace_back();
  atom.creation = static_cast<uint32_t>(atoms.size() - 1);
  atom.name = name.str();
  atom.value = wanted;
  atomIndex.emplace(hash, &atom);
  return &atom;
}

const Atom *DimContext::Impl::findSymbol(llvm::StringRef name) const {
  const Atom *found = nullptr;
  auto [first, last] = atomIndex.equal_range(llvm::hash_value(name));
  for (auto it = first; it != last; ++it)
    if (it->second->isSymbol && it->second->name == name && (!found || it->second->creation > found->creation))
      found = it->second;
  return found;
}

const Atom *DimContext::Impl::function(DimFn fn, MaskKind mask, llvm::ArrayRef<DimExpr> args) {
  size_t hash = llvm::hash_combine(static_cast<int>(fn), static_cast<int>(mask), args.size());
  llvm::SmallVector<Rational, 4> values;
  bool overflowed = false;
  for (DimExpr arg : args) {
    hash = llvm::hash_combine(hash, arg.id());
    overflowed |= arg.overflowed();
    if (std::optional<Rational> value = arg.rational())
      values.push_back(*value);
  }
  auto [first, last] = atomIndex.equal_range(hash);
  for (auto it = first; it != last; ++it) {
    const Atom &atom = *it->second;
    if (!atom.isSymbol && atom.fn == fn && atom.mask == mask &&
        std::equal(atom.args.begin(), atom.args.end(), args.begin(), args.end(),
                   [](const DimNode *a, DimExpr b) { return a == &DimNode::of(b); }))
      return &atom;
  }
  Atom &atom = atoms.emplace_back();
  atom.isSymbol = false;
  atom.creation = static_cast<uint32_t>(atoms.size() - 1);
  atom.fn = fn;
  atom.mask = mask;
  for (DimExpr arg : args)
    atom.args.push_back(&DimNode::of(arg));
  Evaluation evaluation;
  if (values.size() == args.size())
    evaluation = evaluateFunction(fn, mask, values);
  atom.value = evaluation.value;
  atom.overflowed = overflowed || evaluation.overflowed;
  atomIndex.emplace(hash, &atom);
  return &atom;
}

//===----------------------------------------------------------------------===//
// DimExpr
//===----------------------------------------------------------------------===//

std::optional<Rational> DimExpr::rational() const { return node_ ? node_->value : std::nullopt; }

std::optional<Int128> DimExpr::integer() const {
  if (!node_ || !node_->value || !node_->value->isInteger())
    return std::nullopt;
  return node_->value->numerator;
}

std::optional<int64_t> DimExpr::size() const {
  std::optional<Int128> whole = integer();
  if (!whole || static_cast<int64_t>(*whole) != *whole)
    return std::nullopt;
  return static_cast<int64_t>(*whole);
}

bool DimExpr::overflowed() const { return node_ && node_->overflowed; }
bool DimExpr::isConstant() const { return node_ && node_->isConstant(); }
uint32_t DimExpr::id() const { return node_->id; }
DimContext &DimExpr::context() const { return *node_->context; }

bool DimExpr::isSymbol(llvm::StringRef name) const {
  if (!node_ || node_->terms.size() != 1)
    return false;
  const Term &term = node_->terms[0];
  return term.coefficient == Rational{1, 1} && term.powers.size() == 1 && term.powers[0].exponent == 1 &&
         term.powers[0].atom->isSymbol && term.powers[0].atom->name == name;
}

DimExpr operator+(DimExpr a, DimExpr b) {
  const DimNode &x = DimNode::of(a), &y = DimNode::of(b);
  DimContext::Impl &impl = *x.context->impl_;
  if (x.isOverflow || y.isOverflow)
    return impl.overflow();
  std::vector<Term> terms = x.terms;
  terms.insert(terms.end(), y.terms.begin(), y.terms.end());
  return impl.make(std::move(terms));
}

DimExpr operator-(DimExpr a, DimExpr b) { return a + b * -1; }

DimExpr operator*(DimExpr a, DimExpr b) {
  const DimNode &x = DimNode::of(a), &y = DimNode::of(b);
  DimContext::Impl &impl = *x.context->impl_;
  if (x.isOverflow || y.isOverflow || x.terms.size() * y.terms.size() > 4 * kMaxTerms)
    return impl.overflow();
  std::vector<Term> terms;
  for (const Term &left : x.terms)
    for (const Term &right : y.terms) {
      std::optional<Term> product = multiplyTerms(left, right);
      if (!product)
        return impl.overflow();
      terms.push_back(std::move(*product));
    }
  return impl.make(std::move(terms));
}

DimExpr operator*(DimExpr a, int64_t factor) { return a * a.context().constant(factor); }

DimExpr operator/(DimExpr a, DimExpr b) {
  const DimNode &x = DimNode::of(a), &y = DimNode::of(b);
  DimContext::Impl &impl = *x.context->impl_;
  if (x.isOverflow || y.isOverflow)
    return impl.overflow();
  if (y.terms.empty()) // by zero: an expression without a value
    return a * impl.fromAtom(impl.function(DimFn::Quotient, MaskKind::Full, b), -1);
  std::optional<Term> inverse = invertTerm(y.terms[0]);
  if (!inverse)
    return impl.overflow();
  if (y.terms.size() == 1)
    return a * impl.make({*inverse});
  if (x.terms.empty())
    return a;
  // A sum divides exactly if the quotient of the leading terms does.
  if (std::optional<Term> leading = multiplyTerms(x.terms[0], *inverse)) {
    DimExpr quotient = impl.make({*leading});
    if (quotient * b == a)
      return quotient;
  }
  // Else an atom, freed of its leading coefficient so that (2S + 2T) and (S + T) share it.
  DimExpr lead = impl.context.constant(y.terms[0].coefficient);
  DimExpr monic = b * impl.context.constant(inverse->coefficient);
  return a / lead * impl.fromAtom(impl.function(DimFn::Quotient, MaskKind::Full, monic), -1);
}

void collectSymbols(DimExpr expr, llvm::SmallVectorImpl<DimExpr> &symbols) {
  if (!expr)
    return;
  const DimNode &node = DimNode::of(expr);
  for (const Term &term : node.terms)
    for (const Power &power : term.powers) {
      for (const DimNode *arg : power.atom->args)
        collectSymbols(DimNode::handle(arg), symbols);
      if (!power.atom->isSymbol)
        continue;
      DimExpr symbol = node.context->impl_->fromAtom(power.atom);
      if (!llvm::is_contained(symbols, symbol))
        symbols.push_back(symbol);
    }
}

std::optional<bool> sameSize(DimExpr a, DimExpr b) {
  if (!a || !b)
    return std::nullopt;
  if (a == b)
    return !a.overflowed() || a.rational() ? std::optional(true) : std::nullopt;
  std::optional<Rational> x = a.rational(), y = b.rational();
  if (!x || !y)
    return std::nullopt;
  return *x == *y;
}

//===----------------------------------------------------------------------===//
// DimContext
//===----------------------------------------------------------------------===//

DimContext::DimContext() : impl_(std::make_unique<Impl>(*this)) {}
DimContext::~DimContext() = default;

DimExpr DimContext::constant(int64_t value) { return constant(Rational{value, 1}); }

DimExpr DimContext::constant(Rational value) {
  std::optional<Rational> reduced = detail::makeRational(value.numerator, value.denominator);
  if (!reduced)
    return impl_->overflow();
  Term term;
  term.coefficient = *reduced;
  return impl_->make({term});
}

DimExpr DimContext::symbol(llvm::StringRef name, std::optional<int64_t> value) {
  return impl_->fromAtom(impl_->symbolAtom(name, value));
}

DimExpr DimContext::apply(DimFn fn, llvm::ArrayRef<DimExpr> args) {
  if (args.empty())
    internalError("size function", "without arguments");
  for (DimExpr arg : args)
    if (DimNode::of(arg).isOverflow)
      return impl_->overflow();
  auto isWhole = [](DimExpr expr) { return isIntegral(DimNode::of(expr)); };
  llvm::SmallVector<DimExpr, 4> operands(args.begin(), args.end());
  switch (fn) {
  case DimFn::Quotient:
    return args[0] / args[1];
  case DimFn::Ceil:
  case DimFn::Floor:
    if (isWhole(args[0]))
      return args[0];
    break;
  case DimFn::FloorDiv:
  case DimFn::Mod:
    if (!DimNode::of(args[1]).terms.empty() && isWhole(args[0] / args[1]))
      return fn == DimFn::FloorDiv ? args[0] / args[1] : constant(int64_t(0));
    break;
  case DimFn::Min:
  case DimFn::Max:
    // Order and repetition do not matter: one form.
    llvm::sort(operands, [](DimExpr a, DimExpr b) { return detail::compareNodes(DimNode::of(a), DimNode::of(b)) < 0; });
    operands.erase(std::unique(operands.begin(), operands.end()), operands.end());
    if (operands.size() == 1)
      return operands[0];
    break;
  case DimFn::Pairs:
    internalError("pairs", "made by apply(); a mask is needed, so DimContext::pairs makes it");
  }
  const Atom *atom = impl_->function(fn, MaskKind::Full, operands);
  if (llvm::all_of(operands, [](DimExpr arg) { return arg.isConstant(); }) && atom->value)
    return constant(*atom->value);
  return impl_->fromAtom(atom);
}

DimExpr DimContext::pairs(MaskKind mask, llvm::ArrayRef<DimExpr> parameters, DimExpr s, DimExpr t) {
  if (mask == MaskKind::Full)
    return s * t;
  llvm::SmallVector<DimExpr, 8> args(parameters.begin(), parameters.end());
  args.append({s, t});
  for (DimExpr arg : args)
    if (DimNode::of(arg).isOverflow)
      return impl_->overflow();
  const Atom *atom = impl_->function(DimFn::Pairs, mask, args);
  if (llvm::all_of(args, [](DimExpr arg) { return arg.isConstant(); }) && atom->value)
    return constant(*atom->value);
  return impl_->fromAtom(atom);
}

} // namespace stg
