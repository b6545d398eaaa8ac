//===- DimExpr.h - symbolic sizes and costs --------------------------------===//
// The one home of size arithmetic. A DimExpr is a sum of rational multiples of monomials; a monomial is a product of
// atoms with integer exponents (negative ones make exact quotients: `D / H` is D * H^-1). An atom is a size parameter
// of the model or a function that is no polynomial (ceil, min, pairs of a mask, ...). One normal form per expression,
// interned: equal pointers are equal expressions. A value is attached as soon as all atoms have one.
//
// Sizes are in elements, costs in FLOPs or bytes; the type does not know which. Values are exact rationals of 128-bit
// integers, since the FLOPs of a large training step pass 2^63.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_DIMEXPR_H
#define STG_IR_DIMEXPR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace stg {

using Int128 = __int128;
std::string toString(Int128 value);

/// A reduced fraction, denominator > 0.
struct Rational {
  Int128 numerator = 0;
  Int128 denominator = 1;
  bool isInteger() const { return denominator == 1; }
  double toDouble() const { return static_cast<double>(numerator) / static_cast<double>(denominator); }
  bool operator==(const Rational &) const = default;
};

/// Functions that are leaves of the normal form. `Pairs` carries a mask kind and the mask's parameters.
enum class DimFn : uint8_t { Ceil, Floor, FloorDiv, Mod, Min, Max, Quotient, Pairs };

/// Which (query, key) positions attend to each other. With s queries and t >= s keys the queries are the last s
/// positions of t. Parameters: Window, Chunk, Prefix take n; Documents the lengths of the documents (causal inside
/// each); Requests a pair (queries, past) per request, laid out one after the other; Full and Causal none.
enum class MaskKind : uint8_t { Full, Causal, Window, Chunk, Prefix, Documents, Requests };
llvm::StringRef spelling(MaskKind kind);
std::optional<MaskKind> maskKindFrom(llvm::StringRef text);

class DimContext;
namespace detail {
struct DimNode;
}

/// A handle; copying is free. Null handles mean "unknown" and must not enter arithmetic.
class DimExpr {
public:
  DimExpr() = default;
  explicit operator bool() const { return node_ != nullptr; }
  bool operator==(const DimExpr &other) const { return node_ == other.node_; }

  /// Exact value, if every atom has one and nothing passed 128 bits.
  std::optional<Rational> rational() const;
  /// The value if it is an integer.
  std::optional<Int128> integer() const;
  /// The value if it is an integer that fits a signed 64-bit size.
  std::optional<int64_t> size() const;
  /// True if evaluating it passed 128 bits.
  bool overflowed() const;
  /// True if it has no atoms.
  bool isConstant() const;
  /// True if it is one size parameter, to the first power, with coefficient 1.
  bool isSymbol(llvm::StringRef name) const;
  /// `2*B*S*D*H`, `D/H`, `pairs(causal, S, T)`; read back by DimContext::parse.
  std::string str() const;
  DimContext &context() const;
  /// A number that orders expressions by creation (deterministic), for maps.
  uint32_t id() const;

private:
  friend class DimContext;
  friend struct detail::DimNode;
  explicit DimExpr(const detail::DimNode *node) : node_(node) {}
  const detail::DimNode *node_ = nullptr;
};

DimExpr operator+(DimExpr a, DimExpr b);
DimExpr operator-(DimExpr a, DimExpr b);
DimExpr operator*(DimExpr a, DimExpr b);
DimExpr operator*(DimExpr a, int64_t factor);
/// The quotient as an expression. Exactness is not checked here: ask `integer()` of the result.
DimExpr operator/(DimExpr a, DimExpr b);

/// Appends the size parameters that `expr` contains, also inside functions, each once and not again if it is there.
void collectSymbols(DimExpr expr, llvm::SmallVectorImpl<DimExpr> &symbols);

/// Equal normal forms, or equal values where both have one. Nothing if a value is missing: the caller keeps the
/// constraint.
std::optional<bool> sameSize(DimExpr a, DimExpr b);

/// Owns and interns expressions. Not thread-safe; one per program.
class DimContext {
public:
  DimContext();
  ~DimContext();
  DimContext(const DimContext &) = delete;
  DimContext &operator=(const DimContext &) = delete;

  DimExpr constant(int64_t value);
  DimExpr constant(Rational value);
  /// The size parameter `name`. A value, once given, is part of the symbol's identity: the same name with another
  /// value is another symbol (printed alike).
  DimExpr symbol(llvm::StringRef name, std::optional<int64_t> value);
  /// Folds to a constant when all arguments are constants.
  DimExpr apply(DimFn fn, llvm::ArrayRef<DimExpr> args);
  /// Number of (query, key) pairs that `mask` leaves, for s queries and t keys; a leaf unless constant. `full` is s*t.
  DimExpr pairs(MaskKind mask, llvm::ArrayRef<DimExpr> parameters, DimExpr s, DimExpr t);
  /// Reads what str() prints. Symbols must have been declared (symbol()) before. Nothing on a syntax error.
  std::optional<DimExpr> parse(llvm::StringRef text);

private:
  friend struct detail::DimNode;
  friend class DimExpr;
  friend DimExpr operator+(DimExpr, DimExpr);
  friend DimExpr operator-(DimExpr, DimExpr);
  friend DimExpr operator*(DimExpr, DimExpr);
  friend DimExpr operator*(DimExpr, int64_t);
  friend DimExpr operator/(DimExpr, DimExpr);
  friend void collectSymbols(DimExpr, llvm::SmallVectorImpl<DimExpr> &);
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The count behind DimContext::pairs, on numbers. Queries are positions t - s .. t - 1.
/// Causal: keys up to the query. Window(n): the last n keys up to the query. Chunk(n): causal within blocks of n
/// positions. Prefix(n): all of the first n keys, causal beyond. Nothing on overflow.
std::optional<Int128> countPairs(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t s, int64_t t);
/// Whether key position `key` is visible to query `query` (both from 0, the query's position counted in the keys).
bool attends(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t query, int64_t key);
/// The position among the keys of the `index`-th of s queries: t - s + index, but for Requests behind the request's own
/// past; -1 for a query beyond the last request.
int64_t queryPosition(MaskKind mask, llvm::ArrayRef<int64_t> parameters, int64_t index, int64_t s, int64_t t);

} // namespace stg

#endif
