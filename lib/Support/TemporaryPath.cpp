//===- TemporaryPath.cpp - what output is before it appears -----------------===//
// The signal handler may use async-signal-safe calls only, so it knows the
// temporary paths from fixed buffers, and empties directories by the getdents64
// system call. Other threads may still be adding files while it does, therefore
// it tries again until the directory is gone.
//===----------------------------------------------------------------------===//

#include "TemporaryPath.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

namespace stg {

llvm::Error outputError(llvm::StringRef path, std::string what) {
  return llvm::make_error<OutputError>(path.str(), std::move(what));
}
llvm::Error systemError(llvm::StringRef path, int code) {
  return outputError(path, std::generic_category().message(code));
}

//===----------------------------------------------------------------------===//
// Temporary paths that a signal must remove
//===----------------------------------------------------------------------===//

namespace {

constexpr int kSlots = 16;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

/// Of a slot: whoever takes it from Held, the handler or who commits, has its path.
enum State : uint8_t { Free, Held, Removing };

struct Slot {
  std::atomic<uint8_t> state{Free};
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
  for (Slot &slot : slots) {
    uint8_t held = Held;
    if (slot.state.compare_exchange_strong(held, Removing))
      removeTree(AT_FDCWD, slot.path, kDepth);
  }
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

} // namespace

void protectFromSignals(llvm::StringRef path) {
  std::lock_guard lock(slotsMutex);
  installHandlers();
  for (Slot &slot : slots)
    if (slot.state == Free && path.size() < sizeof(slot.path)) {
      std::memcpy(slot.path, path.data(), path.size());
      slot.path[path.size()] = 0;
      slot.state = Held;
      return;
    }
}

void unprotect(llvm::StringRef path) {
  std::lock_guard lock(slotsMutex);
  for (Slot &slot : slots) {
    if (slot.state == Free || path != slot.path)
      continue;
    uint8_t held = Held;
    if (!slot.state.compare_exchange_strong(held, Free))
      waitIfDying(); // the handler was first
  }
}

void discard(const std::string &temporary) {
  removeTree(AT_FDCWD, temporary.c_str(), kDepth);
  unprotect(temporary);
}

void waitIfDying() {
  while (dying)
    pause(); // until the handler, in another thread, has ended the program
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

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

std::string temporaryName(llvm::StringRef folder, llvm::StringRef name, unsigned attempt) {
  llvm::SmallString<256> path(folder);
  llvm::sys::path::append(path, "." + name + ".partial-" + llvm::Twine(getpid()) + "-" + llvm::Twine(attempt));
  return std::string(path);
}

std::string temporaryName(llvm::StringRef target, unsigned attempt) {
  return temporaryName(llvm::sys::path::parent_path(target), llvm::sys::path::filename(target), attempt);
}

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

} // namespace stg
