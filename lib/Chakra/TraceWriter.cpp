//===- TraceWriter.cpp - a directory of Chakra files -----------------------===//

#include "stg/Chakra/TraceWriter.h"
#include "fmt/format.h"

namespace stg {

llvm::Expected<TraceWriter> TraceWriter::create(llvm::StringRef path, llvm::StringRef prefix) {
  llvm::Expected<OutputDirectory> directory = OutputDirectory::create(
      path, [](llvm::StringRef name) { return name.ends_with(".et") || name.ends_with(".json"); });
  if (!directory)
    return directory.takeError();
  return TraceWriter(std::move(*directory), prefix);
}

llvm::Error TraceWriter::writeRank(const TraceMetadata &metadata, llvm::StringRef nodes) const {
  std::string head = encodeMetadata(metadata);
  return directory_.writeFile(fmt::format("{}{}.{}.et", folder_, prefix_, metadata.rank), {head, nodes});
}

llvm::Error TraceWriter::writeGroups(llvm::ArrayRef<TraceGroup> groups, unsigned groupDigits) const {
  std::string text = groupFileText(groups, groupDigits);
  return directory_.writeFile(folder_ + kGroupFileName.str(), llvm::StringRef(text));
}

std::string groupFileText(llvm::ArrayRef<TraceGroup> groups, unsigned groupDigits) {
  std::vector<const TraceGroup *> byId;
  for (const TraceGroup &group : groups)
    byId.push_back(&group);
  std::sort(byId.begin(), byId.end(), [](const auto *a, const auto *b) { return a->id < b->id; });
  std::string text = "{";
  for (const TraceGroup *group : byId)
    text += fmt::format("{}\n  \"{}\": [{}]", group == byId.front() ? "" : ",", groupName(group->id, groupDigits),
                        fmt::join(group->ranks, ", "));
  return text + "\n}\n";
}

} // namespace stg
