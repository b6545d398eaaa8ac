//===- Encoder.h - trace nodes to Chakra wire bytes ------------------------===//
// Writes the bytes that protobuf's own serialiser would write for the same
// message (the unit tests compare), from nodes straight into one growing buffer:
// no message objects, because those are ten times slower.
//
// Three fields of a node depend on the rank within a class of ranks that run the
// same program: group id, source and destination. They are written with a fixed
// width (a padded decimal text, five-byte varints), so that a class can be
// encoded once and patched. Padded varints are legal, but not what protobuf's
// serialiser chooses.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/Node.h"
#include <memory>

namespace stg {

/// The schema version in GlobalMetadata.
inline constexpr llvm::StringLiteral kChakraSchema = "0.0.4";

/// How much a node says beyond what simulators need.
enum class Annotate : uint8_t { None, Basic, Full };

/// Where order-only dependencies go; `Data` is for feeders that ignore `ctrl_deps`.
enum class OrderDeps : uint8_t { Ctrl, Data };

struct EncodeOptions {
  Annotate annotate = Annotate::Basic;
  OrderDeps orderDeps = OrderDeps::Ctrl;
  /// Digits of every group id, in `pg_name` and in the group file alike.
  unsigned groupDigits = 1;
};

/// The text of a group id: decimal, padded with zeros to `digits`.
std::string groupName(uint32_t group, unsigned digits);

/// The framed GlobalMetadata message that a rank's file begins with. Its length does not depend on the rank.
std::string encodeMetadata(const TraceMetadata &metadata);

/// The text of a group id inside an image: `groupDigits` characters.
struct GroupPatch {
  uint64_t offset = 0;
  uint32_t kind = 0;
};

/// A rank number inside an image: a varint of five bytes. Within a class peers keep their distance.
struct PeerPatch {
  uint64_t offset = 0;
  uint32_t rank = 0; ///< what stands there
};
/// Writes a rank number over that of a patch.
void putPeer(char *at, uint32_t rank);

/// Collects the framed messages of a rank's nodes. append() copies all it needs from the node.
class NodeEncoder {
public:
  explicit NodeEncoder(const EncodeOptions &options) : options_(options) {}

  void append(const TraceNode &node);

  llvm::StringRef bytes() const { return {data_.get(), size_}; }
  uint64_t nodes() const { return nodes_; }
  /// Where ids of groups stand, which differ between ranks.
  llvm::ArrayRef<GroupPatch> patches() const { return patches_; }
  /// Where sources and destinations stand, which differ likewise.
  llvm::ArrayRef<PeerPatch> peers() const { return peers_; }
  /// Forgets the nodes and keeps the memory.
  void clear() {
    size_ = nodes_ = 0;
    patches_.clear();
    peers_.clear();
  }

private:
  void reserve(size_t more);

  EncodeOptions options_;
  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  uint64_t nodes_ = 0;
  std::vector<GroupPatch> patches_;
  std::vector<PeerPatch> peers_;
};

} // namespace stg
