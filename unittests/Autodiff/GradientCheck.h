//===- GradientCheck.h - gradients against finite differences ---------------===//
#ifndef STG_UNITTESTS_AUTODIFF_GRADIENTCHECK_H
#define STG_UNITTESTS_AUTODIFF_GRADIENTCHECK_H

#include "stg/Interp/Interpreter.h"
#include <optional>
#include <string>

namespace stg {

/// A program from .stgir text, typed. A message fails the test.
std::optional<Program> readTyped(const std::string &text);
/// The same in training: every weight that no earlier rule names trains.
void trainAll(Program &program);
/// Specialised and differentiated; verified after each pass.
Program differentiated(const Program &typed);
/// What both passes look at.
uint64_t opVisits(const Program &typed);

/// Elements of weights whose gradient was compared, that of them which was not 0, and what was left out.
struct GradientCounts {
  uint64_t compared = 0, nonzero = 0, leftOut = 0;
  GradientCounts &operator+=(const GradientCounts &other);
};

/// Runs the backward of a Typed training program and compares the gradient of every weight with central differences of
/// its loss, which interprets the Typed program only. A weight without a gradient must not move the loss, unless the
/// plan freezes it. At most `most` elements of each weight are moved. Left out: elements where two step sizes disagree.
GradientCounts compareGradients(const Program &typed, interp::InterpInputs inputs = {}, size_t most = 24);

/// The same, and nothing may be left out, and some gradient must not be 0.
void checkGradients(const Program &typed, interp::InterpInputs inputs = {}, size_t most = 24);

} // namespace stg

#endif
