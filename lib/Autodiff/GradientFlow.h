//===- GradientFlow.h - which units must make which cotangents -------------===//
// The plan of `differentiate`: it looks at bodies and changes nothing.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_AUTODIFF_GRADIENTFLOW_H
#define STG_LIB_AUTODIFF_GRADIENTFLOW_H

#include "stg/IR/PassStats.h"
#include "stg/IR/Program.h"

namespace stg::autodiff {

using Bits = std::vector<bool>;

/// Whether a cotangent of the results of `op` leads to one of operand `i`.
bool flowsTo(const Op &op, size_t i);
/// Per value: whether it depends on a weight of `trained` or on an input of `inputs`, through floats only.
Bits variedValues(const Body &body, const Bits &trained, const Bits &inputs);

/// What the backward of one unit makes. Units of one body with equal tasks share it.
struct BackwardTask {
  static constexpr uint32_t kNone = ~0u;

  Bits trained; ///< per weight slot: it has a gradient buffer
  Bits outputs; ///< per output: a cotangent comes in
  /// Per input slot: the slot with which its cotangent goes out, itself or an earlier one that reads the same value; or
  /// kNone.
  std::vector<uint32_t> leaders;
  /// Per input slot: later units have a share in the cotangent that goes out with it.
  Bits accumulates;
  auto operator<=>(const BackwardTask &) const = default;
};

/// The input slot through which a unit reads a value.
struct Reader {
  UnitId unit;
  uint32_t slot = 0;
};

struct GradientFlow {
  std::vector<BackwardTask> tasks; ///< distinct
  std::vector<uint32_t> taskOfUnit;
  /// Per unit and output: the first unit that has a cotangent for it; an invalid unit if none has.
  std::vector<std::vector<Reader>> firstReader;
  /// Per unit and input slot: the unit whose sum this one adds to; an invalid unit if it is the last.
  std::vector<std::vector<Reader>> nextReader;
};

GradientFlow planBackward(const Program &program, PassStats &stats);

} // namespace stg::autodiff

#endif
