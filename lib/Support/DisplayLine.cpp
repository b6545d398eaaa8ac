//===- DisplayLine.cpp - a source line as a terminal shows it -------------===//
#include "DisplayLine.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

#include <algorithm>

namespace stg {

DisplayLine displayLine(llvm::StringRef line, uint32_t from, uint32_t to) {
  constexpr uint32_t kTabWidth = 4;
  DisplayLine shown;
  uint32_t column = 0;
  for (size_t at = 0; at < line.size();) {
    size_t length = std::min<size_t>(llvm::getNumBytesForUTF8(line[at]), line.size() - at);
    llvm::StringRef character = line.substr(at, length);
    shown.columns.insert(shown.columns.end(), length, column);
    at += length;
    if (character == "\t") {
      for (uint32_t end = column + kTabWidth - column % kTabWidth; column != end; ++column)
        if (column >= from && column < to)
          shown.text += ' ';
      continue;
    }
    int width = llvm::sys::unicode::columnWidthUTF8(character);
    if (width < 0) {
      character = "\uFFFD";
      width = 1;
    }
    if (column >= from && column + width <= to)
      shown.text += character;
    column += width;
  }
  shown.columns.push_back(column);
  return shown;
}

} // namespace stg
