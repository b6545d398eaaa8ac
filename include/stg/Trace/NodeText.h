//===- NodeText.h - a decoded node as one line of text ---------------------===//
// The text form of `stg-et dump`, meant for people, FileCheck and `diff`:
//
//   metadata 0.0.4 schema=0.0.4 producer="stgc 0.1.0" rank=0 ...
//   1 COMP F0:embed.x is_cpu_op=false num_ops=4096 tensor_size=24576 op_type=map
//   2 COMP F0:blocks[0].attn.q data=[1] ctrl=[1] is_cpu_op=false num_ops=...
//
// Everything that the file says, in its order; empty lists and zero times are left
// out. A text is quoted unless it is a plain word.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/DecodedNode.h"

namespace stg {

/// Whether the kinds of attribute values are printed: `num_ops:int64=4096`.
enum class ShowKinds : uint8_t { No, Yes };

std::string nodeText(const DecodedNode &node, ShowKinds kinds = ShowKinds::No);
std::string metadataText(const DecodedMetadata &metadata, ShowKinds kinds = ShowKinds::No);

} // namespace stg
