//===- StgText.h - programs written in .stg, compiled and run in a test ----===//
#ifndef STG_UNITTESTS_STDLIB_STGTEXT_H
#define STG_UNITTESTS_STDLIB_STGTEXT_H

#include "stg/Interp/Interpreter.h"
#include <optional>
#include <string>
#include <vector>

namespace stg::stdlib {

/// The first workload of `text` (a file without its first line `stg 1`) at level Typed, with the shipped library. A
/// message of the compiler fails the test; then there is no program.
std::optional<Program> compileText(const std::string &text); // at level Typed

/// The names of the models that `module` (`models.gpt3`) declares.
std::vector<std::string> modelsIn(const std::string &module);

/// Compiles and runs, keeping all values; empty after a message.
interp::InterpResult runText(const std::string &text, const interp::InterpInputs &inputs = {});

/// Gives every weight outside units whose path starts with one of `prefixes` numbers that depend on the rest of the
/// path only. So two layers of one structure under different labels hold the same numbers.
void giveEqualWeights(const Program &program, const std::vector<std::string> &prefixes, interp::InterpInputs &inputs);

/// Takes the define blocks of `op` away, so that the reference in C++ stands for it.
void dropDefineBlocks(Program &program, const std::string &op);

} // namespace stg::stdlib

#endif
