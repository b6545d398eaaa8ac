//===- RewriteBody.h - a body as its plan of layouts says -------------------===//
#ifndef STG_LIB_SHARDING_REWRITEBODY_H
#define STG_LIB_SHARDING_REWRITEBODY_H

#include "stg/Sharding/BodyPlan.h"

namespace stg {

struct RewrittenBody {
  Body body;
  /// Per input slot behind those of the original body: the slot that it stands for, in another layout.
  std::vector<uint32_t> addedInputs;
};

/// The body with layouts everywhere, `convert` ops where they differ, and sums in the planned order.
RewrittenBody rewriteBody(const Program &program, const Body &body, const BodyPlan &plan);

} // namespace stg

#endif
