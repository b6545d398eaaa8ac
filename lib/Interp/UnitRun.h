//===- UnitRun.h - the body of one unit, on the ranks that run it -----------===//
// Ops run one after the other, each on every rank before the next: so a collective finds all its operands. Values stay
// until the micro-batch is done, for the backward ops that read them. On one device there is one "rank", every dim is
// whole and layout ops are the identity.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_INTERP_UNITRUN_H
#define STG_LIB_INTERP_UNITRUN_H

#include "RankValues.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace stg::interp {

/// What a unit reads and writes outside itself, by slot of its body.
class UnitOutside {
public:
  virtual ~UnitOutside() = default;
  virtual RankTensors input(uint32_t slot) = 0;
  virtual RankTensors weight(uint32_t slot) = 0;
  virtual RankTensors state(uint32_t slot) = 0;
  virtual RankTensors gradient(uint32_t slot) = 0;
  virtual RankTensors total(uint32_t scalar, const Value &result) = 0;
  virtual void writeState(uint32_t slot, RankTensors value) = 0;
  virtual void accumulate(uint32_t slot, const Value &operand, const RankTensors &value) = 0;
  virtual void assign(uint32_t slot, const Value &operand, RankTensors value) = 0;
  virtual void tally(uint32_t scalar, const Value &operand, const RankTensors &value) = 0;
  /// Whether these ranks keep their share of what becomes partial over the pipeline; else they give zero.
  virtual bool keepsShare() const = 0;
};

/// What all units on the same ranks share.
struct RunContext {
  const Program &program;
  int64_t &elements;        ///< made so far, in all of the run
  RankDims *dims = nullptr; ///< null: one device

  size_t ranks() const { return dims ? static_cast<size_t>(dims->ranks()) : 1; }
  TensorDim held(const Dim &dim, const std::optional<Layout> &layout, size_t rank) const;
  TensorDims held(const TensorType &type, const std::optional<Layout> &layout, size_t rank) const;
  /// The value that the ranks hold together.
  Tensor whole(const TensorType &type, const std::optional<Layout> &layout, const RankTensors &parts) const;
  /// What each rank holds of `value`.
  RankTensors parts(const Tensor &value, const TensorType &type, const std::optional<Layout> &layout) const;
};

class UnitRun {
public:
  UnitRun(RunContext &context, const Body &body, std::string path, uint64_t seed)
      : context_(context), body_(body), path_(std::move(path)), seed_(seed), values_(body.values.size()) {}

  /// Runs the ops that `wanted` picks, in order. `made` sees each of their results.
  void run(UnitOutside &outside, llvm::function_ref<bool(const Op &)> wanted,
           llvm::function_ref<void(ValueId, const RankTensors &)> made);

  const Body &body() const { return body_; }
  /// The value that the ranks hold together; this also compares what ranks should hold alike.
  Tensor whole(ValueId id, const RankTensors &parts) const;
  /// Throws InterpFault if the value has not been computed.
  const RankTensors &value(ValueId id) const;
  /// `blocks[1].attn.q`; the path alone where the value has no name.
  std::string nameOf(ValueId id) const;

private:
  friend class UnitOpRun;
  RunContext &context_;
  const Body &body_;
  std::string path_;
  uint64_t seed_;
  std::vector<std::optional<RankTensors>> values_;
};

} // namespace stg::interp

#endif
