//===- DisplayLine.h - a source line as a terminal shows it ---------------===//
#ifndef STG_LIB_SUPPORT_DISPLAYLINE_H
#define STG_LIB_SUPPORT_DISPLAYLINE_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace stg {

/// A source line made fit for a terminal: tabs expanded, control characters replaced (they could move the cursor).
struct DisplayLine {
  std::string text;
  /// Terminal column (from 0) of every byte of the source line, and of its end. All bytes of a character have the
  /// column of its first.
  std::vector<uint32_t> columns;
};

/// Only the characters within terminal columns [from, to) go into `text`; `columns` counts from the line's start all
/// the same.
DisplayLine displayLine(llvm::StringRef line, uint32_t from = 0, uint32_t to = std::numeric_limits<uint32_t>::max());

} // namespace stg

#endif
