//===- ClassImage.cpp - what the files of a class of ranks share ------------===//
#include "stg/Chakra/ClassImage.h"

namespace stg {

void encodeClass(const Unroller &unroller, uint32_t rankClass, const TraceMetadata &metadata,
                 const EncodeOptions &options, llvm::function_ref<void(const ImageSegment &)> consume) {
  NodeEncoder encoder(options, metadata.rank);
  uint64_t start = 0;
  auto flush = [&](bool isLast) {
    llvm::StringRef bytes = encoder.bytes();
    consume({.start = start,
             .bytes = {bytes.data(), bytes.size()},
             .patches = encoder.patches(),
             .fields = encoder.fields(),
             .nodes = encoder.nodes(),
             .isLast = isLast});
    start += bytes.size();
    encoder.clear();
  };
  // Few nodes take more than the rest; the pages behind a short image are never touched.
  encoder.reserve(kSegmentBytes + (64 << 10));
  encoder.append(metadata);
  unroller.run(rankClass, [&](const TraceNode &node) {
    if (encoder.bytes().size() >= kSegmentBytes)
      flush(/*isLast=*/false);
    encoder.append(node);
  });
  flush(/*isLast=*/true);
}

} // namespace stg
