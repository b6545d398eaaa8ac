//===- StoredForms.h - how a weight rests between steps ---------------------===//
#ifndef STG_LIB_MEMORY_STOREDFORMS_H
#define STG_LIB_MEMORY_STOREDFORMS_H

#include "stg/IR/Program.h"

namespace stg {

/// Layouts of a weight, of its gradient once that is summed, and of its optimizer states: each splits at least what
/// the one before does (ZeRO stages 3, 2 and 1).
struct StoredForms {
  Layout weight, gradient, optimizer;
  /// The first rule that names the weight; null: none does.
  const StorageRule *rule = nullptr;
  /// Atoms of the axes of all rules that name it.
  AtomList atoms;

  bool keepsWeightShards(const Layout &home) const { return weight != home; }
  /// What is gathered stays for all micro-batches of the step.
  bool holds() const {
    return rule && (rule->stage == 3 ? !rule->regather && rule->sync == GradientSync::Step : rule->gathersLate);
  }
  /// Gradients go to their shards with each micro-batch.
  bool reducesEach() const { return rule && rule->stage >= 2 && rule->sync == GradientSync::MicroBatch; }
};

/// Which rules name a weight of this path, by their place in the plan.
llvm::SmallVector<uint32_t, 2> storageRulesOf(const Plan &plan, llvm::StringRef weightPath);

/// `home`: the layout in which a weight of this type is used, or the one in which it is stored.
StoredForms storedForms(const Program &program, const TensorType &type, const Layout &home, llvm::StringRef weightPath);

/// Path of the weight behind a slot: what rules name.
std::string weightPath(const Program &program, UnitId unit, uint32_t slot);

} // namespace stg

#endif
