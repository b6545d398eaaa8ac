//===- NodeNames.cpp - what nodes are called -----------------------------------===//
#include "NodeNames.h"
#include "TensorNames.h"
#include "fmt/format.h"

namespace stg {

void NodeName::set(std::string name) {
  name_ = std::move(name);
  unit_ = UnitId();
}

void NodeName::set(UnitId unit, const NodeTemplate &from, bool isPerBatch, uint32_t microBatch) {
  uint64_t batch = isPerBatch ? microBatch : ~uint64_t{0};
  if (unit_ != unit || batch_ != batch) {
    unit_ = unit;
    batch_ = batch;
    name_ = isPerBatch ? "F" + std::to_string(microBatch) + ":" : "S:";
    std::string path = program_.unitPath(program_.units[unit.index]);
    hasPath_ = !path.empty();
    name_ += path;
    prefix_ = name_.size();
  }
  name_.resize(prefix_);
  name_[0] = from.action;
  if (from.name.empty())
    return;
  if (hasPath_ && from.name[0] != '/')
    name_ += '.';
  name_ += from.name;
}

void NodeName::setMessage(const Transfer &transfer, uint32_t microBatch, llvm::StringRef what, int64_t distance) {
  const Unit &unit = program_.units[transfer.value.unit.index];
  const Body &body = program_.body(unit);
  set(fmt::format("{}{}:{}/{}({}{:+d})", transfer.isForward() ? 'F' : 'B', microBatch,
                  TensorNames::join(program_.unitPath(unit), program_.text(body.outputs[transfer.value.output].name)),
                  std::string_view(what), program_.plan.pipeline ? program_.plan.pipeline->axis : "", distance));
}

void NodeName::setSum(const BufferSum &sum, llvm::StringRef axes) {
  const auto *unit = std::get_if<UnitId>(&sum.of);
  std::string name = unit ? program_.unitPath(program_.units[unit->index])
                          : program_.text(program_.weights[std::get<WeightId>(sum.of).index].name).str();
  set(fmt::format("S:{}/all_reduce({})", name, std::string_view(axes)));
}

} // namespace stg
