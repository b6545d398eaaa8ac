//===- OutputDirectory.cpp - a directory that appears whole or not at all ---===//

#include "TemporaryPath.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>

namespace stg {
namespace {

/// The first file of an existing directory that `mayReplace` refuses, or nothing.
llvm::Expected<std::string> firstForeignFile(llvm::StringRef directory,
                                             llvm::function_ref<bool(llvm::StringRef)> mayReplace) {
  std::error_code error;
  std::string foreign;
  for (llvm::sys::fs::recursive_directory_iterator it(directory, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error)) {
    llvm::StringRef relative = llvm::StringRef(it->path()).drop_front(directory.size()).ltrim('/');
    if (it->type() == llvm::sys::fs::file_type::directory_file)
      continue;
    if (it->type() == llvm::sys::fs::file_type::regular_file && mayReplace(relative))
      continue;
    // The least, whatever order the file system gives them in.
    if (foreign.empty() || relative < foreign)
      foreign = relative.str();
  }
  if (error)
    return outputError(directory, error.message());
  return foreign;
}

bool isInside(llvm::StringRef path, llvm::StringRef directory) {
  return path == directory || directory == "/" || (path.starts_with(directory) && path[directory.size()] == '/');
}

} // namespace

llvm::Expected<OutputDirectory> OutputDirectory::create(llvm::StringRef path,
                                                        llvm::function_ref<bool(llvm::StringRef)> mayReplace) {
  llvm::Expected<std::string> target = resolved(path);
  if (!target)
    return target.takeError();
  struct stat status;
  if (stat(target->c_str(), &status) == 0) {
    if (!S_ISDIR(status.st_mode))
      return outputError(path, "it exists and is not a directory");
    llvm::SmallString<256> current;
    llvm::sys::fs::current_path(current);
    if (isInside(current, *target))
      return outputError(path, "it is, or holds, the current directory, which cannot be replaced as a whole; name a "
                               "directory below it");
    llvm::Expected<std::string> foreign = firstForeignFile(*target, mayReplace);
    if (!foreign)
      return foreign.takeError();
    if (!foreign->empty())
      return outputError(path, "it exists and holds `" + *foreign +
                                   "`, which is no earlier output; remove it, or name another directory");
  }

  OutputDirectory result;
  result.target_ = *target;
  if (llvm::Error error = result.makeTemporary(llvm::sys::path::parent_path(*target)))
    return error;
  return result;
}

llvm::Expected<OutputDirectory> OutputDirectory::createSlice(llvm::StringRef path) {
  llvm::Expected<std::string> target = resolved(path);
  if (!target)
    return target.takeError();
  struct stat status;
  if (stat(target->c_str(), &status) == 0 && !S_ISDIR(status.st_mode))
    return outputError(path, "it exists and is not a directory");
  OutputDirectory result;
  result.target_ = *target;
  result.isSlice_ = true;
  // Inside, where a rename stays on one file system even if something is mounted there.
  if (llvm::Error error = result.makeTemporary(*target))
    return error;
  return result;
}

llvm::Error OutputDirectory::makeTemporary(llvm::StringRef folder) {
  llvm::StringRef name = isSlice_ ? llvm::StringRef("slice") : llvm::sys::path::filename(target_);
  int code = EEXIST;
  for (unsigned attempt = 0; attempt < kNameAttempts && (code == EEXIST || code == ENOENT); ++attempt) {
    std::string path = temporaryName(folder, name, attempt);
    // Again and again: another slice that fails takes the directory back as long as it is empty.
    if (llvm::Error error = makeParents(path, madeParents_)) {
      removeParents(madeParents_);
      return error;
    }
    // Known to the handler before it exists, so that no signal falls in between; a name taken by another is let go.
    struct stat taken;
    if (lstat(path.c_str(), &taken) == 0)
      continue;
    protectFromSignals(path);
    if (mkdir(path.c_str(), 0777) == 0) {
      temporary_ = path;
      return llvm::Error::success();
    }
    code = errno;
    unprotect(path);
  }
  removeParents(madeParents_);
  return systemError(target_, code);
}

OutputDirectory::OutputDirectory(OutputDirectory &&other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)),
      madeParents_(std::move(other.madeParents_)), isSlice_(other.isSlice_) {
  other.temporary_.clear();
}

OutputDirectory::~OutputDirectory() {
  if (temporary_.empty())
    return;
  discard(temporary_);
  removeParents(madeParents_);
}

/// Those that a name asks for, one by one, and never the temporary directory itself: a signal's handler may have
/// removed that while this thread still writes. 0 or the error of the system.
int OutputDirectory::makeFolders(llvm::StringRef name) const {
  for (size_t slash = name.find('/'); slash != llvm::StringRef::npos; slash = name.find('/', slash + 1)) {
    std::string folder = temporary_ + "/" + name.take_front(slash).str();
    if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
      return errno;
  }
  return 0;
}

