//===- DimNode.h - the normal form behind DimExpr --------------------------===//
// Private to lib/IR. A node is a list of terms, a term a coefficient times a monomial, a monomial a list of powers of
// atoms. Invariants: terms are sorted (compareMonomials) with distinct monomials and coefficients other than zero;
// powers are sorted by compareAtoms with exponents other than zero; the zero expression has no terms. Nodes and atoms
// are unique per context, so equality is that of pointers.
//
// The order never depends on when a function atom was made: symbols come first, by creation, then functions by
// structure. So a printed program that is read back prints alike.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_DIMNODE_H
#define STG_LIB_IR_DIMNODE_H

#include "stg/IR/DimExpr.h"
#include "llvm/ADT/SmallVector.h"
#include <deque>
#include <unordered_map>
#include <vector>

namespace stg::detail {

/// A symbol, or a function of expressions. `Quotient` has one argument, a sum that occurs as a divisor: it stands for
/// the sum itself and has negative exponents only.
struct Atom {
  bool isSymbol = true;
  uint32_t creation = 0;
  std::string name; ///< symbols only
  DimFn fn = DimFn::Ceil;
  MaskKind mask = MaskKind::Full;
  std::vector<const DimNode *> args;
  std::optional<Rational> value;
  bool overflowed = false;
};

struct Power {
  const Atom *atom = nullptr;
  int32_t exponent = 1;
  bool operator==(const Power &) const = default;
};

struct Term {
  Rational coefficient{1, 1};
  llvm::SmallVector<Power, 4> powers;
};

struct DimNode {
  DimContext *context = nullptr;
  uint32_t id = 0;
  std::vector<Term> terms;
  std::optional<Rational> value;
  bool overflowed = false;
  /// The one node whose coefficients or terms passed all bounds: it absorbs every operation.
  bool isOverflow = false;

  bool isConstant() const { return !isOverflow && (terms.empty() || (terms.size() == 1 && terms[0].powers.empty())); }
  Rational constant() const { return terms.empty() ? Rational{0, 1} : terms[0].coefficient; }

  static const DimNode &of(DimExpr expr) { return *expr.node_; }
  static DimExpr handle(const DimNode *node) { return DimExpr(node); }
};

int compareAtoms(const Atom &a, const Atom &b);
int compareMonomials(llvm::ArrayRef<Power> a, llvm::ArrayRef<Power> b);
int compareNodes(const DimNode &a, const DimNode &b);

} // namespace stg::detail

namespace stg {

struct DimContext::Impl {
  explicit Impl(DimContext &context);

  /// The node of these terms, which need not be sorted or distinct. More terms than any real cost has count as
  /// overflow.
  DimExpr make(std::vector<detail::Term> terms);
  DimExpr overflow() { return detail::DimNode::handle(overflow_); }
  DimExpr fromAtom(const detail::Atom *atom, int32_t exponent = 1);
  const detail::Atom *function(DimFn fn, MaskKind mask, llvm::ArrayRef<DimExpr> args);
  const detail::Atom *symbolAtom(llvm::StringRef name, std::optional<int64_t> value);
  /// The symbol of this name that was declared last.
  const detail::Atom *findSymbol(llvm::StringRef name) const;

  DimContext &context;
  std::deque<detail::DimNode> nodes;
  std::deque<detail::Atom> atoms;
  std::unordered_multimap<size_t, const detail::DimNode *> nodeIndex; // looked up only, never walked
  std::unordered_multimap<size_t, const detail::Atom *> atomIndex;
  detail::DimNode *overflow_ = nullptr;
};

} // namespace stg

#endif
