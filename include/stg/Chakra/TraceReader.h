//===- TraceReader.h - Chakra files of any producer ------------------------===//
// Reads `.et` files, raw or gzip (by magic number), one node at a time, with
// protobuf's parser. What is wrong with a file's contents is reported by `ending()`
// and by the nodes themselves, because that is what a checker is for; only a file
// that cannot be read at all is an error.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/DecodedNode.h"
#include "stg/Trace/Node.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace stg {

class TraceReader {
public:
  enum class Ending {
    /// The file ends where a message ends.
    Clean,
    /// The last message is cut short: its length says more bytes than there are.
    Truncated,
    /// A message of the right length is not a node.
    NotANode,
    /// A gzip file whose compressed data is damaged or cut short.
    BadGzip,
  };

  /// Reads and, for gzip, expands the whole file. Errors are llvm::FileError: `invalid_argument` where the file is
  /// wrong, another code where the environment failed.
  static llvm::Expected<TraceReader> open(llvm::StringRef path);
  /// The same for bytes in memory; `bytes` must outlive the reader.
  static TraceReader fromBytes(llvm::StringRef bytes);
  /// The same for bytes that the reader keeps.
  static TraceReader owning(std::string bytes);
  TraceReader(TraceReader &&) noexcept;
  TraceReader &operator=(TraceReader &&) noexcept;
  ~TraceReader();

  /// None if the file begins with a node.
  const std::optional<DecodedMetadata> &metadata() const { return metadata_; }

  /// Fills `node` with the next one; false at the end, good or bad.
  bool next(DecodedNode &node);

  /// Why next() returned false.
  Ending ending() const { return ending_; }
  /// Offset in the (expanded) file of the message read last or found bad.
  uint64_t offset() const { return messageStart_; }
  /// Size of the file as it is stored.
  uint64_t fileBytes() const { return file_ ? file_->getBufferSize() : bytes_.size(); }

private:
  struct Scratch;
  TraceReader();
  void readMetadata();
  std::optional<llvm::StringRef> nextMessage();

  std::unique_ptr<llvm::MemoryBuffer> file_;
  /// What is read, where that is not the file itself.
  std::unique_ptr<std::string> held_;
  llvm::StringRef bytes_;
  uint64_t position_ = 0;
  uint64_t messageStart_ = 0;
  Ending ending_ = Ending::Clean;
  bool badGzip_ = false;
  std::optional<DecodedMetadata> metadata_;
  std::unique_ptr<Scratch> scratch_;
};

} // namespace stg
