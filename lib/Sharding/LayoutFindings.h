//===- LayoutFindings.h - telling the user what a plan does not do ----------===//
#ifndef STG_LIB_SHARDING_LAYOUTFINDINGS_H
#define STG_LIB_SHARDING_LAYOUTFINDINGS_H

#include "stg/Sharding/BodyPlan.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

/// Reports what was found while planning, each cause once.
void reportFindings(const Program &program, const Assigner &assigner, const LayoutFindings &findings,
                    Diagnostics &diags);

/// Pins that use an axis twice, or split what they do not divide.
void checkPins(const Program &program, Diagnostics &diags);

/// E311: the atoms that all rules together put on one dim divide it. Reads the layouts of a Laid program.
void checkJointDivisibility(const Program &program, Diagnostics &diags);

} // namespace stg

#endif
