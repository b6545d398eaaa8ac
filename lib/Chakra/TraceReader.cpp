//===- TraceReader.cpp - Chakra files of any producer ----------------------===//

#include "stg/Chakra/TraceReader.h"
#include "et_def.pb.h"
#include <algorithm>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/stubs/logging.h>
#include <zlib.h>

namespace stg {
namespace {

llvm::Error readError(llvm::StringRef path, const llvm::Twine &what) {
  return llvm::createFileError(path, llvm::createStringError(std::make_error_code(std::errc::io_error), what));
}

template <typename List, typename To> void copyValues(const List &list, DecodedAttribute &to, To) {
  to.isList = true;
  to.values.reserve(list.values_size());
  for (const auto &value : list.values())
    to.values.emplace_back(To(value));
}

void decodeAttribute(const ChakraProtoMsg::AttributeProto &from, DecodedAttribute &to) {
  using Proto = ChakraProtoMsg::AttributeProto;
  to.name = from.name();
  to.isList = false;
  to.values.clear();
  auto scalar = [&to](auto value) { to.values.emplace_back(std::move(value)); };
  switch (from.value_case()) {
  case Proto::VALUE_NOT_SET:
    to.kind = AttributeKind::None;
    return;
#define SCALAR_AND_LIST(Case, field, Type)                                                                             \
  case Proto::k##Case##Val:                                                                                            \
    scalar(Type(from.field##_val()));                                                                                  \
    break;                                                                                                             \
  case Proto::k##Case##List:                                                                                           \
    copyValues(from.field##_list(), to, Type());                                                                       \
    break;
    SCALAR_AND_LIST(Double, double, double)
    SCALAR_AND_LIST(Float, float, double)
    SCALAR_AND_LIST(Int32, int32, int64_t)
    SCALAR_AND_LIST(Int64, int64, int64_t)
    SCALAR_AND_LIST(Uint32, uint32, uint64_t)
    SCALAR_AND_LIST(Uint64, uint64, uint64_t)
    SCALAR_AND_LIST(Sint32, sint32, int64_t)
    SCALAR_AND_LIST(Sint64, sint64, int64_t)
    SCALAR_AND_LIST(Fixed32, fixed32, uint64_t)
    SCALAR_AND_LIST(Fixed64, fixed64, uint64_t)
    SCALAR_AND_LIST(Sfixed32, sfixed32, int64_t)
    SCALAR_AND_LIST(Sfixed64, sfixed64, int64_t)
    SCALAR_AND_LIST(Bool, bool, bool)
    SCALAR_AND_LIST(String, string, std::string)
    SCALAR_AND_LIST(Bytes, bytes, std::string)
#undef SCALAR_AND_LIST
  }
  to.kind = static_cast<AttributeKind>(from.value_case() - (to.isList ? 1 : 0));
}

/// Whether a message can be a GlobalMetadata: it has the fields 1 and 2 only, both with a length. A node has at least a
/// numeric type, unless it is empty of all that makes a node.
bool looksLikeMetadata(llvm::StringRef message) {
  google::protobuf::io::CodedInputStream in(reinterpret_cast<const uint8_t *>(message.data()),
                                            static_cast<int>(message.size()));
  constexpr uint32_t kVersionKey = 1 << 3 | 2, kAttrKey = 2 << 3 | 2;
  while (uint32_t key = in.ReadTag()) {
    uint32_t length;
    if ((key != kVersionKey && key != kAttrKey) || !in.ReadVarint32(&length) || !in.Skip(static_cast<int>(length)))
      return false;
  }
  return true;
}

/// Expands what it can, member after member; false if the data is damaged or cut short.
bool expandGzip(llvm::StringRef compressed, std::string &expanded) {
  z_stream stream = {};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK)
    return false;
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(compressed.data()));
  stream.avail_in = static_cast<uInt>(compressed.size());
  int status = Z_OK;
  char buffer[1 << 16];
  while (status == Z_OK || (status == Z_STREAM_END && stream.avail_in > 0)) {
    if (status == Z_STREAM_END)
      inflateReset(&stream);
    stream.next_out = reinterpret_cast<Bytef *>(buffer);
    stream.avail_out = sizeof(buffer);
    status = inflate(&stream, Z_NO_FLUSH);
    expanded.append(buffer, sizeof(buffer) - stream.avail_out);
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END;
}

constexpr size_t kLargestMessage = INT32_MAX;

} // namespace

struct TraceReader::Scratch {
  ChakraProtoMsg::Node node;
};

TraceReader::TraceReader() : scratch_(std::make_unique<Scratch>()) {
  // What protobuf has to say about a message (a text that is not UTF-8) would go to the terminal; ending() says it
  // here.
  [[maybe_unused]] static const bool kSilenced = (google::protobuf::SetLogHandler(nullptr), true);
}
TraceReader::TraceReader(TraceReader &&) noexcept = default;
TraceReader &TraceReader::operator=(TraceReader &&) noexcept = default;
TraceReader::~TraceReader() = default;

llvm::Expected<TraceReader> TraceReader::open(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!file)
    return readError(path, file.getError().message());
  TraceReader reader;
  reader.file_ = std::move(*file);
  reader.bytes_ = reader.file_->getBuffer();
  if (reader.bytes_.starts_with("\x1f\x8b")) {
    if (reader.bytes_.size() > kLargestMessage)
      return readError(path, "gzip files of 2 GiB or more are not supported; expand it first");
    reader.held_ = std::make_unique<std::string>();
    reader.badGzip_ = !expandGzip(reader.bytes_, *reader.held_);
    reader.bytes_ = *reader.held_;
  }
  reader.readMetadata();
  return reader;
}

TraceReader TraceReader::fromBytes(llvm::StringRef bytes) {
  TraceReader reader;
  reader.bytes_ = bytes;
  reader.readMetadata();
  return reader;
}

TraceReader TraceReader::owning(std::string bytes) {
  TraceReader reader;
  reader.held_ = std::make_unique<std::string>(std::move(bytes));
  reader.bytes_ = *reader.held_;
  reader.readMetadata();
  return reader;
}

std::optional<llvm::StringRef> TraceReader::nextMessage() {
  messageStart_ = position_;
  if (position_ == bytes_.size()) {
    ending_ = badGzip_ ? Ending::BadGzip : Ending::Clean;
    return std::nullopt;
  }
  uint64_t length = 0;
  uint64_t at = position_;
  for (unsigned shift = 0;; shift += 7) {
    if (at == bytes_.size()) {
      ending_ = badGzip_ ? Ending::BadGzip : Ending::Truncated;
      return std::nullopt;
    }
    auto byte = static_cast<uint8_t>(bytes_[at++]);
    if (shift > 28 || (shift == 28 && byte > 0x0f)) {
      ending_ = Ending::NotANode;
      return std::nullopt;
    }
    length |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80)
      break;
  }
  if (length > bytes_.size() - at) {
    ending_ = badGzip_ ? Ending::BadGzip : Ending::Truncated;
    return std::nullopt;
  }
  position_ = at + length;
  return bytes_.substr(at, length);
}

void TraceReader::readMetadata() {
  std::optional<llvm::StringRef> message = nextMessage();
  ChakraProtoMsg::GlobalMetadata parsed;
  if (!message || message->size() > kLargestMessage || !looksLikeMetadata(*message) ||
      !parsed.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
    position_ = 0;
    return;
  }
  metadata_.emplace();
  metadata_->version = parsed.version();
  for (const auto &attribute : parsed.attr())
    decodeAttribute(attribute, metadata_->attributes.emplace_back());
}

bool TraceReader::next(DecodedNode &node) {
  std::optional<llvm::StringRef> message = nextMessage();
  if (!message)
    return false;
  ChakraProtoMsg::Node &parsed = scratch_->node;
  if (message->size() > kLargestMessage || !parsed.ParseFromArray(message->data(), static_cast<int>(message->size()))) {
    ending_ = Ending::NotANode;
    position_ = messageStart_;
    return false;
  }
  node.id = parsed.id();
  node.name = parsed.name();
  node.type = static_cast<uint32_t>(parsed.type());
  node.ctrlDeps.assign(parsed.ctrl_deps().begin(), parsed.ctrl_deps().end());
  node.dataDeps.assign(parsed.data_deps().begin(), parsed.data_deps().end());
  node.startMicros = parsed.start_time_micros();
  node.durationMicros = parsed.duration_micros();
  node.attributes.resize(parsed.attr_size());
  for (int i = 0; i < parsed.attr_size(); ++i)
    decodeAttribute(parsed.attr(i), node.attributes[i]);
  return true;
}

} // namespace stg
