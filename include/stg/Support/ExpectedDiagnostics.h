//===- ExpectedDiagnostics.h - messages that a test file announces --------===//
// A test file says in comments (of any syntax) which messages it provokes:
//
//   g = sum(Dff) x * w        # expected-error {{nothing to sum}} [E205]
//   # expected-warning@+1 {{no gradient}} [W211]
//   weight wq[D]
//
// `@+N`/`@-N` lines away, `@N` that line, `@*` anywhere in the file or without a place. The text is a part of the
// message; the code is its code. Every message must be announced and every announced one must come, exactly once.
//===----------------------------------------------------------------------===//
#ifndef STG_SUPPORT_EXPECTEDDIAGNOSTICS_H
#define STG_SUPPORT_EXPECTEDDIAGNOSTICS_H

#include "stg/Support/Diagnostics.h"

#include "llvm/Support/raw_ostream.h"

namespace stg {

/// Compares the messages with what the files of their source manager announce. Prints what differs, one line each, and
/// returns whether nothing does. What `--verify-diagnostics` of the tools does.
bool matchExpectedDiagnostics(const Diagnostics &diags, llvm::raw_ostream &os);

} // namespace stg

#endif
