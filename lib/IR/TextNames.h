//===- TextNames.h - which names stand bare in .stgir text ------------------===//
// Private to lib/IR: the one place where printer and reader agree on characters. Other names are quoted.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_IR_TEXTNAMES_H
#define STG_LIB_IR_TEXTNAMES_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"

namespace stg::detail {

inline bool isNameStart(char c) { return llvm::isAlpha(c) || c == '_'; }
inline bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == '\''; }
/// Behind `%` and `@`, where nothing else is written with brackets: `%blocks[3].x`.
inline bool isPathPart(char c) { return isNamePart(c) || c == '[' || c == ']'; }

inline bool isBareName(llvm::StringRef text) {
  return !text.empty() && isNameStart(text.front()) && llvm::all_of(text, isNamePart);
}
inline bool isBarePath(llvm::StringRef text) {
  return !text.empty() && isNameStart(text.front()) && llvm::all_of(text, isPathPart);
}

/// In quotes, as every name that may not stand bare.
inline std::string quoted(llvm::StringRef text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + "\"";
}

} // namespace stg::detail

#endif
