//===- SourceManager.h - source files, offsets, lines and columns ---------===//
#ifndef STG_SUPPORT_SOURCEMANAGER_H
#define STG_SUPPORT_SOURCEMANAGER_H

#include "stg/Support/Ids.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace stg {

/// A file known to a `SourceManager`, numbered in the order of first mention.
using FileId = Id<struct FileTag>;

/// Bytes [begin, end) of a file. `begin == end` is a place between two bytes. Without a valid file: no place at all.
struct SourceRange {
  FileId file;
  uint32_t begin = 0;
  uint32_t end = 0;

  bool valid() const { return file.valid(); }

  /// The place just before / just behind the range.
  SourceRange start() const { return {file, begin, begin}; }
  SourceRange finish() const { return {file, end, end}; }

  /// From the start of this range to the end of `last`, which lies in the same file.
  SourceRange upTo(SourceRange last) const { return {file, begin, last.end}; }

  friend bool operator==(const SourceRange &, const SourceRange &) = default;
};

/// A place as people count: both from 1; columns are code points (a tab is one).
struct LineColumn {
  uint32_t line = 1;
  uint32_t column = 1;

  friend bool operator==(const LineColumn &, const LineColumn &) = default;
};

enum class LoadStatus { Loaded, Unreadable, NotUtf8 };

struct LoadResult {
  LoadStatus status = LoadStatus::Loaded;
  /// Valid iff loaded.
  FileId file;
  /// Unreadable: the system's reason, e.g. "No such file or directory".
  std::string reason;
  /// NotUtf8: offset of the first byte that starts no valid character.
  uint64_t badByte = 0;
};

/// Owns the text of every source file of a run. Paths and texts stay where they are as long as the manager lives.
class SourceManager {
public:
  SourceManager() = default;
  SourceManager(const SourceManager &) = delete;
  SourceManager &operator=(const SourceManager &) = delete;

  /// Adds the file at `path` as it is on disk. A path that was added before gives the same id and is not read again.
  /// Reports nothing itself: `reportLoadFailure` (Diagnostics.h) turns a failure into a diagnostic.
  LoadResult addFile(llvm::StringRef path);

  /// Adds a text that is not (or not yet) on disk under the name `path`; `text` must be UTF-8.
  FileId addBuffer(llvm::StringRef path, std::string text);

  llvm::StringRef path(FileId file) const { return files_[file.index].path; }
  llvm::StringRef text(FileId file) const { return files_[file.index].text; }
  llvm::StringRef text(SourceRange range) const { return text(range.file).slice(range.begin, range.end); }
  /// What a trace calls the file: the name given by setName (a library file: `std/ffn.stg`), else the path's last
  /// component. Does not depend on the folder in which a tool is run or installed.
  llvm::StringRef name(FileId file) const;
  void setName(FileId file, llvm::StringRef name) { files_[file.index].name = name.str(); }
  std::optional<FileId> find(llvm::StringRef path) const;
  size_t numFiles() const { return files_.size(); }

  /// Line (from 1) that holds byte `offset`; the end of the text belongs to the last line.
  uint32_t lineOf(FileId file, uint32_t offset) const;
  LineColumn lineColumn(FileId file, uint32_t offset) const;
  /// Byte offset of a place; a column behind the end of its line gives the end of that line.
  uint32_t offsetOf(FileId file, LineColumn place) const;

  uint32_t numLines(FileId file) const { return static_cast<uint32_t>(files_[file.index].lineStarts.size()); }
  uint32_t lineStart(FileId file, uint32_t line) const { return files_[file.index].lineStarts[line - 1]; }
  /// The line without its line break.
  llvm::StringRef lineText(FileId file, uint32_t line) const;

  /// `path:line:column` of the start of `range`.
  std::string describe(SourceRange range) const;

private:
  struct File {
    std::string path;
    std::string name;
    std::string text;
    std::vector<uint32_t> lineStarts;
  };

  std::deque<File> files_;
};

/// Offset of the first byte of `text` that starts no valid UTF-8 character, if there is one.
std::optional<size_t> firstInvalidUtf8(llvm::StringRef text);

} // namespace stg

#endif
