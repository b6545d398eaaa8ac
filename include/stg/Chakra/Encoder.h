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

#include "stg/Bundle/RankFields.h"
#include "stg/Trace/Node.h"
#include <memory>

namespace stg {

/// The schema version in GlobalMetadata.
inline constexpr llvm::StringLiteral kChakraSchema = "0.0.4";

/// How much a node says beyond what simulators need.
enum class Annotate : uint8_t { None, Basic, Full };

/// Where order-only dependencies go; `Data` is for feeders that ignore `ctrl_deps`.
enum class OrderDeps : uint8_t { Ctrl, Data };

/// Whether a file says whose it is, beside its name.
enum class RankInMetadata : uint8_t { Yes, No };

struct EncodeOptions {
  Annotate annotate = Annotate::Basic;
  OrderDeps orderDeps = OrderDeps::Ctrl;
  /// Digits of every group id, in `pg_name` and in the group file alike.
  unsigned groupDigits = 1;
  RankInMetadata rankInMetadata = RankInMetadata::Yes;
};

/// The text of a group id: decimal, padded with zeros to `digits`.
std::string groupName(uint32_t group, unsigned digits);

/// The framed GlobalMetadata message that a rank's file begins with. Its length does not depend on the rank.
std::string encodeMetadata(const TraceMetadata &metadata);

/// Collects the framed messages of a class of ranks, as its first rank has them, and where the fields stand that differ
/// between its ranks. append() copies all it needs. May be emptied between two nodes, segment by segment.
class NodeEncoder {
public:
  /// `firstRank`: whose nodes are appended.
  explicit NodeEncoder(const EncodeOptions &options, uint32_t firstRank = 0)
      : options_(options), firstRank_(firstRank) {}

  /// The file's first message, with the rank as a field.
  void append(const TraceMetadata &metadata);
  void append(const TraceNode &node);

  /// Makes room for so many bytes.
  void reserve(size_t more);

  /// Since the last clear().
  llvm::StringRef bytes() const { return {data_.get(), size_}; }
  uint64_t nodes() const { return nodes_; }
  /// Where fields stand in bytes(), ascending.
  const std::vector<bundle::FieldPatch> &patches() const { return patches_; }
  /// All fields of the class so far: their numbers stay.
  const std::vector<bundle::RankField> &fields() const { return fields_; }
  /// Forgets the nodes and keeps the memory and the fields.
  void clear() {
    size_ = nodes_ = 0;
    patches_.clear();
  }

private:
  /// Where fields end, from the begin of the attributes; 0: there is none.
  struct FieldEnds {
    uint32_t group = 0, source = 0, destination = 0;
  };
  /// What a node says behind its dependencies, annotations apart.
  struct Attributes {
    std::string bytes;
    FieldEnds ends;
  };
  const Attributes &attributesOf(const TraceNode &node);
  char *putAttributes(char *out, const TraceNode &node, FieldEnds &ends) const;
  void patch(size_t offset, bundle::RankField field);
  void patch(size_t attributesAt, const FieldEnds &ends, const TraceNode &node);

  EncodeOptions options_;
  uint32_t firstRank_;
  std::unique_ptr<char[]> data_;
  size_t size_ = 0;
  size_t capacity_ = 0;
  uint64_t nodes_ = 0;
  std::vector<bundle::FieldPatch> patches_;
  std::vector<bundle::RankField> fields_;
  std::vector<Attributes> known_; ///< by likeness
};

} // namespace stg
