//===- ClassImage.h - what the files of a class of ranks share --------------===//
// A class is unrolled and encoded once. Its image comes in segments of a few MiB that
// end between two nodes, so that memory does not grow with the length of a trace.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/Bundle.h"
#include "stg/Chakra/Encoder.h"
#include "stg/Trace/Unroll.h"
#include "llvm/Support/Error.h"

namespace stg {

/// A segment holds at least so many bytes, unless it is the last one.
inline constexpr size_t kSegmentBytes = 4 << 20;

/// A part of the image of a class, as the first rank of the class has it. What it refers to is gone when its consumer
/// returns.
struct ImageSegment {
  /// In the rank's file.
  uint64_t start = 0;
  llvm::ArrayRef<char> bytes;
  llvm::ArrayRef<bundle::FieldPatch> patches;
  /// Of the class; later segments may add some behind these.
  llvm::ArrayRef<bundle::RankField> fields;
  /// That begin here.
  uint64_t nodes = 0;
  bool isLast = false;
};

/// Calls `consume` for each segment of a class, at least one; `metadata` is that of its first rank. May be called for
/// several classes at once.
void encodeClass(const Unroller &unroller, uint32_t rankClass, const TraceMetadata &metadata,
                 const EncodeOptions &options, llvm::function_ref<void(const ImageSegment &)> consume);

/// Takes the images of the classes of one program after the other: a directory, a bundle.
class ImageSink {
public:
  virtual ~ImageSink() = default;

  /// A program: names, groups, and the ranks of its classes, of which neither fields nor segments are known.
  virtual llvm::Error begin(const bundle::TraceInfo &trace) = 0;
  /// How many ranks of a class it writes; of none, its image is not wanted.
  virtual uint64_t ranksOf(uint32_t rankClass) const = 0;
  /// Segments of a class come in order; of several classes, from several threads.
  virtual llvm::Error take(uint32_t rankClass, const ImageSegment &segment) = 0;
  /// The program that began is complete.
  virtual llvm::Error end() = 0;
  /// The output appears under its name.
  virtual llvm::Error commit() = 0;
};

} // namespace stg
