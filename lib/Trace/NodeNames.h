//===- NodeNames.h - what nodes are called -------------------------------------===//
#pragma once

#include "UnrollTemplates.h"

namespace stg {

/// `F3:blocks[7].attn.q`. The name of the node at hand; nodes of one unit and micro-batch share the beginning.
class NodeName {
public:
  explicit NodeName(const Program &program) : program_(program) {}

  llvm::StringRef text() const { return name_; }
  void set(std::string name);
  void append(llvm::StringRef more) { name_ += more; }
  void set(UnitId unit, const NodeTemplate &from, bool isPerBatch, uint32_t microBatch);
  /// `F3:blocks[7].x/send(pp+1)`.
  void setMessage(const Transfer &transfer, uint32_t microBatch, llvm::StringRef what, int64_t distance);
  /// `S:wte/all_reduce(pp[0+3])`.
  void setSum(const BufferSum &sum, llvm::StringRef axes);

private:
  const Program &program_;
  std::string name_;
  UnitId unit_;
  uint64_t batch_ = 0;
  size_t prefix_ = 0;
  bool hasPath_ = false;
};

} // namespace stg
