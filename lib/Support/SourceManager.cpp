//===- SourceManager.cpp - source files, offsets, lines and columns -------===//
#include "stg/Support/SourceManager.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <algorithm>

namespace stg {

namespace {

constexpr llvm::StringLiteral kByteOrderMark = "\xEF\xBB\xBF";

bool startsCodePoint(char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; }

std::vector<uint32_t> findLineStarts(llvm::StringRef text) {
  std::vector<uint32_t> starts = {0};
  for (size_t at = text.find('\n'); at != llvm::StringRef::npos; at = text.find('\n', at + 1))
    starts.push_back(static_cast<uint32_t>(at + 1));
  return starts;
}

} // namespace

std::optional<size_t> firstInvalidUtf8(llvm::StringRef text) {
  const auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.bytes_begin());
  const auto *end = reinterpret_cast<const llvm::UTF8 *>(text.bytes_end());
  const llvm::UTF8 *at = begin;
  if (llvm::isLegalUTF8String(&at, end))
    return std::nullopt;
  return static_cast<size_t>(at - begin);
}

LoadResult SourceManager::addFile(llvm::StringRef path) {
  if (std::optional<FileId> known = find(path))
    return {.file = *known};
  auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return {.status = LoadStatus::Unreadable, .reason = buffer.getError().message()};
  llvm::StringRef text = (*buffer)->getBuffer();
  if (text.size() >= std::numeric_limits<uint32_t>::max())
    return {.status = LoadStatus::Unreadable, .reason = "larger than 4 GiB"};
  if (std::optional<size_t> bad = firstInvalidUtf8(text))
    return {.status = LoadStatus::NotUtf8, .badByte = *bad};
  return {.file = addBuffer(path, text.str())};
}

FileId SourceManager::addBuffer(llvm::StringRef path, std::string text) {
  std::vector<uint32_t> starts = findLineStarts(text);
  files_.push_back({path.str(), "", std::move(text), std::move(starts)});
  return FileId(static_cast<uint32_t>(files_.size() - 1));
}

llvm::StringRef SourceManager::name(FileId file) const {
  const File &known = files_[file.index];
  return known.name.empty() ? llvm::sys::path::filename(known.path) : llvm::StringRef(known.name);
}

std::optional<FileId> SourceManager::find(llvm::StringRef path) const {
  for (size_t i = 0; i != files_.size(); ++i)
    if (files_[i].path == path)
      return FileId(static_cast<uint32_t>(i));
  return std::nullopt;
}

uint32_t SourceManager::lineOf(FileId file, uint32_t offset) const {
  const std::vector<uint32_t> &starts = files_[file.index].lineStarts;
  return static_cast<uint32_t>(std::upper_bound(starts.begin(), starts.end(), offset) - starts.begin());
}

LineColumn SourceManager::lineColumn(FileId file, uint32_t offset) const {
  llvm::StringRef all = text(file);
  offset = std::min<uint32_t>(offset, static_cast<uint32_t>(all.size()));
  uint32_t line = lineOf(file, offset);
  llvm::StringRef before = all.slice(lineStart(file, line), offset);
  if (line == 1)
    before.consume_front(kByteOrderMark);
  return {line, static_cast<uint32_t>(1 + llvm::count_if(before, startsCodePoint))};
}

uint32_t SourceManager::offsetOf(FileId file, LineColumn place) const {
  uint32_t line = std::clamp(place.line, 1u, numLines(file));
  llvm::StringRef text = lineText(file, line);
  size_t at = line == 1 && text.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0;
  for (uint32_t column = 1; column < place.column && at < text.size(); ++column) {
    ++at;
    while (at < text.size() && !startsCodePoint(text[at]))
      ++at;
  }
  return lineStart(file, line) + static_cast<uint32_t>(at);
}

llvm::StringRef SourceManager::lineText(FileId file, uint32_t line) const {
  llvm::StringRef rest = text(file).drop_front(lineStart(file, line));
  llvm::StringRef found = rest.take_until([](char c) { return c == '\n'; });
  found.consume_back("\r");
  return found;
}

std::string SourceManager::describe(SourceRange range) const {
  LineColumn place = lineColumn(range.file, range.begin);
  return (path(range.file) + ":" + llvm::Twine(place.line) + ":" + llvm::Twine(place.column)).str();
}

} // namespace stg
