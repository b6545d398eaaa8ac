//===- OpWriter.h - the ops of a body, written anew ---------------------------===//
#ifndef STG_LIB_SHARDING_OPWRITER_H
#define STG_LIB_SHARDING_OPWRITER_H

#include "stg/IR/Program.h"
#include "llvm/ADT/StringSet.h"

namespace stg {

/// Appends ops to a body whose old ones were taken out, and makes values for what stands between the old ones.
class OpWriter {
public:
  OpWriter(IRContext &context, Body &body);

  void push(Op op);
  /// A value like `last` in another layout, under its name and a number, for an op that is still to be pushed.
  ValueId between(ValueId last, const Layout &layout);

private:
  IRContext &context_;
  Body &body_;
  llvm::StringSet<> names_;
};

} // namespace stg

#endif
