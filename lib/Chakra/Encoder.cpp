//===- Encoder.cpp - trace nodes to Chakra wire bytes ----------------------===//
// A message is a sequence of fields; a field is a key (number * 8 + wire type)
// and a value: a varint (type 0), or a length and that many bytes (type 2). An
// attribute is a message inside its node, the node a message behind its length in
// the file. Lengths come before what they measure: an attribute's is computed
// beforehand from its name and value, a node's is written afterwards into two
// bytes left free, because nearly all nodes have 128 to 16383 bytes or less.
//===----------------------------------------------------------------------===//

#include "stg/Chakra/Encoder.h"
#include "fmt/format.h"
#include <algorithm>
#include <bit>
#include <cstring>

namespace stg {
namespace {

// Keys of the fields used, and Chakra's numbers for node types.
constexpr char kNodeId = 1 << 3 | 0;
constexpr char kNodeName = 2 << 3 | 2;
constexpr char kNodeType = 3 << 3 | 0;
constexpr char kNodeCtrlDeps = 4 << 3 | 2;
constexpr char kNodeDataDeps = 5 << 3 | 2;
constexpr char kNodeAttr = 10 << 3 | 2;
constexpr char kMetadataVersion = 1 << 3 | 2;
constexpr char kMetadataAttr = 2 << 3 | 2;
constexpr char kAttrName = 1 << 3 | 2;
constexpr char kListValues = 1 << 3 | 2;
constexpr unsigned kInt32Val = 7 << 3 | 0;
constexpr unsigned kInt64Val = 9 << 3 | 0;
constexpr unsigned kInt64List = 10 << 3 | 2;
constexpr unsigned kUint32Val = 11 << 3 | 0;
constexpr unsigned kUint64Val = 13 << 3 | 0;
constexpr unsigned kBoolVal = 27 << 3 | 0;
constexpr unsigned kStringVal = 29 << 3 | 2;
constexpr unsigned kStringList = 30 << 3 | 2;

/// Enough for the keys, lengths and numbers of a node apart from its texts and lists.
constexpr size_t kFixedPart = 512;
constexpr unsigned kMostVarintBytes = 10;
using bundle::kRankFieldBytes;

constexpr unsigned varintBytes(uint64_t value) {
  // ceil(bits / 7), at least 1
  return (static_cast<unsigned>(std::bit_width(value | 1)) + 6) / 7;
}

char *putVarint(char *out, uint64_t value) {
  while (value >= 0x80) {
    *out++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *out++ = static_cast<char>(value);
  return out;
}

char *putBytes(char *out, llvm::StringRef text) {
  out = putVarint(out, text.size());
  if (!text.empty())
    std::memcpy(out, text.data(), text.size());
  return out + text.size();
}

/// Key, length, name and value key of an attribute whose value takes `valueBytes`; the value follows. Names are
/// literals, so that copying one is a store or two.
template <size_t N>
char *putAttributeHead(char *out, char field, const char (&name)[N], unsigned valueKey, size_t valueBytes) {
  constexpr size_t kLength = N - 1;
  static_assert(kLength < 0x80, "one byte of length");
  *out++ = field;
  out = putVarint(out, 2 + kLength + varintBytes(valueKey) + valueBytes);
  *out++ = kAttrName;
  *out++ = static_cast<char>(kLength);
  std::memcpy(out, name, kLength);
  return putVarint(out + kLength, valueKey);
}

template <size_t N> char *putNumber(char *out, char field, const char (&name)[N], unsigned valueKey, uint64_t value) {
  out = putAttributeHead(out, field, name, valueKey, varintBytes(value));
  return putVarint(out, value);
}

template <size_t N>
char *putPaddedNumber(char *out, char field, const char (&name)[N], unsigned valueKey, uint32_t value) {
  out = putAttributeHead(out, field, name, valueKey, kRankFieldBytes);
  bundle::putRank(out, value);
  return out + kRankFieldBytes;
}

template <size_t N> char *putText(char *out, char field, const char (&name)[N], llvm::StringRef value) {
  out = putAttributeHead(out, field, name, kStringVal, varintBytes(value.size()) + value.size());
  return putBytes(out, value);
}

/// A list of numbers is packed: key, length in bytes, varints.
char *putDeps(char *out, char key, llvm::ArrayRef<uint64_t> first, llvm::ArrayRef<uint64_t> second) {
  size_t bytes = 0;
  for (uint64_t dep : first)
    bytes += varintBytes(dep);
  for (uint64_t dep : second)
    bytes += varintBytes(dep);
  if (bytes == 0)
    return out;
  *out++ = key;
  out = putVarint(out, bytes);
  for (uint64_t dep : first)
    out = putVarint(out, dep);
  for (uint64_t dep : second)
    out = putVarint(out, dep);
  return out;
}

char *putExtents(char *out, llvm::ArrayRef<int64_t> extents) {
  size_t packed = 0;
  for (int64_t extent : extents)
    packed += varintBytes(static_cast<uint64_t>(extent));
  size_t list = 1 + varintBytes(packed) + packed;
  out = putAttributeHead(out, kNodeAttr, "stg.extents", kInt64List, varintBytes(list) + list);
  out = putVarint(out, list);
  *out++ = kListValues;
  out = putVarint(out, packed);
  for (int64_t extent : extents)
    out = putVarint(out, static_cast<uint64_t>(extent));
  return out;
}

/// Name and decimal size of each tensor in turn, as ASTRA-sim's local memory tracker reads them.
template <size_t N> char *putTensors(char *out, const char (&name)[N], llvm::ArrayRef<TraceTensor> tensors) {
  size_t list = 0;
  for (const TraceTensor &tensor : tensors) {
    size_t digits = fmt::formatted_size("{}", tensor.bytes);
    list += 1 + varintBytes(tensor.name.size()) + tensor.name.size() + 1 + varintBytes(digits) + digits;
  }
  out = putAttributeHead(out, kNodeAttr, name, kStringList, varintBytes(list) + list);
  out = putVarint(out, list);
  for (const TraceTensor &tensor : tensors) {
    *out++ = kListValues;
    out = putBytes(out, tensor.name);
    *out++ = kListValues;
    fmt::format_int digits(tensor.bytes);
    out = putBytes(out, {digits.data(), digits.size()});
  }
  return out;
}

char *putAnnotations(char *out, const TraceAnnotations &annotations) {
  if (!annotations.extents.empty())
    out = putExtents(out, annotations.extents);
  if (!annotations.dtype.empty())
    out = putText(out, kNodeAttr, "stg.dtype", annotations.dtype);
  if (!annotations.part.empty())
    out = putText(out, kNodeAttr, "stg.part", annotations.part);
  if (annotations.microBatch)
    out = putNumber(out, kNodeAttr, "stg.micro_batch", kInt64Val, static_cast<uint64_t>(*annotations.microBatch));
  if (!annotations.source.empty())
    out = putText(out, kNodeAttr, "stg.source", annotations.source);
  // The tracker throws where one of the two is missing, and accepts an empty list.
  out = putTensors(out, "inputs", annotations.inputs);
  return putTensors(out, "outputs", annotations.outputs);
}

size_t annotationBound(const TraceAnnotations &annotations) {
  size_t bound =
      annotations.extents.size() * 10 + annotations.dtype.size() + annotations.part.size() + annotations.source.size();
  for (llvm::ArrayRef<TraceTensor> tensors : {annotations.inputs, annotations.outputs})
    for (const TraceTensor &tensor : tensors)
      bound += tensor.name.size() + 40;
  return bound;
}

char chakraType(TraceNodeKind kind) {
  switch (kind) {
  case TraceNodeKind::MemLoad:
    return 2;
  case TraceNodeKind::MemStore:
    return 3;
  case TraceNodeKind::Compute:
    return 4;
  case TraceNodeKind::Send:
    return 5;
  case TraceNodeKind::Recv:
    return 6;
  case TraceNodeKind::Collective:
    return 7;
  }
  return 0;
}

char *putGroup(char *out, uint32_t group, unsigned digits) {
  char text[bundle::kMostFieldBytes];
  bundle::putGroupId(text, group, digits);
  return putText(out, kNodeAttr, "pg_name", {text, digits});
}

struct EncodedMetadata {
  std::string bytes;
  size_t rankEnd; ///< behind the rank; 0: it is not there
};

EncodedMetadata encode(const TraceMetadata &metadata, RankInMetadata rankInMetadata) {
  constexpr llvm::StringLiteral kUnits =
      "num_ops: floating-point operations, a multiply-add is 2; tensor_size, comm_size: bytes";
  std::string producer = "stgc " + metadata.compilerVersion;
  std::string body(kFixedPart + producer.size() + metadata.mesh.size() + metadata.programHash.size() + kUnits.size() +
                       metadata.groupKinds.size() + metadata.routing.size(),
                   0);
  char *out = body.data();
  *out++ = kMetadataVersion;
  out = putBytes(out, kChakraSchema);
  out = putText(out, kMetadataAttr, "schema", kChakraSchema);
  out = putText(out, kMetadataAttr, "producer", producer);
  size_t rankEnd = 0;
  if (rankInMetadata == RankInMetadata::Yes) {
    out = putPaddedNumber(out, kMetadataAttr, "rank", kUint32Val, metadata.rank);
    rankEnd = out - body.data();
  }
  out = putNumber(out, kMetadataAttr, "world_size", kUint32Val, metadata.worldSize);
  out = putText(out, kMetadataAttr, "mesh", metadata.mesh);
  if (!metadata.groupKinds.empty()) {
    out = putText(out, kMetadataAttr, "group_kinds", metadata.groupKinds);
    out = putNumber(out, kMetadataAttr, "group_stride", kUint32Val, metadata.groupStride);
  }
  if (!metadata.routing.empty()) {
    out = putText(out, kMetadataAttr, "routing", metadata.routing);
    out = putText(out, kMetadataAttr, "a2av", metadata.unevenExchange);
  }
  out = putText(out, kMetadataAttr, "program", metadata.programHash);
  out = putText(out, kMetadataAttr, "units", kUnits);
  body.resize(out - body.data());

  char length[kMostVarintBytes];
  std::string framed(length, putVarint(length, body.size()));
  if (rankEnd != 0)
    rankEnd += framed.size();
  return {framed + body, rankEnd};
}

} // namespace

std::string groupName(uint32_t group, unsigned digits) { return fmt::format("{:0{}}", group, digits); }

std::string encodeMetadata(const TraceMetadata &metadata) { return encode(metadata, RankInMetadata::Yes).bytes; }

void NodeEncoder::append(const TraceMetadata &metadata) {
  EncodedMetadata encoded = encode(metadata, options_.rankInMetadata);
  reserve(encoded.bytes.size());
  std::memcpy(data_.get() + size_, encoded.bytes.data(), encoded.bytes.size());
  if (encoded.rankEnd != 0)
    patch(size_ + encoded.rankEnd - kRankFieldBytes, {bundle::RankField::Kind::Rank, 0});
  size_ += encoded.bytes.size();
}

/// A class has a handful of fields: one per kind of group and per peer.
void NodeEncoder::patch(size_t offset, bundle::RankField field) {
  auto known = std::find(fields_.begin(), fields_.end(), field);
  patches_.push_back({static_cast<uint32_t>(offset), static_cast<uint32_t>(known - fields_.begin())});
  if (known == fields_.end())
    fields_.push_back(field);
}

void NodeEncoder::reserve(size_t more) {
  if (capacity_ - size_ >= more)
    return;
  capacity_ = std::max(size_ + more, capacity_ * 2);
  std::unique_ptr<char[]> bigger(new char[capacity_]);
  if (size_ != 0)
    std::memcpy(bigger.get(), data_.get(), size_);
  data_ = std::move(bigger);
}

/// What a node says behind its dependencies.
char *NodeEncoder::putAttributes(char *out, const TraceNode &node, FieldEnds &ends) const {
  char *const begin = out;
  out = putNumber(out, kNodeAttr, "is_cpu_op", kBoolVal, 0);
  switch (node.kind) {
  case TraceNodeKind::Compute:
    out = putNumber(out, kNodeAttr, "num_ops", kInt64Val, node.flops);
    out = putNumber(out, kNodeAttr, "tensor_size", kUint64Val, node.bytes);
    break;
  case TraceNodeKind::MemLoad:
  case TraceNodeKind::MemStore:
    out = putNumber(out, kNodeAttr, "tensor_size", kUint64Val, node.bytes);
    break;
  case TraceNodeKind::Collective:
    out = putNumber(out, kNodeAttr, "comm_type", kInt64Val, static_cast<uint64_t>(node.collective));
    out = putNumber(out, kNodeAttr, "comm_size", kInt64Val, node.bytes);
    out = putGroup(out, node.group, options_.groupDigits);
    ends.group = static_cast<uint32_t>(out - begin);
    if (node.trueBytes != 0)
      out = putNumber(out, kNodeAttr, "stg.true_bytes", kInt64Val, node.trueBytes);
    break;
  case TraceNodeKind::Send:
  case TraceNodeKind::Recv:
    out = putNumber(out, kNodeAttr, "comm_size", kInt64Val, node.bytes);
    out = putPaddedNumber(out, kNodeAttr, "comm_src", kInt32Val, node.sourceRank);
    ends.source = static_cast<uint32_t>(out - begin);
    out = putPaddedNumber(out, kNodeAttr, "comm_dst", kInt32Val, node.destinationRank);
    ends.destination = static_cast<uint32_t>(out - begin);
    out = putNumber(out, kNodeAttr, "comm_tag", kInt32Val, node.tag);
    if (node.paddedBytes != 0)
      out = putNumber(out, kNodeAttr, "stg.padded_bytes", kInt64Val, node.paddedBytes);
    break;
  }
  if (options_.annotate != Annotate::None && !node.opType.empty())
    out = putText(out, kNodeAttr, "op_type", node.opType);
  return out;
}

const NodeEncoder::Attributes &NodeEncoder::attributesOf(const TraceNode &node) {
  if (known_.size() <= node.likeness)
    known_.resize(node.likeness + 1);
  // Number 0 is no likeness: its place serves nodes that are like no other.
  Attributes &known = known_[node.likeness];
  if (node.likeness == 0 || known.bytes.empty()) {
    known = {};
    known.bytes.resize(kFixedPart + node.opType.size());
    known.bytes.resize(putAttributes(known.bytes.data(), node, known.ends) - known.bytes.data());
  }
  return known;
}

void NodeEncoder::append(const TraceNode &node) {
  bool full = options_.annotate == Annotate::Full && node.annotations != nullptr;
  const Attributes &attributes = attributesOf(node);
  reserve(kFixedPart + node.name.size() + attributes.bytes.size() +
          (node.dataDeps.size() + node.ctrlDeps.size()) * kMostVarintBytes +
          (full ? annotationBound(*node.annotations) : 0));

  char *const frame = data_.get() + size_;
  char *const begin = frame + 2;
  char *out = begin;
  if (node.id != 0) {
    *out++ = kNodeId;
    out = putVarint(out, node.id);
  }
  if (!node.name.empty()) {
    *out++ = kNodeName;
    out = putBytes(out, node.name);
  }
  *out++ = kNodeType;
  *out++ = chakraType(node.kind);
  if (options_.orderDeps == OrderDeps::Ctrl) {
    out = putDeps(out, kNodeCtrlDeps, node.ctrlDeps, {});
    out = putDeps(out, kNodeDataDeps, node.dataDeps, {});
  } else {
    out = putDeps(out, kNodeDataDeps, node.dataDeps, node.ctrlDeps);
  }
  size_t attributesAt = out - begin;
  std::memcpy(out, attributes.bytes.data(), attributes.bytes.size());
  out += attributes.bytes.size();
  if (full)
    out = putAnnotations(out, *node.annotations);

  size_t length = out - begin;
  unsigned lengthBytes = varintBytes(length);
  if (lengthBytes != 2)
    std::memmove(frame + lengthBytes, begin, length);
  putVarint(frame, length);
  patch(size_ + lengthBytes + attributesAt, attributes.ends, node);
  size_ += lengthBytes + length;
  ++nodes_;
}

void NodeEncoder::patch(size_t attributesAt, const FieldEnds &ends, const TraceNode &node) {
  using Kind = bundle::RankField::Kind;
  auto distance = [&](uint32_t rank) { return int64_t{rank} - int64_t{firstRank_}; };
  if (ends.group != 0)
    patch(attributesAt + ends.group - options_.groupDigits, {Kind::Group, node.groupKind});
  if (ends.source == 0)
    return;
  auto fieldOf = [&](uint32_t rank, bool isPeer) {
    return isPeer && node.shift != 0 ? bundle::RankField::member(node.groupKind, node.shift)
                                     : bundle::RankField{Kind::Rank, distance(rank)};
  };
  bool isSend = node.kind == TraceNodeKind::Send;
  patch(attributesAt + ends.source - kRankFieldBytes, fieldOf(node.sourceRank, !isSend));
  patch(attributesAt + ends.destination - kRankFieldBytes, fieldOf(node.destinationRank, isSend));
}

} // namespace stg
