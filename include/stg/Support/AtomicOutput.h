//===- AtomicOutput.h - output that appears whole or not at all -----------===//
// Files and directories are written under a temporary name beside their target
// and renamed when they are complete. What is not committed is removed: by the
// destructor on an early return, and by a signal handler when SIGINT, SIGTERM or
// SIGHUP ends the process, which then still dies of that signal.
//
// Every error names the path and what the system said; it is a fault of the
// environment (exit status 3), never of the program.
//===----------------------------------------------------------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stg {

/// The environment failed: disk full, no permission, a name that cannot be written.
class OutputError : public llvm::ErrorInfo<OutputError> {
public:
  static char ID;
  OutputError(std::string path, std::string what) : path_(std::move(path)), what_(std::move(what)) {}
  const std::string &path() const { return path_; }
  const std::string &what() const { return what_; }
  void log(llvm::raw_ostream &os) const override;
  std::error_code convertToErrorCode() const override;

private:
  std::string path_, what_;
};

/// What a file system has left.
struct FreeSpace {
  uint64_t bytes = 0;
  /// A file takes a multiple of it.
  uint64_t blockBytes = 1;
};

/// A directory of files that appears under its name at commit(). An existing directory is replaced as a whole, but only
/// if everything in it is accepted by `mayReplace`, so that a mistyped `-o` destroys nothing.
class OutputDirectory {
public:
  /// `mayReplace` is asked for the path, relative to `path`, of every file that an existing directory holds.
  static llvm::Expected<OutputDirectory> create(llvm::StringRef path,
                                                llvm::function_ref<bool(llvm::StringRef)> mayReplace);
  /// A part of a directory that several processes write at once: at commit() each file appears, and what else is there
  /// stays. Files of the same name are replaced one by one.
  static llvm::Expected<OutputDirectory> createSlice(llvm::StringRef path);
  OutputDirectory(OutputDirectory &&other) noexcept;
  OutputDirectory &operator=(OutputDirectory &&) = delete;
  ~OutputDirectory();

  /// Writes one file, the pieces one after the other. `name` may have directories, which are made. May be called from
  /// several threads for different names.
  llvm::Error writeFile(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> pieces) const;

  /// The same at the end of a file that was written.
  llvm::Error appendFile(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> pieces) const;

  /// Gives a file that was written another name; false if the file system has no links, or no more of them.
  bool linkFile(llvm::StringRef existing, llvm::StringRef name) const;

  /// That the directory cannot be written, for a reason that the caller has found.
  llvm::Error error(std::string reason) const;

  /// Nothing where the system does not say, or compresses.
  std::optional<FreeSpace> freeSpace() const;

  /// Waits until everything that was written is on the disk, and all else that waits for the same file system.
  llvm::Error sync() const;

  /// Makes the directory appear. Nothing else may be called afterwards.
  llvm::Error commit();

private:
  OutputDirectory() = default;
  llvm::Error makeTemporary(llvm::StringRef folder);
  int makeFolders(llvm::StringRef name) const;
  llvm::Error finishWriting(llvm::StringRef name, int error) const;
  llvm::Error moveFiles(const std::string &folder) const;
  std::string target_, temporary_;
  /// Directories that create() had to make, outermost first; removed again if nothing is committed.
  std::vector<std::string> madeParents_;
  bool isSlice_ = false;
};

/// A file that is written piece by piece and appears under its name at commit(), when it is on the disk. An existing
/// regular file is replaced.
class OutputFile {
public:
  static llvm::Expected<OutputFile> create(llvm::StringRef path);
  OutputFile(OutputFile &&other) noexcept;
  OutputFile &operator=(OutputFile &&) = delete;
  ~OutputFile();

  llvm::Error write(llvm::ArrayRef<llvm::StringRef> pieces);
  /// Bytes written so far.
  uint64_t size() const { return size_; }
  /// Nothing else may be called afterwards.
  llvm::Error commit();

private:
  OutputFile() = default;
  std::string target_, temporary_;
  int descriptor_ = -1;
  uint64_t size_ = 0;
};

/// Writes one file atomically; the pieces one after the other. `-` is the standard output, and a target that exists and
/// is no regular file (a pipe, a device) is written in place.
llvm::Error writeOutputFile(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> pieces);

} // namespace stg
