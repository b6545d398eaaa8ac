//===- Formatter.h - the one look of .stg files ---------------------------===//
// docs/format.md describes it. There are no options. Formatting keeps every token and comment in its order, changes
// blanks and newlines only, and formatting twice changes nothing.
//===----------------------------------------------------------------------===//
#ifndef STG_SYNTAX_FORMATTER_H
#define STG_SYNTAX_FORMATTER_H

#include "stg/Support/Diagnostics.h"

#include <optional>
#include <string>

namespace stg {

/// Lines are broken before they get longer, where the grammar allows.
inline constexpr unsigned kFormatWidth = 120;

/// The text of a file of `sources` in the one style. Without a value if it has syntax errors, which are reported.
std::optional<std::string> formatFile(FileId file, const SourceManager &sources, Diagnostics &diags);

} // namespace stg

#endif
