//===- BodyBackward.h - the backward of one body -----------------------------===//
#ifndef STG_LIB_AUTODIFF_BODYBACKWARD_H
#define STG_LIB_AUTODIFF_BODYBACKWARD_H

#include "GradientFlow.h"

namespace stg::autodiff {

/// Adds backward ops, the slots and outputs of cotangents, and WeightSlot::trained to `body`, which is one of
/// `program`'s. New slots stand behind the old ones: cotangents by output, then accumulators by slot.
void addBackward(const Program &program, Body &body, const BackwardTask &task, PassStats &stats);

} // namespace stg::autodiff

#endif