llvm::Error OutputDirectory::writeFile(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> pieces) const {
  std::string path = temporary_ + "/" + name.str();
  int error = writeNewFile(path.c_str(), pieces);
  if (error == ENOENT && name.contains('/')) {
    error = makeFolders(name);
    if (error == 0)
      error = writeNewFile(path.c_str(), pieces);
  }
  return finishWriting(name, error);
}

llvm::Error OutputDirectory::appendFile(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> pieces) const {
  std::string path = temporary_ + "/" + name.str();
  int descriptor = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  if (descriptor < 0)
    return finishWriting(name, errno);
  int error = writeAll(descriptor, pieces);
  if (close(descriptor) != 0 && error == 0)
    error = errno;
  return finishWriting(name, error);
}

llvm::Error OutputDirectory::finishWriting(llvm::StringRef name, int error) const {
  waitIfDying();
  return error == 0 ? llvm::Error::success() : systemError(target_ + "/" + name.str(), error);
}

bool OutputDirectory::linkFile(llvm::StringRef existing, llvm::StringRef name) const {
  std::string from = temporary_ + "/" + existing.str(), to = temporary_ + "/" + name.str();
  if (link(from.c_str(), to.c_str()) == 0)
    return true;
  return errno == ENOENT && makeFolders(name) == 0 && link(from.c_str(), to.c_str()) == 0;
}

llvm::Error OutputDirectory::error(std::string reason) const { return outputError(target_, std::move(reason)); }

std::optional<FreeSpace> OutputDirectory::freeSpace() const {
  // Where the system compresses, a file takes less than its bytes.
  constexpr decltype(statfs::f_type) kBtrfs = 0x9123683e, kZfs = 0x2fc12fc1;
  struct statfs status;
  if (statfs(temporary_.c_str(), &status) != 0 || status.f_blocks == 0 || status.f_type == kBtrfs ||
      status.f_type == kZfs)
    return std::nullopt;
  uint64_t blocks = geteuid() == 0 ? status.f_bfree : status.f_bavail;
  auto blockBytes = static_cast<uint64_t>(status.f_bsize);
  return FreeSpace{.bytes = blocks * blockBytes, .blockBytes = blockBytes};
}

llvm::Error OutputDirectory::sync() const {
  int descriptor = open(temporary_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  int error = descriptor < 0 || syncfs(descriptor) != 0 ? errno : 0;
  if (descriptor >= 0)
    close(descriptor);
  return finishWriting("", error);
}

llvm::Error OutputDirectory::moveFiles(const std::string &folder) const {
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(temporary_ + folder, error, /*follow_symlinks=*/false), end;
       it != end && !error; it.increment(error)) {
    std::string name = folder + "/" + llvm::sys::path::filename(it->path()).str(), to = target_ + name;
    if (it->type() == llvm::sys::fs::file_type::directory_file) {
      if (mkdir(to.c_str(), 0777) != 0 && errno != EEXIST)
        return systemError(to, errno);
      if (llvm::Error failure = moveFiles(name))
        return failure;
    } else if (rename(it->path().c_str(), to.c_str()) != 0) {
      return systemError(to, errno);
    }
  }
  return error ? outputError(target_, error.message()) : llvm::Error::success();
}

llvm::Error OutputDirectory::commit() {
  if (isSlice_) {
    if (llvm::Error error = moveFiles(""))
      return error;
    discard(temporary_);
    temporary_.clear();
    return llvm::Error::success();
  }
  // Over nothing or an empty directory a plain rename is enough; over a full one the two names are exchanged, and what
  // was there before is removed under the temporary name.
  unprotect(temporary_);
  if (rename(temporary_.c_str(), target_.c_str()) == 0) {
    temporary_.clear();
    return llvm::Error::success();
  }
  if (errno != ENOTEMPTY && errno != EEXIST)
    return systemError(target_, errno);
  if (renameat2(AT_FDCWD, temporary_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS)
      return systemError(target_, errno);
    // A file system that cannot exchange: for a moment there is no directory, but never half of one.
    std::string old = temporary_ + ".old";
    protectFromSignals(old);
    if (rename(target_.c_str(), old.c_str()) != 0 || rename(temporary_.c_str(), target_.c_str()) != 0) {
      int code = errno;
      unprotect(old);
      rename(old.c_str(), target_.c_str());
      return systemError(target_, code);
    }
    temporary_ = old;
  } else {
    protectFromSignals(temporary_);
  }
  discard(temporary_);
  temporary_.clear();
  return llvm::Error::success();
}

} // namespace stg
