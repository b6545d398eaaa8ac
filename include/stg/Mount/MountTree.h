//===- MountTree.h - the folders and files that a mounted bundle shows ------===//
// Every folder and file has a number, which is its inode: those of folders come first, then for each trace that of its
// group file and those of its ranks. A file's name, number and size follow from its rank by formula, so that 131,072
// ranks take no more memory than two.
//
// All const member functions may be called from several threads.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/Bundle.h"

#include <deque>
#include <mutex>
#include <string_view>

namespace stg {

/// A folder or a file.
struct MountEntry {
  enum class Kind { Folder, GroupFile, RankFile };
  Kind kind = Kind::Folder;
  uint64_t number = 0;
  /// Of a file.
  uint64_t bytes = 0;
  const bundle::TraceInfo *trace = nullptr;
  /// Of a RankFile.
  uint32_t rank = 0;
};

class MountTree {
public:
  static constexpr uint64_t kRoot = 1;

  /// `traces` must outlive the tree; no two have one folder.
  explicit MountTree(std::span<const bundle::TraceInfo> traces);

  /// What has the number; nothing if nothing has.
  std::optional<MountEntry> at(uint64_t number) const;
  /// What a folder has under a name.
  std::optional<MountEntry> find(uint64_t folder, std::string_view name) const;
  /// What a folder has at `index`, counted from 0: folders, then the group file, then the ranks by number.
  std::optional<MountEntry> child(uint64_t folder, uint64_t index) const;
  /// Without the path.
  std::string nameOf(const MountEntry &entry) const;
  /// The number of the folder above; the root's is the root's.
  uint64_t parentOf(uint64_t folder) const { return folders_[folder - kRoot].parent; }

  /// The content of the group file, made at the first call and kept; empty: there is no such file.
  const std::string &groupText(const bundle::TraceInfo &trace) const;

  uint64_t files() const;
  /// Of all files together.
  uint64_t bytes() const;

private:
  struct Folder {
    std::string name;
    uint64_t parent = kRoot;
    std::vector<uint64_t> folders;
    const bundle::TraceInfo *trace = nullptr;
  };
  struct GroupText {
    std::once_flag made;
    std::string text;
  };
  uint64_t addFolder(uint64_t parent, std::string_view name);
  size_t indexOf(const bundle::TraceInfo &trace) const { return static_cast<size_t>(&trace - traces_.data()); }
  std::optional<MountEntry> groupFile(const bundle::TraceInfo &trace) const;
  MountEntry rankFile(const bundle::TraceInfo &trace, uint32_t rank) const;

  std::span<const bundle::TraceInfo> traces_;
  std::vector<Folder> folders_; ///< that of number kRoot + i at i
  std::vector<uint64_t> first_; ///< number of the group file, by trace; behind it, those of its ranks
  mutable std::deque<GroupText> groupTexts_;
};

} // namespace stg
