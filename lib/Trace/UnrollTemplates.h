//===- UnrollTemplates.h - what the units of one body have in common --------===//
// A body's kernels with everything that is the same in each of its units: costs,
// the ends of names, dependencies as places inside the body or as input slots. A
// unit adds its path and the id of its first node.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/Unroll.h"

namespace stg {

/// Where a value comes from, as seen by a body.
struct ValueOrigin {
  enum class Kind : uint8_t {
    /// Result of kernel `index`.
    Kernel,
    /// Input, weight or state slot `index`.
    Input,
    Weight,
    State,
    /// A constant or iota.
    Nowhere
  };
  Kind kind = Kind::Nowhere;
  uint32_t index = 0;
};

struct TensorTemplate {
  ValueOrigin origin;
  /// Path inside the unit; for kernel results.
  llvm::StringRef name;
  uint64_t bytes = 0;
};

struct KernelTemplate {
  /// Path inside the unit of what it computes.
  llvm::StringRef name;
  llvm::StringRef opType;
  uint64_t flops = 0;
  uint64_t bytes = 0;
  /// Kernels of this body whose results it reads, by place; ascending.
  llvm::SmallVector<uint32_t, 4> kernels;
  /// Input slots that it reads; ascending.
  llvm::SmallVector<uint32_t, 2> inputSlots;

  // Only with UnrollDetail::Annotations.
  std::vector<int64_t> extents;
  llvm::StringRef dtype;
  llvm::StringRef part;
  std::string source;
  std::vector<TensorTemplate> reads, writes;
};

struct BodyTemplate {
  std::vector<KernelTemplate> kernels;
  /// One per output of the body.
  std::vector<TensorTemplate> outputs;
};

/// None if a count does not fit; that has been reported.
std::optional<BodyTemplate> makeTemplate(const Program &program, const Body &body, UnrollDetail detail,
                                         PassStats &stats, Diagnostics &diags);

} // namespace stg
