//===- AtomicOutput.cpp - output that appears whole or not at all ---------===//

#include "TemporaryPath.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace stg {

char OutputError::ID = 0;
void OutputError::log(llvm::raw_ostream &os) const { os << "cannot write `" << path_ << "`: " << what_; }
std::error_code OutputError::convertToErrorCode() const { return std::make_error_code(std::errc::io_error); }

llvm::Expected<OutputFile> OutputFile::create(llvm::StringRef path) {
  llvm::Expected<std::string> target = resolved(path);
  if (!target)
    return target.takeError();
  struct stat status;
  if (stat(target->c_str(), &status) == 0 && !S_ISREG(status.st_mode))
    return outputError(path, S_ISDIR(status.st_mode) ? "it is a directory" : "it exists and is no regular file");
  OutputFile file;
  file.target_ = *target;
  for (unsigned attempt = 0; attempt < kNameAttempts; ++attempt) {
    file.temporary_ = temporaryName(*target, attempt);
    struct stat taken;
    if (lstat(file.temporary_.c_str(), &taken) == 0)
      continue;
    protectFromSignals(file.temporary_);
    file.descriptor_ = open(file.temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file.descriptor_ >= 0)
      return file;
    int code = errno;
    unprotect(file.temporary_);
    if (code != EEXIST) {
      file.temporary_.clear();
      return systemError(path, code);
    }
  }
  file.temporary_.clear();
  return systemError(path, EEXIST);
}

OutputFile::OutputFile(OutputFile &&other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {
  other.temporary_.clear();
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0)
    close(descriptor_);
  if (!temporary_.empty())
    discard(temporary_);
}

llvm::Error OutputFile::write(llvm::ArrayRef<llvm::StringRef> pieces) {
  int error = writeAll(descriptor_, pieces);
  waitIfDying();
  if (error != 0)
    return systemError(target_, error);
  for (llvm::StringRef piece : pieces)
    size_ += piece.size();
  return llvm::Error::success();
}

llvm::Error OutputFile::commit() {
  // A full disk may be known only here.
  if (fsync(descriptor_) != 0 || close(std::exchange(descriptor_, -1)) != 0)
    return systemError(target_, errno);
  unprotect(temporary_);
  if (rename(temporary_.c_str(), target_.c_str()) != 0)
    return systemError(target_, errno);
  temporary_.clear();
  return llvm::Error::success();
}

llvm::Error writeOutputFile(llvm::StringRef path, llvm::ArrayRef<llvm::StringRef> pieces) {
  if (path == "-") {
    int error = writeAll(STDOUT_FILENO, pieces);
    return error == 0 ? llvm::Error::success() : systemError("standard output", error);
  }
  llvm::Expected<std::string> target = resolved(path);
  if (!target)
    return target.takeError();
  struct stat status;
  if (stat(target->c_str(), &status) == 0 && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode))
      return systemError(path, EISDIR);
    int descriptor = open(target->c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor < 0)
      return systemError(path, errno);
    int error = writeAll(descriptor, pieces);
    if (close(descriptor) != 0 && error == 0)
      error = errno;
    return error == 0 ? llvm::Error::success() : systemError(path, error);
  }
  for (unsigned attempt = 0; attempt < kNameAttempts; ++attempt) {
    std::string temporary = temporaryName(*target, attempt);
    struct stat taken;
    if (lstat(temporary.c_str(), &taken) == 0)
      continue;
    protectFromSignals(temporary);
    int error = writeNewFile(temporary.c_str(), pieces);
    if (error == EEXIST) {
      unprotect(temporary);
      continue;
    }
    if (error == 0) {
      unprotect(temporary);
      if (rename(temporary.c_str(), target->c_str()) == 0)
        return llvm::Error::success();
      error = errno;
    }
    discard(temporary);
    return systemError(path, error);
  }
  return systemError(path, EEXIST);
}

} // namespace stg
