//===- TensorNames.h - one name per tensor, for annotations -----------------===//
#pragma once

#include "SlotOrigins.h"

namespace stg {

class TensorNames {
public:
  TensorNames(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates, const SlotOrigins &origins)
      : program_(program), templates_(templates), origins_(origins) {}

  /// `tensor` as unit `id` sees it. Activations have one per micro-batch, `blocks[3].attn.q#2`.
  std::string nameOf(UnitId id, const TensorTemplate &tensor, uint32_t microBatch) const;
  std::string weightName(const Unit &unit, uint32_t slot) const;
  static std::string join(std::string path, llvm::StringRef name);

private:
  template <class Slots, class Bindings, class ProgramList>
  std::string slotName(const Unit &unit, uint32_t slot, const Slots &slots, const Bindings &bindings,
                       const ProgramList &programList, Slots Body::*list) const;
  std::string perBatch(std::string name, uint32_t microBatch) const;
  std::string inputName(UnitId unit, uint32_t slot, uint32_t microBatch) const;

  const Program &program_;
  llvm::ArrayRef<std::optional<BodyTemplate>> templates_;
  const SlotOrigins &origins_;
};

} // namespace stg
