//===- AxesText.h - what plans call the axes behind atoms --------------------===//
#ifndef STG_ANALYSIS_AXESTEXT_H
#define STG_ANALYSIS_AXESTEXT_H

#include "stg/IR/Mesh.h"

namespace stg {

/// Axes, then axes of folds, of which all atoms are there; what is left by the names of the atoms. Where axes do not
/// name all, an axis of a fold that is just these atoms stands for them.
std::string axesText(llvm::ArrayRef<uint32_t> atoms, const Mesh &mesh, llvm::StringRef separator = "*");

} // namespace stg

#endif
