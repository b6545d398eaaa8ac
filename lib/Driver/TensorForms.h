//===- TensorForms.h - the layouts in which a tensor is used ----------------===//
// From the op that makes a tensor to all that read it, through conversions and across units: one form per layout and
// conversion, with its readers. Units of one body are visited once.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_DRIVER_TENSORFORMS_H
#define STG_LIB_DRIVER_TENSORFORMS_H

#include "TensorSearch.h"

namespace stg {

/// An op of a unit's body.
struct UnitOp {
  UnitId unit;
  OpId op;
};

struct TensorForm {
  Layout layout;
  /// The conversions that make it: one for each phase that needs it. None: as its producer gives it.
  std::vector<UnitOp> by;
  std::vector<UnitOp> readers;
};

/// In the order in which they come to be.
std::vector<TensorForm> formsOf(const Program &program, llvm::ArrayRef<UnitTensor> sites);

} // namespace stg

#endif
