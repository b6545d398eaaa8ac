//===- RationalMath.h - exact arithmetic that notices overflow -------------===//
// Private to lib/IR. Every function gives nothing if a numerator or denominator leaves 128 bits.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_RATIONALMATH_H
#define STG_LIB_IR_RATIONALMATH_H

#include "stg/IR/DimExpr.h"

namespace stg::detail {

inline constexpr Int128 kInt128Min = static_cast<Int128>(1) << 127;

/// Greatest common divisor of magnitudes; neither may be the most negative number.
Int128 gcd(Int128 a, Int128 b);
/// The reduced fraction; nothing if the denominator is zero.
std::optional<Rational> makeRational(Int128 numerator, Int128 denominator);
std::optional<Rational> add(Rational a, Rational b);
std::optional<Rational> multiply(Rational a, Rational b);
/// Nothing if b is zero, too.
std::optional<Rational> divide(Rational a, Rational b);
/// Nothing for a negative power of zero, too.
std::optional<Rational> power(Rational base, int32_t exponent);
Rational negate(Rational a);
/// -1, 0, 1; nothing on overflow of the cross products.
std::optional<int> compareValues(Rational a, Rational b);
/// The largest integer that is not above a.
Int128 floorOf(Rational a);
/// Adds to `sum`; false on overflow.
inline bool addTo(Int128 &sum, Int128 value) { return !__builtin_add_overflow(sum, value, &sum); }

} // namespace stg::detail

#endif
