//===- TraceWriter.h - a directory of Chakra files -------------------------===//
// Writes `<prefix>.<rank>.et` for every rank and, where groups are used, the group
// file. The directory appears whole or not at all (Support/AtomicOutput.h). Ranks
// that run the same program share one encoded image: it is encoded once and
// written once per rank behind that rank's metadata.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Chakra/Encoder.h"
#include "stg/Support/AtomicOutput.h"

namespace stg {

/// Name of the group file in a trace directory. ASTRA-sim takes a path that contains "empty" for "no groups".
inline constexpr llvm::StringLiteral kGroupFileName = "comm_groups.json";

class TraceWriter {
public:
  /// Starts a directory at `path`. `prefix` is the first part of the file names.
  static llvm::Expected<TraceWriter> create(llvm::StringRef path, llvm::StringRef prefix);

  /// What follows goes into `folder` below the directory (empty: the directory itself), under another prefix.
  void select(llvm::StringRef folder, llvm::StringRef prefix) {
    folder_ = folder.empty() ? "" : folder.str() + "/";
    prefix_ = prefix.str();
  }

  /// Writes one rank's file: its metadata, then `nodes`, an image that may be shared by many ranks.
  llvm::Error writeRank(const TraceMetadata &metadata, llvm::StringRef nodes) const;

  /// Writes the group file: only groups that the traces use. Not called where there are none.
  llvm::Error writeGroups(llvm::ArrayRef<TraceGroup> groups, unsigned groupDigits) const;

  /// Another file of the same output: a report, the network description.
  llvm::Error writeFile(llvm::StringRef name, llvm::StringRef contents) const {
    return directory_.writeFile(folder_ + name.str(), contents);
  }

  llvm::Error commit() { return directory_.commit(); }

private:
  TraceWriter(OutputDirectory directory, llvm::StringRef prefix) : directory_(std::move(directory)), prefix_(prefix) {}
  OutputDirectory directory_;
  std::string folder_, prefix_;
};

/// The contents of the group file: by id, with the same padding as in the traces.
std::string groupFileText(llvm::ArrayRef<TraceGroup> groups, unsigned groupDigits);

} // namespace stg
