//===- MountTree.cpp - the folders and files that a mounted bundle shows ----===//

#include "stg/Mount/MountTree.h"

#include <algorithm>
#include <charconv>

namespace stg {

using bundle::Bundle;
using bundle::TraceInfo;

namespace {

/// The rank in `<prefix>.<rank>.et`.
std::optional<uint32_t> rankIn(std::string_view name, const TraceInfo &trace) {
  constexpr std::string_view kSuffix = ".et";
  if (!name.starts_with(trace.prefix) || !name.ends_with(kSuffix) ||
      name.size() < trace.prefix.size() + 1 + kSuffix.size())
    return std::nullopt;
  std::string_view digits = name.substr(trace.prefix.size() + 1);
  digits.remove_suffix(kSuffix.size());
  uint32_t rank = 0;
  auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), rank);
  // Comparing the whole name refuses `train.007.et` for rank 7.
  if (fault != std::errc() || rank >= trace.worldSize || Bundle::fileName(trace, rank) != name)
    return std::nullopt;
  return rank;
}

} // namespace

MountTree::MountTree(std::span<const TraceInfo> traces) : traces_(traces), groupTexts_(traces.size()) {
  folders_.emplace_back();
  for (const TraceInfo &trace : traces_) {
    uint64_t folder = kRoot;
    std::string_view rest = trace.folder;
    while (!rest.empty()) {
      std::string_view name = rest.substr(0, rest.find('/'));
      rest.remove_prefix(std::min(rest.size(), name.size() + 1));
      if (!name.empty())
        folder = addFolder(folder, name);
    }
    folders_[folder - kRoot].trace = &trace;
  }
  uint64_t next = kRoot + folders_.size();
  for (const TraceInfo &trace : traces_) {
    first_.push_back(next);
    next += uint64_t{trace.worldSize} + 1;
  }
}

uint64_t MountTree::addFolder(uint64_t parent, std::string_view name) {
  for (uint64_t number : folders_[parent - kRoot].folders)
    if (folders_[number - kRoot].name == name)
      return number;
  uint64_t number = kRoot + folders_.size();
  folders_[parent - kRoot].folders.push_back(number);
  folders_.push_back({.name = std::string(name), .parent = parent, .folders = {}, .trace = nullptr});
  return number;
}

const std::string &MountTree::groupText(const TraceInfo &trace) const {
  GroupText &kept = groupTexts_[indexOf(trace)];
  std::call_once(kept.made, [&] { kept.text = Bundle::groupFile(trace); });
  return kept.text;
}

std::optional<MountEntry> MountTree::groupFile(const TraceInfo &trace) const {
  const std::string &text = groupText(trace);
  if (text.empty())
    return std::nullopt;
  return MountEntry{MountEntry::Kind::GroupFile, first_[indexOf(trace)], text.size(), &trace, 0};
}

MountEntry MountTree::rankFile(const TraceInfo &trace, uint32_t rank) const {
  return {MountEntry::Kind::RankFile, first_[indexOf(trace)] + 1 + rank, Bundle::fileSize(trace, rank), &trace, rank};
}

std::optional<MountEntry> MountTree::at(uint64_t number) const {
  if (number < kRoot)
    return std::nullopt;
  if (number - kRoot < folders_.size())
    return MountEntry{.number = number};
  auto above = std::upper_bound(first_.begin(), first_.end(), number);
  if (above == first_.begin())
    return std::nullopt;
  const TraceInfo &trace = traces_[static_cast<size_t>(above - first_.begin()) - 1];
  uint64_t place = number - above[-1];
  if (place == 0)
    return groupFile(trace);
  if (place > trace.worldSize)
    return std::nullopt;
  return rankFile(trace, static_cast<uint32_t>(place - 1));
}

std::optional<MountEntry> MountTree::find(uint64_t folder, std::string_view name) const {
  if (folder < kRoot || folder - kRoot >= folders_.size())
    return std::nullopt;
  const Folder &in = folders_[folder - kRoot];
  for (uint64_t number : in.folders)
    if (folders_[number - kRoot].name == name)
      return MountEntry{.number = number};
  if (!in.trace)
    return std::nullopt;
  if (name == bundle::kGroupFile)
    return groupFile(*in.trace);
  if (std::optional<uint32_t> rank = rankIn(name, *in.trace))
    return rankFile(*in.trace, *rank);
  return std::nullopt;
}

std::optional<MountEntry> MountTree::child(uint64_t folder, uint64_t index) const {
  if (folder < kRoot || folder - kRoot >= folders_.size())
    return std::nullopt;
  const Folder &in = folders_[folder - kRoot];
  if (index < in.folders.size())
    return MountEntry{.number = in.folders[index]};
  index -= in.folders.size();
  if (!in.trace)
    return std::nullopt;
  if (std::optional<MountEntry> groups = groupFile(*in.trace)) {
    if (index == 0)
      return groups;
    --index;
  }
  if (index >= in.trace->worldSize)
    return std::nullopt;
  return rankFile(*in.trace, static_cast<uint32_t>(index));
}

std::string MountTree::nameOf(const MountEntry &entry) const {
  switch (entry.kind) {
  case MountEntry::Kind::Folder:
    return folders_[entry.number - kRoot].name;
  case MountEntry::Kind::GroupFile:
    return bundle::kGroupFile;
  case MountEntry::Kind::RankFile:
    break;
  }
  return Bundle::fileName(*entry.trace, entry.rank);
}

uint64_t MountTree::files() const {
  uint64_t files = 0;
  for (const TraceInfo &trace : traces_)
    files += uint64_t{trace.worldSize} + (groupText(trace).empty() ? 0 : 1);
  return files;
}

uint64_t MountTree::bytes() const {
  uint64_t bytes = 0;
  for (const TraceInfo &trace : traces_) {
    bytes += groupText(trace).size();
    for (const bundle::RankClass &ranks : trace.classes)
      bytes += ranks.fileBytes * ranks.ranks.size();
  }
  return bytes;
}

} // namespace stg
