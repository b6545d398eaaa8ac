//===- TemporaryPath.h - what output is before it appears -------------------===//
// Names beside a target, what a signal must remove, and writing with the errors of
// the system as numbers: shared by files and directories of Support/AtomicOutput.h.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Support/AtomicOutput.h"

namespace stg {

llvm::Error outputError(llvm::StringRef path, std::string what);
/// `code` is an errno.
llvm::Error systemError(llvm::StringRef path, int code);

/// A signal that ends the process removes the path first.
void protectFromSignals(llvm::StringRef path);
/// Before the path gets its name, or when it is gone: nothing that a signal has begun to remove appears.
void unprotect(llvm::StringRef path);
/// Removes a protected path with all that it holds.
void discard(const std::string &temporary);
/// While a signal takes the output back nothing is added to it, and a failed write is no news: waits for the end of the
/// process then.
void waitIfDying();

/// Writes all pieces to a descriptor; 0 or the error of the system.
int writeAll(int descriptor, llvm::ArrayRef<llvm::StringRef> pieces);
/// Writes a new file.
int writeNewFile(const char *path, llvm::ArrayRef<llvm::StringRef> pieces);

/// How many names are tried that others may have taken.
inline constexpr unsigned kNameAttempts = 1000;
/// `<folder>/.<name>.partial-<process>-<attempt>`.
std::string temporaryName(llvm::StringRef folder, llvm::StringRef name, unsigned attempt);
/// The same beside a target.
std::string temporaryName(llvm::StringRef target, unsigned attempt);

/// Absolute path with links resolved as far as it exists, no `.` or `..` and no slash at the end.
llvm::Expected<std::string> resolved(llvm::StringRef path);
/// Makes the missing parents of `path` and notes them, outermost first.
llvm::Error makeParents(llvm::StringRef path, std::vector<std::string> &made);
/// Removes those that are empty.
void removeParents(const std::vector<std::string> &made);

} // namespace stg
