//===- AtomicOutput.cpp - output that appears whole or not at all ---------===//
// The signal handler may use async-signal-safe calls only, so it knows the
// temporary paths from fixed buffers, and empties directories by the getdents64
// system call. Other threads may still be adding files while it does, therefore
// it tries again until the directory is gone.
//===----------------------------------------------------------------------===//

#include "stg/Support/AtomicOutput.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <utility>

namespace stg {

char OutputError::ID = 0;
void OutputError::log(llvm::raw_ostream &os) const { os << "cannot write `" << path_ << "`: " << what_; }
std::error_code OutputError::convertToErrorCode() const { return std::make_error_code(std::errc::io_error); }

namespace {

llvm::Error outputError(llvm::StringRef path, std::string what) {
  return llvm::make_error<OutputError>(path.str(), std::move(what));
}
llvm::Error systemError(llvm::StringRef path, int code) {
  return outputError(path, std::generic_category().message(code));
}

//===----------------------------------------------------------------------===//
// Temporary paths that a signal must remove
//===----------------------------------------------------------------------===//

constexpr int kSlots = 16;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

struct Slot {
  std::atomic<bool> used{false};
  char path[PATH_MAX];
};
Slot slots[kSlots];
std::mutex slotsMutex;
bool handlersInstalled = false;
struct sigaction previousActions[std::size(kSignals)];

/// Removes a file or a directory with all it holds. Async-signal-safe; at most `depth` levels of directories.
void removeTree(int parent, const char *name, int depth) {
  if (unlinkat(parent, name, 0) == 0 || depth == 0)
    return;
  int directory = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (directory < 0)
    return;
  // Linux's directory entry: inode, offset, length of the entry, type, name.
  struct Entry {
    uint64_t inode;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
  };
  alignas(Entry) char buffer[4096];
  for (int attempt = 0; attempt < 100'000; ++attempt) {
    lseek(directory, 0, SEEK_SET);
    long bytes;
    while ((bytes = syscall(SYS_getdents64, directory, buffer, sizeof(buffer))) > 0)
      for (long at = 0; at < bytes;) {
        auto *entry = reinterpret_cast<Entry *>(buffer + at);
        if (std::strcmp(entry->name, ".") != 0 && std::strcmp(entry->name, "..") != 0)
          removeTree(directory, entry->name, depth - 1);
        at += entry->length;
      }
    if (unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno != ENOTEMPTY)
      break;
  }
  close(directory);
}

constexpr int kDepth = 16;

/// A handler is taking the output back; whoever cannot write because of that need not say so.
std::atomic<bool> dying{false};

void onSignal(int signal) {
  dying = true;
  for (Slot &slot : slots)
    if (slot.used.load(std::memory_order_acquire))
      removeTree(AT_FDCWD, slot.path, kDepth);
  // Die of the same signal, as a shell expects.
  for (size_t i = 0; i < std::size(kSignals); ++i)
    if (kSignals[i] == signal)
      sigaction(signal, &previousActions[i], nullptr);
  raise(signal);
}

void installHandlers() {
  if (handlersInstalled)
    return;
  handlersInstalled = true;
  struct sigaction action = {};
  action.sa_handler = onSignal;
  sigfillset(&action.sa_mask);
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &previousActions[i]);
    // What the caller ignores (SIGHUP under nohup) stays ignored.
    if (previousActions[i].sa_handler != SIG_IGN)
      sigaction(kSignals[i], &action, nullptr);
  }
}

void protectFromSignals(llvm::StringRef path) {
  std::lock_guard lock(slotsMutex);
  installHandlers();
  for (Slot &slot : slots)
    if (!slot.used && path.size() < sizeof(slot.path)) {
      std::memcpy(slot.path, path.data(), path.size());
      slot.path[path.size()] = 0;
      slot.used.store(true, std::memory_order_release);
      return;
    }
}

void unprotect(llvm::StringRef path) {
  std::lock_guard lock(slotsMutex);
  for (Slot &slot : slots)
    if (slot.used && path == slot.path)
      slot.used = false;
}

