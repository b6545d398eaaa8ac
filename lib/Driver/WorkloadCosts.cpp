//===- WorkloadCosts.cpp - the sums behind a report -------------------------===//
#include "WorkloadCosts.h"
#include "PathText.h"
#include "stg/Analysis/Communication.h"
#include "stg/Trace/ProcessGroups.h"
#include "llvm/ADT/STLExtras.h"

using namespace stg;

namespace {

/// What a kernel is called in the by-op table: its contraction or op, else `element-wise`.
std::string kindOf(const Kernel &kernel, const Body &body, const Program &program) {
  for (OpId id : kernel.ops) {
    const Op &op = body.op(id);
    if (auto *call = std::get_if<CallFields>(&op.fields))
      return program.text(call->callee).str();
    if (op.kind == OpKind::Contract)
      return "contract";
  }
  const Op &last = body.op(kernel.ops.back());
  switch (last.kind) {
  case OpKind::Gather:
  case OpKind::Scatter:
  case OpKind::Concat:
  case OpKind::At:
  case OpKind::Slice:
  case OpKind::Append:
    return mnemonic(last.kind).str();
  default:
    return "element-wise";
  }
}

class CostCollector {
public:
  explicit CostCollector(const Program &program)
      : program_(program), context_(*program.context), zero_(context_.dims.constant(int64_t(0))),
        units_(unitsPerBody(program)), paths_(bodyPaths(program)) {
    costs_.parameters = costs_.weightBytes = zero_;
    costs_.model = {zero_, zero_};
    costs_.rank = noCost();
  }

  WorkloadCosts run() {
    for (const ProgramWeight &weight : program_.weights)
      addWeight(program_.text(weight.name).str(), weight.type, 1);
    std::vector<bool> seen(program_.bodies.size(), false);
    for (const Unit &unit : program_.units) {
      if (seen[unit.body.index])
        continue;
      seen[unit.body.index] = true;
      addWeights(unit.body);
      addModel(unit.body);
      addKernels(unit.body);
    }
    costs_.hardware = (costs_.rank.contraction + costs_.rank.other) * program_.mesh.ranks();
    addCommunication();
    costs_.nodes += costs_.rank.kernels;
    costs_.stored = storedBytes(program_);
    return std::move(costs_);
  }

private:
  StepCost noCost() const { return {zero_, zero_, zero_, 0}; }

  static bool isModelWork(Part part) {
    return part == Part::Forward || part == Part::InputGrad || part == Part::WeightGrad;
  }
  /// `flops`, with contractions that the model does not ask for among the others.
  OpCost modelCost(const OpCost &flops, Part part) const {
    return isModelWork(part) ? flops : OpCost{zero_, flops.other + flops.contraction};
  }

  void addWeight(std::string path, const TensorType &type, int64_t count) {
    DimExpr size = elementCount(type, context_.dims) * count;
    costs_.parameters = costs_.parameters + size;
    costs_.weightBytes = costs_.weightBytes + byteCount(type, context_.dims) * count;
    costs_.weights.push_back({std::move(path), type, count, size});
  }

  void addWeights(BodyId id) {
    for (const WeightSlot &slot : program_.body(id).weights)
      if (slot.owned)
        addWeight(paths_[id.index].family + "." + program_.text(slot.name).str(), slot.type, units_[id.index]);
  }

  void addModel(BodyId id) {
    const Body &body = program_.body(id);
    for (const Op &op : body.ops) {
      OpCost cost = modelCost(stg::costOf(op, body, context_), op.part);
      int64_t times = units_[id.index] * timesPerStep(op.part, program_);
      costs_.model = {costs_.model.contraction + cost.contraction * times, costs_.model.other + cost.other * times};
    }
  }

  void addKernels(BodyId id) {
    const Body &body = program_.body(id);
    UnitRow row{paths_[id.index].name, units_[id.index], noCost()};
    for (const Kernel &kernel : groupKernels(body, program_).kernels) {
      OpCost flops = modelCost(kernel.flops, kernel.part);
      int64_t times = units_[id.index] * timesPerStep(kernel.part, program_);
      StepCost &ofKind = costs_.byOp.try_emplace(kindOf(kernel, body, program_), noCost()).first->second;
      for (StepCost *sum : {&row.cost, &ofKind, &costs_.rank}) {
        sum->contraction = sum->contraction + flops.contraction * times;
        sum->other = sum->other + flops.other * times;
        sum->bytes = sum->bytes + kernel.bytes * times;
        sum->kernels += times;
      }
    }
    costs_.units.push_back(std::move(row));
  }

  void addCommunication() {
    std::map<std::pair<std::string, OpKind>, CommunicationSum> sums;
    for (const CommunicationRow &row : communicationOf(program_)) {
      const Op &op = program_.body(row.body).op(row.op);
      std::string axes = axesText(op.get<CollectiveFields>().atoms, program_.mesh);
      CommunicationSum &sum =
          sums.try_emplace({axes, op.kind}, CommunicationSum{op.kind, axes, row.groupSize, 0, zero_}).first->second;
      sum.count += row.count;
      sum.bytes = sum.bytes + row.bytes * row.count;
      costs_.nodes += row.count;
    }
    for (auto &[key, sum] : sums)
      costs_.communication.push_back(std::move(sum));
  }

  const Program &program_;
  IRContext &context_;
  DimExpr zero_;
  std::vector<int64_t> units_;
  std::vector<BodyPath> paths_;
  WorkloadCosts costs_;
};

} // namespace

WorkloadCosts stg::costsOf(const Program &program) { return CostCollector(program).run(); }
