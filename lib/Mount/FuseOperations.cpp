//===- FuseOperations.cpp - answers to the kernel's requests ----------------===//
// The content never changes, so the kernel may keep names, attributes and pages for as long as it likes, and needs not
// tell us when it forgets: an inode is a number of the MountTree and holds nothing.
//===----------------------------------------------------------------------===//

#include "FuseOperations.h"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace stg {
namespace {

/// A year.
constexpr double kKeptSeconds = 365 * 86400.0;
constexpr unsigned kBlockBytes = 4096;

const MountedBundle &mounted(fuse_req_t request) {
  return *static_cast<const MountedBundle *>(fuse_req_userdata(request));
}

struct stat attributesOf(const MountEntry &entry, const MountedBundle &from) {
  bool folder = entry.kind == MountEntry::Kind::Folder;
  struct stat attributes = {};
  attributes.st_ino = entry.number;
  attributes.st_mode = folder ? S_IFDIR | 0755 : S_IFREG | 0644;
  attributes.st_nlink = folder ? 2 : 1;
  attributes.st_uid = getuid();
  attributes.st_gid = getgid();
  attributes.st_size = static_cast<off_t>(entry.bytes);
  attributes.st_blksize = kBlockBytes;
  attributes.st_blocks = static_cast<blkcnt_t>((entry.bytes + 511) / 512);
  attributes.st_atim = attributes.st_mtim = attributes.st_ctim = from.facts.st_mtim;
  return attributes;
}

fuse_entry_param parameterOf(const MountEntry &entry, const MountedBundle &from) {
  return {.ino = entry.number,
          .generation = 1,
          .attr = attributesOf(entry, from),
          .attr_timeout = kKeptSeconds,
          .entry_timeout = kKeptSeconds};
}

void start(void *, fuse_conn_info *connection) {
  // Who lists a folder of ranks mostly wants their sizes too: attributes in the same answer cost nothing here.
  connection->want &= ~FUSE_CAP_READDIRPLUS_AUTO;
  // Reads ahead of many readers at once are not held back.
  connection->max_background = 64;
  connection->congestion_threshold = 48;
}

void lookUp(fuse_req_t request, fuse_ino_t folder, const char *name) {
  const MountedBundle &from = mounted(request);
  std::optional<MountEntry> entry = from.tree.find(folder, name);
  // Number 0: the kernel may remember that there is nothing of this name.
  fuse_entry_param answer = entry ? parameterOf(*entry, from) : fuse_entry_param{.entry_timeout = kKeptSeconds};
  fuse_reply_entry(request, &answer);
}

void getAttributes(fuse_req_t request, fuse_ino_t number, fuse_file_info *) {
  const MountedBundle &from = mounted(request);
  std::optional<MountEntry> entry = from.tree.at(number);
  if (!entry) {
    fuse_reply_err(request, ENOENT);
    return;
  }
  struct stat attributes = attributesOf(*entry, from);
  fuse_reply_attr(request, &attributes, kKeptSeconds);
}

void open(fuse_req_t request, fuse_ino_t, fuse_file_info *info) {
  if (info->flags & O_TRUNC) {
    fuse_reply_err(request, EROFS);
    return;
  }
  info->keep_cache = 1;
  info->noflush = 1;
  // A shared mapping that may be written would show what was written to it; the kernel refuses one of a file without
  // cached pages. Files opened for appending keep the cache, for those who only read them.
  info->direct_io = (info->flags & O_ACCMODE) != O_RDONLY && !(info->flags & O_APPEND);
  fuse_reply_open(request, info);
}

void openFolder(fuse_req_t request, fuse_ino_t, fuse_file_info *info) {
  info->keep_cache = 1;
  info->cache_readdir = 1;
  fuse_reply_open(request, info);
}

/// Copies a piece of a rank's file; the error number if it cannot be had.
int readRank(const MountedBundle &from, const MountEntry &entry, uint64_t offset, std::span<char> into, size_t &count) {
  // The pages of a mapped file behind its end kill who reads them.
  struct stat now = {};
  if (fstat(from.file, &now) != 0 || now.st_size < from.facts.st_size) {
    from.log.sayOnce(from.path + ": cut short since it was mounted");
    return EIO;
  }
  bundle::BundleError error;
  std::optional<size_t> read = from.bundle.read(*entry.trace, entry.rank, offset, into, error);
  if (!read) {
    from.log.sayOnce(error.what);
    return EIO;
  }
  count = *read;
  return 0;
}

void read(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, fuse_file_info *) {
  const MountedBundle &from = mounted(request);
  std::optional<MountEntry> entry = from.tree.at(number);
  if (!entry || entry->kind == MountEntry::Kind::Folder) {
    fuse_reply_err(request, EISDIR);
    return;
  }
  auto start = static_cast<uint64_t>(offset);
  if (start >= entry->bytes) {
    fuse_reply_buf(request, nullptr, 0);
    return;
  }
  size_t count = static_cast<size_t>(std::min<uint64_t>(size, entry->bytes - start));
  if (entry->kind == MountEntry::Kind::GroupFile) {
    fuse_reply_buf(request, from.tree.groupText(*entry->trace).data() + start, count);
    return;
  }
  thread_local std::vector<char> buffer;
  if (buffer.size() < count)
    buffer.resize(count);
  if (int fault = readRank(from, *entry, start, std::span(buffer).first(count), count))
    fuse_reply_err(request, fault);
  else
    fuse_reply_buf(request, buffer.data(), count);
}

/// Whether the kernel asks for attributes with the names.
enum class Listing { Names, NamesAndAttributes };

/// Offset n is the n-th entry: `.` and `..` are the first two.
template <Listing listing>
void listFolder(fuse_req_t request, fuse_ino_t folder, size_t size, off_t offset, fuse_file_info *) {
  const MountedBundle &from = mounted(request);
  std::vector<char> text(size);
  size_t used = 0;
  for (auto index = static_cast<uint64_t>(offset);; ++index) {
    std::optional<MountEntry> entry =
        index < 2 ? from.tree.at(index == 0 ? folder : from.tree.parentOf(folder)) : from.tree.child(folder, index - 2);
    if (!entry)
      break;
    std::string name = index < 2 ? (index == 0 ? "." : "..") : from.tree.nameOf(*entry);
    char *at = text.data() + used;
    size_t needed;
    if constexpr (listing == Listing::NamesAndAttributes) {
      fuse_entry_param shown = parameterOf(*entry, from);
      needed = fuse_add_direntry_plus(request, at, size - used, name.c_str(), &shown, static_cast<off_t>(index + 1));
    } else {
      struct stat shown = attributesOf(*entry, from);
      needed = fuse_add_direntry(request, at, size - used, name.c_str(), &shown, static_cast<off_t>(index + 1));
    }
    if (needed > size - used)
      break;
    used += needed;
  }
  fuse_reply_buf(request, text.data(), used);
}

void fileSystemState(fuse_req_t request, fuse_ino_t) {
  const MountTree &tree = mounted(request).tree;
  struct statvfs state = {};
  state.f_bsize = state.f_frsize = kBlockBytes;
  state.f_blocks = (tree.bytes() + kBlockBytes - 1) / kBlockBytes;
  state.f_files = tree.files();
  state.f_namemax = 255;
  fuse_reply_statfs(request, &state);
}

template <class... Arguments> void refuse(fuse_req_t request, Arguments...) { fuse_reply_err(request, EROFS); }

} // namespace

fuse_lowlevel_ops fuseOperations() {
  fuse_lowlevel_ops all = {};
  all.init = start;
  all.lookup = lookUp;
  all.getattr = getAttributes;
  all.open = open;
  all.read = read;
  all.opendir = openFolder;
  all.readdir = listFolder<Listing::Names>;
  all.readdirplus = listFolder<Listing::NamesAndAttributes>;
  all.statfs = fileSystemState;
  all.setattr = refuse;
  all.mknod = refuse;
  all.mkdir = refuse;
  all.unlink = refuse;
  all.rmdir = refuse;
  all.symlink = refuse;
  all.rename = refuse;
  all.link = refuse;
  all.write = refuse;
  all.create = refuse;
  all.fallocate = refuse;
  all.setxattr = refuse;
  all.removexattr = refuse;
  return all;
}

} // namespace stg
