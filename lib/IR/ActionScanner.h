//===- ActionScanner.h - actions out of text ---------------------------------===//
// Internal to Schedule: what the notation of publications and PyTorch's CSV have in common.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_SCHEDULE_ACTIONSCANNER_H
#define STG_LIB_SCHEDULE_ACTIONSCANNER_H

#include "stg/IR/ScheduleText.h"

namespace stg {

/// A piece of a text and where it stands.
struct TextPiece {
  llvm::StringRef text;
  uint32_t line = 1;
  uint32_t column = 1;

  /// The part from `from` on, of at most `length` characters.
  TextPiece part(size_t from, size_t length = llvm::StringRef::npos) const {
    return {text.substr(from, length), line, column + static_cast<uint32_t>(from)};
  }
  TextPiece trimmed() const;
  ScheduleTextError error(ScheduleTextFault fault) const { return {fault, line, column, text.str()}; }
};

/// `12F3` in its three parts; without digits at the end there is no micro-batch.
struct ScannedAction {
  uint32_t number = 0;
  llvm::StringRef word;
  std::optional<uint32_t> microBatch;
};

std::variant<ScannedAction, ScheduleTextError> scanAction(TextPiece piece);

/// The kind that a letter stands for.
std::optional<ActionKind> kindOf(llvm::StringRef word);

/// `a<separator>b` as two pieces; nothing unless there is exactly one separator.
std::optional<std::pair<TextPiece, TextPiece>> splitPair(TextPiece piece, char separator);

} // namespace stg

#endif
