//===- Interner.h - one id per distinct string ----------------------------===//
#ifndef STG_SUPPORT_INTERNER_H
#define STG_SUPPORT_INTERNER_H

#include "stg/Support/Ids.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringRef.h"

#include <deque>
#include <string>

namespace stg {

/// A string known to an `Interner`. Two symbols of one interner are equal iff their texts are.
using Symbol = Id<struct SymbolTag>;

/// Gives each distinct string an id, in order of first mention. Texts stay where they are as long as the interner
/// lives.
///
/// Not llvm::UniqueStringSaver: that one allocates inside LLVM's prebuilt library, which does not unpoison what the
/// allocator poisoned in our instrumented code, and ASan then reports a use that is none.
class Interner {
public:
  Symbol intern(llvm::StringRef text) {
    auto found = symbols_.find(text);
    if (found != symbols_.end())
      return found->second;
    // A deque never moves its elements, so the key may point into the stored string.
    const std::string &stored = texts_.emplace_back(text.str());
    Symbol symbol(static_cast<uint32_t>(texts_.size() - 1));
    symbols_.try_emplace(stored, symbol);
    return symbol;
  }

  /// The symbol of `text` if it was interned before, else the invalid symbol.
  Symbol find(llvm::StringRef text) const { return symbols_.lookup(text); }

  llvm::StringRef text(Symbol symbol) const { return texts_[symbol.index]; }
  size_t size() const { return texts_.size(); }

private:
  std::deque<std::string> texts_;
  llvm::DenseMap<llvm::StringRef, Symbol> symbols_;
};

} // namespace stg

#endif
