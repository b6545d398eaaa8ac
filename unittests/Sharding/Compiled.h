//===- Compiled.h - a program with its collectives, for tests ---------------===//
#ifndef STG_UNITTESTS_SHARDING_COMPILED_H
#define STG_UNITTESTS_SHARDING_COMPILED_H

#include "CollectiveCounts.h"
#include "stg/IR/Reader.h"
#include "stg/Passes/PassManager.h"
#include "gtest/gtest.h"

namespace stg::test {

/// From a .stgir text at level Differentiated to Explicit. Every pass is verified; an error fails the test.
struct Compiled {
  SourceManager sources;
  Diagnostics diags{sources};
  std::optional<Program> program;

  explicit Compiled(const std::string &text) {
    program = readProgram(sources.addBuffer("llama.stgir", text), diags);
    if (program)
      (void)runPasses(*program, {PassId::AssignLayouts, PassId::InsertCollectives}, diags, nullptr,
                      VerifyPasses::AfterEach);
    for (const Diagnostic *diagnostic : diags.sorted())
      if (diagnostic->isError())
        ADD_FAILURE() << sources.describe(diagnostic->range) << " " << diagnostic->message;
  }
  const Body &body(llvm::StringRef name) const {
    for (const Body &each : program->bodies)
      if (program->text(each.name) == name)
        return each;
    throw std::runtime_error("no body " + name.str());
  }

  /// `AG(tp) 2, RS(tp) 2`, by name.
  std::string collectives(llvm::StringRef name, bool forward) const {
    CollectiveCounts counts;
    for (const Op &op : body(name).ops)
      if (const char *kind = shortName(op); kind && (op.part == Part::Forward) == forward)
        ++counts[std::string(kind) + "(" + namesOf(op.get<CollectiveFields>().atoms, program->mesh) + ")"];
    return toText(counts);
  }
  /// How many weights of a body are reduced over which atoms at the step.
  std::string step(llvm::StringRef name) const {
    CollectiveCounts counts;
    for (const WeightSlot &slot : body(name).weights)
      if (slot.buffer && slot.buffer->isPartial())
        ++counts["AR(" + namesOf(slot.buffer->partialAtoms(), program->mesh) + ")"];
    return toText(counts);
  }
};

} // namespace stg::test

#endif
