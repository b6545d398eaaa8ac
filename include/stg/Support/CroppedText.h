//===- CroppedText.h - text of a file inside a message ----------------------===//
#ifndef STG_SUPPORT_CROPPEDTEXT_H
#define STG_SUPPORT_CROPPEDTEXT_H

#include "llvm/ADT/StringRef.h"
#include <string>

namespace stg {

/// `text`, or of a very long one the start and `…`: what a hand-written or damaged file holds may fill a message with
/// megabytes. Characters (UTF-8) stay whole.
inline std::string croppedText(llvm::StringRef text) {
  constexpr size_t kWidest = 200, kShown = 100;
  if (text.size() <= kWidest)
    return text.str();
  size_t length = kShown;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0) == 0x80)
    --length;
  return text.take_front(length).str() + "…";
}

} // namespace stg

#endif
