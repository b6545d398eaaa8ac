//===- Printer.h - the IR as text -------------------------------------------===//
// A `.stgir` file: level, header, bodies, units, outputs. docs/ir.md describes it; Reader.h reads it back.
//===----------------------------------------------------------------------===//
#ifndef STG_IR_PRINTER_H
#define STG_IR_PRINTER_H

#include "stg/IR/Program.h"
#include "llvm/Support/raw_ostream.h"

namespace stg {

/// The whole program. Total: a program that the verifier refuses is printed as well, as far as it makes sense.
void print(const Program &program, llvm::raw_ostream &os);
std::string toString(const Program &program);

/// One op on one line, as it stands in its body: `%y : bf16[B, S] = add(%a, %b) kernel 2`.
std::string printOp(const Program &program, const Body &body, const Op &op);

} // namespace stg

#endif
