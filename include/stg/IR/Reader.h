//===- Reader.h - the IR from text ------------------------------------------===//
// Reads what Printer.h prints; `//` starts a comment. The reader resolves names and builds ids; whether the program
// keeps the promises of its level is the verifier's to say.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_READER_H
#define STG_IR_READER_H

#include "stg/IR/Program.h"
#include "stg/Support/Diagnostics.h"

namespace stg {

/// The program in `file`, with a context of its own; ops carry the places in that file. Stops at the first error, which
/// goes to `diags` (E901 to E904); never crashes, whatever the bytes.
std::optional<Program> readProgram(FileId file, Diagnostics &diags);

} // namespace stg

#endif
