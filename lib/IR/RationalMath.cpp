//===- RationalMath.cpp - exact arithmetic that notices overflow -----------===//
#include "RationalMath.h"
#include <algorithm>
#include <utility>

namespace stg {

std::string toString(Int128 value) {
  // Digits of the negative magnitude, since the most negative number has no positive one.
  bool negative = value < 0;
  if (!negative)
    value = -value;
  std::string digits;
  do {
    digits.push_back(static_cast<char>('0' - static_cast<int>(value % 10)));
    value /= 10;
  } while (value != 0);
  if (negative)
    digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

namespace detail {

Int128 gcd(Int128 a, Int128 b) {
  if (a < 0)
    a = -a;
  if (b < 0)
    b = -b;
  while (b != 0)
    a = std::exchange(b, a % b);
  return a;
}

std::optional<Rational> makeRational(Int128 numerator, Int128 denominator) {
  if (denominator == 0 || numerator == kInt128Min || denominator == kInt128Min)
    return std::nullopt;
  if (denominator < 0) {
    numerator = -numerator;
    denominator = -denominator;
  }
  Int128 common = gcd(numerator, denominator);
  return Rational{numerator / common, denominator / common};
}

std::optional<Rational> add(Rational a, Rational b) {
  Int128 common = gcd(a.denominator, b.denominator);
  Int128 left, right, numerator, denominator;
  if (__builtin_mul_overflow(a.numerator, b.denominator / common, &left) ||
      __builtin_mul_overflow(b.numerator, a.denominator / common, &right) ||
      __builtin_add_overflow(left, right, &numerator) ||
      __builtin_mul_overflow(a.denominator / common, b.denominator, &denominator))
    return std::nullopt;
  return makeRational(numerator, denominator);
}

std::optional<Rational> multiply(Rational a, Rational b) {
  // Reducing crosswise first keeps what fits from overflowing on the way.
  Int128 first = gcd(a.numerator, b.denominator);
  Int128 second = gcd(b.numerator, a.denominator);
  Int128 numerator, denominator;
  if (__builtin_mul_overflow(a.numerator / first, b.numerator / second, &numerator) ||
      __builtin_mul_overflow(a.denominator / second, b.denominator / first, &denominator))
    return std::nullopt;
  return makeRational(numerator, denominator);
}

std::optional<Rational> divide(Rational a, Rational b) {
  if (b.numerator == 0)
    return std::nullopt;
  std::optional<Rational> inverse = makeRational(b.denominator, b.numerator);
  return inverse ? multiply(a, *inverse) : std::nullopt;
}

std::optional<Rational> power(Rational base, int32_t exponent) {
  if (exponent < 0) {
    std::optional<Rational> inverse = divide({1, 1}, base);
    if (!inverse)
      return std::nullopt;
    base = *inverse;
  }
  // Magnitude without overflow for the most negative exponent.
  uint32_t left = exponent < 0 ? -static_cast<uint32_t>(exponent) : static_cast<uint32_t>(exponent);
  Rational result{1, 1};
  while (left != 0) {
    if (left & 1) {
      std::optional<Rational> product = multiply(result, base);
      if (!product)
        return std::nullopt;
      result = *product;
    }
    left >>= 1;
    if (left == 0)
      break;
    std::optional<Rational> square = multiply(base, base);
    if (!square)
      return std::nullopt;
    base = *square;
  }
  return result;
}

Rational negate(Rational a) { return {-a.numerator, a.denominator}; }

std::optional<int> compareValues(Rational a, Rational b) {
  std::optional<Rational> difference = add(a, negate(b));
  if (!difference)
    return std::nullopt;
  return difference->numerator < 0 ? -1 : difference->numerator > 0;
}

Int128 floorOf(Rational a) {
  Int128 quotient = a.numerator / a.denominator;
  return a.numerator % a.denominator < 0 ? quotient - 1 : quotient;
}

} // namespace detail
} // namespace stg
