//===- InternalError.h - faults of the compiler itself --------------------===//
#ifndef STG_SUPPORT_INTERNALERROR_H
#define STG_SUPPORT_INTERNALERROR_H

#include "stg/Support/ExitStatus.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <exception>
#include <string>

namespace stg {

/// Thrown by `internalError`. Only a tool's main catches it, so that everything between removes its half-written output
/// on the way; main then returns `reportInternalError(error, llvm::errs())`.
class InternalError : public std::exception {
public:
  explicit InternalError(std::string text) : text_(std::move(text)) {}
  const char *what() const noexcept override { return text_.c_str(); }

private:
  std::string text_;
};

/// Names the running pass and the level of the program for errors raised below it on this thread. The pass manager
/// opens one around each pass.
class InternalErrorScope {
public:
  InternalErrorScope(llvm::StringRef pass, llvm::StringRef level);
  ~InternalErrorScope();
  InternalErrorScope(const InternalErrorScope &) = delete;
  InternalErrorScope &operator=(const InternalErrorScope &) = delete;

private:
  std::string outerPass_, outerLevel_;
};

/// A promise of our own is broken: in `pass`, at `level`, at `op` (a printed op, or a name of one; may be empty).
/// `text` says what was found and what was expected. Never for a fault of the user; that is a diagnostic.
[[noreturn]] void internalError(llvm::StringRef pass, llvm::StringRef level, llvm::StringRef op, llvm::StringRef text);

/// The same, with pass and level of the surrounding `InternalErrorScope`.
[[noreturn]] void internalError(llvm::StringRef op, llvm::StringRef text);

/// Prints the error and returns `ExitStatus::InternalError`.
ExitStatus reportInternalError(const InternalError &error, llvm::raw_ostream &os);

} // namespace stg

#endif
