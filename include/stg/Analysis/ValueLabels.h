//===- ValueLabels.h - what messages and traces call a value -----------------===//
#ifndef STG_ANALYSIS_VALUELABELS_H
#define STG_ANALYSIS_VALUELABELS_H

#include "stg/IR/Program.h"

namespace stg {

/// The name of the value; one that has none is called by where it belongs and what makes it: `ffn.contract`.
std::string labelOf(const Program &program, const Body &body, ValueId value);
/// The label of its first result; an op without results as a value without a name.
std::string labelOf(const Program &program, const Body &body, const Op &op);

/// The value that backward reads instead of this one, where it is computed again. Invalid where it is not.
ValueId computedAgain(const Program &program, const Body &body, ValueId value);

} // namespace stg

#endif
