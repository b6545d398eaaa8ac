//===- LineWords.h - the words that lines begin with ----------------------===//
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

#include <string>

namespace stg {

/// One kind of list in braces (or the file), and the words that its lines begin with.
struct LineWords {
  /// The grammar's rule for the list.
  size_t rule;
  /// "a statement", "a rule of a plan" ...
  llvm::StringRef thing;
  llvm::ArrayRef<llvm::StringRef> words;

  bool contains(llvm::StringRef word) const { return llvm::is_contained(words, word); }
  /// "a statement begins with let, factor, ..."
  std::string sentence() const;
};

/// The list that `rule` is; null if it is none.
const LineWords *lineWordsOf(size_t rule);
/// A list whose lines may begin with `word`; null if there is none.
const LineWords *lineWordsWith(llvm::StringRef word);
llvm::ArrayRef<LineWords> allLineWords();

} // namespace stg
