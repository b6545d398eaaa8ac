//===- MapGradients.cpp - gradients of element-wise functions ----------------===//
// The gradient column of MapFns.def, in ops. Formulas are in terms of the result where the operand would have to be
// kept for them alone, and an operand that lacks dims gets a map and then a sum, never a contraction: those are the
// model's.
//===----------------------------------------------------------------------===//
#include "GradientRules.h"
#include "stg/Support/InternalError.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <numbers>

namespace stg::autodiff {

namespace {

class MapGradient {
public:
  explicit MapGradient(OpGradient &gradient)
      : gradient_(gradient), build_(gradient.build), g_(gradient.cotangent()), y_(gradient.result()) {}

  void run() {
    for (size_t i = 0; i < gradient_.op.operands.size(); ++i) {
      if (!gradient_.wanted[i])
        continue;
      operand_ = i;
      gradient_.giveSummed(i, cotangent());
    }
  }

private:
  ValueId x(size_t i) const { return gradient_.op.operands[i]; }

  /// Before a sum the numbers have the type that the op computes in; else already that of the cotangent.
  ValueId map(MapFn fn, llvm::ArrayRef<ValueId> operands) {
    bool isSummed = gradient_.operandType(operand_).dims.size() < gradient_.resultType().dims.size();
    return build_.map(fn, operands, isSummed ? gradient_.resultType().element : gradient_.elements[operand_]);
  }
  ValueId times(double factor, llvm::ArrayRef<ValueId> operands) {
    llvm::SmallVector<ValueId, 6> all(operands.begin(), operands.end());
    all.push_back(build_.constant(factor));
    return map(MapFn::Mul, all);
  }

  /// Of operand `operand_`, with a number for each index of the result or lacking dims.
  ValueId cotangent() {
    switch (gradient_.op.get<MapFields>().fn) {
    case MapFn::Add:
    case MapFn::Cast:
      return g_;
    case MapFn::Sub:
      return operand_ == 0 ? g_ : map(MapFn::Neg, {g_});
    case MapFn::Mul:
      return ofProduct();
    case MapFn::Div:
    case MapFn::Quantise:
      return ofQuotient();
    case MapFn::Abs: // none at 0
      return map(MapFn::Sub,
                 {map(MapFn::WherePositive, {g_, x(0)}), map(MapFn::WherePositive, {g_, map(MapFn::Neg, {x(0)})})});
    case MapFn::Neg:
      return map(MapFn::Neg, {g_});
    case MapFn::Maximum:
    case MapFn::Minimum:
      return map(MapFn::WhereEqual, {g_, x(operand_), y_});
    case MapFn::Exp:
      return map(MapFn::Mul, {g_, y_});
    case MapFn::Log:
      return map(MapFn::Div, {g_, x(0)});
    case MapFn::Sqrt:
      return map(MapFn::Div, {times(0.5, {g_}), y_});
    case MapFn::Rsqrt:
      return times(-0.5, {g_, y_, y_, y_});
    case MapFn::Sin:
      return map(MapFn::Mul, {g_, map(MapFn::Cos, {x(0)})});
    case MapFn::Cos:
      return map(MapFn::Neg, {map(MapFn::Mul, {g_, map(MapFn::Sin, {x(0)})})});
    case MapFn::Sigmoid:
      return map(MapFn::SigmoidGrad, {g_, y_});
    case MapFn::Softplus:
      return map(MapFn::Mul, {g_, map(MapFn::Sigmoid, {x(0)})});
    case MapFn::Square:
      return times(2, {g_, x(0)});
    case MapFn::Tanh:
      return map(MapFn::TanhGrad, {g_, y_});
    case MapFn::Relu: // the result is positive exactly where the operand is
      return map(MapFn::WherePositive, {g_, build_.cheaper(x(0), y_)});
    case MapFn::Silu:
      return map(MapFn::SiluGrad, {g_, x(0)});
    case MapFn::Gelu:
      return map(MapFn::GeluGrad, {g_, x(0)});
    case MapFn::SigmoidGrad:
      return operand_ == 0 ? map(MapFn::SigmoidGrad, {g_, x(1)}) : ofSigmoidGrad();
    case MapFn::TanhGrad:
      return operand_ == 0 ? map(MapFn::TanhGrad, {g_, x(1)}) : times(-2, {g_, x(0), x(1)});
    case MapFn::SiluGrad:
      return operand_ == 0 ? map(MapFn::SiluGrad, {g_, x(1)}) : ofSiluGrad();
    case MapFn::GeluGrad:
      return operand_ == 0 ? map(MapFn::GeluGrad, {g_, x(1)}) : ofGeluGrad();
    case MapFn::WherePositive:
      return map(MapFn::WherePositive, {g_, x(1)});
    case MapFn::WhereEqual:
      return map(MapFn::WhereEqual, {g_, x(1), x(2)});
    }
    internalError("differentiate", "typed", spelling(gradient_.op.get<MapFields>().fn), "has no gradient");
  }

  /// A value that stands in several places of the product gets all its shares at once, at the first.
  ValueId ofProduct() {
    llvm::SmallVector<ValueId, 6> factors{g_};
    size_t count = 0;
    for (size_t i = 0; i < gradient_.op.operands.size(); ++i) {
      bool isSame = x(i) == x(operand_);
      if (isSame && i != operand_)
        gradient_.wanted[i] = false;
      count += isSame;
      if (i != operand_)
        factors.push_back(x(i));
    }
    return count == 1 ? map(MapFn::Mul, factors) : times(static_cast<double>(count), factors);
  }

  /// Division, or that of `quantise`.
  ValueId ofQuotient() {
    MapFn fn = gradient_.op.get<MapFields>().fn;
    if (operand_ == 0)
      return quotient_ = map(fn, {g_, x(1)});
    // -g / b * (a / b); g / b is there already if the first operand wanted it.
    ValueId scaled = quotient_ ? quotient_ : map(fn, {g_, x(1)});
    return map(MapFn::Neg, {map(MapFn::Mul, {scaled, y_})});
  }

  ValueId ofSigmoidGrad() { // g a (1 - 2 b)
    ValueId slope = map(MapFn::Sub, {build_.constant(1), times(2, {x(1)})});
    return map(MapFn::Mul, {g_, x(0), slope});
  }
  ValueId ofSiluGrad() { // g a s (1 - s) (2 + b (1 - 2 s)), s = sigmoid(b)
    ValueId s = map(MapFn::Sigmoid, {x(1)});
    ValueId bend = map(MapFn::Sub, {build_.constant(1), times(2, {s})});
    ValueId slope = map(MapFn::Add, {map(MapFn::Mul, {x(1), bend}), build_.constant(2)});
    ValueId scaled = map(MapFn::Mul, {g_, x(0), slope});
    return map(MapFn::SigmoidGrad, {scaled, s});
  }
  ValueId ofGeluGrad() { // g a (2 - b b) e^(-b b / 2) / sqrt(2 pi)
    ValueId squared = map(MapFn::Square, {x(1)});
    ValueId density = times(1 / std::sqrt(2 * std::numbers::pi), {map(MapFn::Exp, {times(-0.5, {squared})})});
    ValueId slope = map(MapFn::Sub, {build_.constant(2), squared});
    return map(MapFn::Mul, {g_, x(0), slope, density});
  }

  OpGradient &gradient_;
  BackwardBuilder &build_;
  ValueId g_, y_;
  size_t operand_ = 0;
  ValueId quotient_; ///< g / b
};

} // namespace

void mapGradient(OpGradient &gradient) { MapGradient(gradient).run(); }

} // namespace stg::autodiff