void discard(const std::string &temporary) {
  removeTree(AT_FDCWD, temporary.c_str(), kDepth);
  unprotect(temporary);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Writes all pieces to a descriptor; 0 or the error of the system.
int writeAll(int descriptor, llvm::ArrayRef<llvm::StringRef> pieces) {
  for (llvm::StringRef piece : pieces)
    while (!piece.empty()) {
      // The kernel takes at most 2 GiB at once.
      ssize_t written = write(descriptor, piece.data(), std::min<size_t>(piece.size(), 1u << 30));
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        return errno;
      piece = piece.drop_front(written);
    }
  return 0;
}

/// Writes a new file. Small pieces go in one call, for the sake of 100,000 small files.
int writeNewFile(const char *path, llvm::ArrayRef<llvm::StringRef> pieces) {
  int descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errno;
  size_t total = 0;
  for (llvm::StringRef piece : pieces)
    total += piece.size();
  int error = 0;
  constexpr size_t kOneCall = 1 << 20;
  if (pieces.size() <= 16 && total <= kOneCall) {
    struct iovec vectors[16];
    for (size_t i = 0; i < pieces.size(); ++i)
      vectors[i] = {const_cast<char *>(pieces[i].data()), pieces[i].size()};
    ssize_t written = writev(descriptor, vectors, static_cast<int>(pieces.size()));
    if (written < 0)
      error = errno;
    else if (static_cast<size_t>(written) != total)
      error = ENOSPC; // A regular file takes less only when the disk is full or a quota is reached.
  } else {
    error = writeAll(descriptor, pieces);
  }
  // Network file systems report a full disk here.
  if (close(descriptor) != 0 && error == 0)
    error = errno;
  return error;
}

/// A name beside `target` that nothing has yet.
std::string temporaryName(llvm::StringRef target, unsigned attempt) {
  llvm::SmallString<256> path(llvm::sys::path::parent_path(target));
  llvm::sys::path::append(path, "." + llvm::sys::path::filename(target) + ".partial-" + llvm::Twine(getpid()) + "-" +
                                    llvm::Twine(attempt));
  return std::string(path);
}

constexpr unsigned kNameAttempts = 1000;

/// Absolute path with links resolved as far as it exists, no `.` or `..` and no slash at the end.
llvm::Expected<std::string> resolved(llvm::StringRef path) {
  llvm::SmallString<256> absolute(path);
  if (std::error_code error = llvm::sys::fs::make_absolute(absolute))
    return outputError(path, error.message());
  char buffer[PATH_MAX];
  if (realpath(absolute.c_str(), buffer))
    return std::string(buffer);
  llvm::sys::path::remove_dots(absolute, /*remove_dot_dot=*/true);
  while (absolute.size() > 1 && llvm::sys::path::is_separator(absolute.back()))
    absolute.pop_back();
  return std::string(absolute);
}

/// Makes the missing parents of `path` and notes them, outermost first.
llvm::Error makeParents(llvm::StringRef path, std::vector<std::string> &made) {
  llvm::StringRef parent = llvm::sys::path::parent_path(path);
  if (parent.empty() || llvm::sys::fs::exists(parent))
    return llvm::Error::success();
  if (llvm::Error error = makeParents(parent, made))
    return error;
  std::string name = parent.str();
  if (mkdir(name.c_str(), 0777) == 0)
    made.push_back(name);
  else if (errno != EEXIST)
    return systemError(parent, errno);
  return llvm::Error::success();
}

void removeParents(const std::vector<std::string> &made) {
  for (auto it = made.rbegin(); it != made.rend(); ++it)
    rmdir(it->c_str());
}

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

//===----------------------------------------------------------------------===//
// OutputDirectory
//===----------------------------------------------------------------------===//

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
  if (llvm::Error error = makeParents(*target, result.madeParents_)) {
    removeParents(result.madeParents_);
    return error;
  }
  for (unsigned attempt = 0; attempt < kNameAttempts; ++attempt) {
    result.temporary_ = temporaryName(*target, attempt);
    // Known to the handler before it exists, so that no signal falls in between; a name taken by another is let go.
    struct stat taken;
    if (lstat(result.temporary_.c_str(), &taken) == 0)
      continue;
    protectFromSignals(result.temporary_);
    if (mkdir(result.temporary_.c_str(), 0777) == 0)
      return result;
    int code = errno;
    unprotect(result.temporary_);
    if (code != EEXIST) {
      result.temporary_.clear();
      removeParents(result.madeParents_);
      return systemError(path, code);
    }
  }
  result.temporary_.clear();
  removeParents(result.madeParents_);
  return systemError(path, EEXIST);
}

OutputDirectory::OutputDirectory(OutputDirectory &&other) noexcept
    : target_(std::move(other.target_)), temporary_(std::move(other.temporary_)),
      madeParents_(std::move(other.madeParents_)) {
  other.temporary_.clear();
}

OutputDirectory::~OutputDirectory() {
  if (temporary_.empty())
    return;
  discard(temporary_);
  removeParents(madeParents_);
}

llvm::Error OutputDirectory::writeFile(llvm::StringRef name, llvm::ArrayRef<llvm::StringRef> pieces) const {
  std::string path = temporary_ + "/" + name.str();
  int error = writeNewFile(path.c_str(), pieces);
  // Folders that the name asks for are made one by one, and never the temporary directory itself: a signal's handler
  // may have removed that while this thread still writes.
  if (error == ENOENT && name.contains('/')) {
    for (size_t slash = name.find('/'); slash != llvm::StringRef::npos; slash = name.find('/', slash + 1)) {
      std::string folder = temporary_ + "/" + name.take_front(slash).str();
      if (mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST)
        return systemError(target_ + "/" + name.str(), errno);
    }
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
  while (error != 0 && dying)
    pause(); // until the handler, in another thread, has ended the program
  return error == 0 ? llvm::Error::success() : systemError(target_ + "/" + name.str(), error);
}

llvm::Error OutputDirectory::commit() {
  // Over nothing or an empty directory a plain rename is enough; over a full one the two names are exchanged, and what
  // was there before is removed under the temporary name.
  if (rename(temporary_.c_str(), target_.c_str()) == 0) {
    unprotect(temporary_);
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
    unprotect(temporary_);
    temporary_ = old;
  }
  discard(temporary_);
  temporary_.clear();
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// One file
//===----------------------------------------------------------------------===//

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
  if (int error = writeAll(descriptor_, pieces)) {
    while (dying)
      pause();
    return systemError(target_, error);
  }
  for (llvm::StringRef piece : pieces)
    size_ += piece.size();
  return llvm::Error::success();
}

llvm::Error OutputFile::commit() {
  // A full disk may be known only here.
  if (fsync(descriptor_) != 0 || close(std::exchange(descriptor_, -1)) != 0 ||
      rename(temporary_.c_str(), target_.c_str()) != 0)
    return systemError(target_, errno);
  unprotect(temporary_);
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
    if (error == 0 && rename(temporary.c_str(), target->c_str()) != 0)
      error = errno;
    if (error == 0) {
      unprotect(temporary);
      return llvm::Error::success();
    }
    if (error == EEXIST) {
      unprotect(temporary);
      continue;
    }
    discard(temporary);
    return systemError(path, error);
  }
  return systemError(path, EEXIST);
}

} // namespace stg
