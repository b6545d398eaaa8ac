//===- RankValues.h - one value on all ranks --------------------------------===//
// How parts make a whole and move between ranks. Everything is found by global position, so that nothing here depends
// on how a collective lays its bytes out.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_RANKVALUES_H
#define STG_LIB_INTERP_RANKVALUES_H

#include "RankDims.h"

namespace stg::interp {

/// What each rank holds of one value; one tensor if the program runs on one device.
using RankTensors = std::vector<Tensor>;

/// The value that the parts are: partial ones reduced, split ones put together. Throws InterpFault if ranks that should
/// hold the same do not, or if nobody holds some position.
Tensor wholeValue(const TensorType &type, const Layout &layout, const RankTensors &parts, RankDims &dims);

/// The part of `whole` at the positions of `held`, in the order of `held`.
Tensor partOf(const Tensor &whole, llvm::ArrayRef<TensorDim> held);

/// The same value in another layout. An atom of which both layouts say the same stays as it is (partial: pending); the
/// others move: reduced, put together, cut, or (whole to partial) kept on the first member. Throws InterpFault for a
/// move that no layout op makes.
RankTensors relaid(const TensorType &type, const Layout &from, const Layout &to, const RankTensors &parts,
                   RankDims &dims);

/// The op that takes an atom from one place to another; nothing if they are equal or no op does.
std::optional<OpKind> moveOf(const Place &from, const Place &to);

} // namespace stg::interp

#endif
