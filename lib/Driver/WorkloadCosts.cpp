//===- WorkloadCosts.cpp - the sums behind a report -------------------------===//
#include "WorkloadCosts.h"
#include "PathText.h"
#include "stg/Analysis/ActiveParameters.h"
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/Streams.h"
#include "stg/IR/LayoutOps.h"
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
        units_(unitsPerBody(program)), paths_(bodyPaths(program)), groups_(program) {
    costs_.parameters = costs_.activeParameters = costs_.weightBytes = zero_;
    costs_.model = costs_.recomputed = {zero_, zero_};
    for (uint32_t rank = 0; rank < pipelineRanks(program); ++rank) {
      runs_.push_back(runsPerBody(program, rank));
      costs_.classes.push_back(
          {program.mesh.ranks() / pipelineRanks(program), noCost(), {}, {0, 0, zero_, zero_}, {}, 0});
    }
    costs_.hardware = zero_;
  }

  WorkloadCosts run() {
    for (const ProgramWeight &weight : program_.weights)
      addWeight(program_.text(weight.name).str(), weight.type, 1, shareOf(weight.name));
    std::vector<bool> seen(program_.bodies.size(), false);
    for (const Unit &unit : program_.units) {
      if (seen[unit.body.index])
        continue;
      seen[unit.body.index] = true;
      addWeights(unit.body);
      addModel(unit.body);
      addKernels(unit.body);
    }
    for (uint32_t rank = 0; rank < costs_.classes.size(); ++rank) {
      RankCosts &one = costs_.classes[rank];
      costs_.hardware = costs_.hardware + (one.work.contraction + one.work.other) * one.ranks;
      one.nodes += one.work.kernels; // beside further steps of rings
      addCommunication(rank);
      addHostTraffic(rank);
      one.stored = storedBytes(program_, rank);
    }
    findLargest();
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

  void addWeight(std::string path, const TensorType &type, int64_t count, const DimExpr &activeShare) {
    DimExpr size = elementCount(type, context_.dims) * count;
    costs_.parameters = costs_.parameters + size;
    costs_.activeParameters = costs_.activeParameters + size * activeShare;
    costs_.weightBytes = costs_.weightBytes + byteCount(type, context_.dims) * count;
    costs_.weights.push_back({std::move(path), type, count, size});
  }

  void addWeights(BodyId id) {
    const Body &body = program_.body(id);
    std::vector<DimExpr> shares = activeShares(body, context_);
    for (size_t i = 0; i < body.weights.size(); ++i) {
      const WeightSlot &slot = body.weights[i];
      if (slot.owned)
        addWeight(paths_[id.index].family + "." + program_.text(slot.name).str(), slot.type, units_[id.index],
                  shares[i]);
    }
  }

  /// Of a weight of the program, what a token passes through in the first body that reads it.
  DimExpr shareOf(NameId weight) const {
    for (const Unit &unit : program_.units) {
      const Body &body = program_.body(unit);
      for (size_t i = 0; i < body.weights.size(); ++i)
        if (!body.weights[i].owned && body.weights[i].name == weight)
          return activeShares(body, context_)[i];
    }
    return context_.dims.constant(int64_t(1));
  }

  void addModel(BodyId id) {
    const Body &body = program_.body(id);
    for (const Op &op : body.ops) {
      OpCost all = stg::costOf(op, body, context_), cost = modelCost(all, op.part);
      int64_t times = units_[id.index] * timesPerStep(op.part, program_);
      costs_.model = {costs_.model.contraction + cost.contraction * times, costs_.model.other + cost.other * times};
      if (op.part == Part::Recompute)
        costs_.recomputed = {costs_.recomputed.contraction + all.contraction * times,
                             costs_.recomputed.other + all.other * times};
    }
  }

  void addKernels(BodyId id) {
    const Body &body = program_.body(id);
    UnitRow row{paths_[id.index].name, units_[id.index], noCost()};
    BodyStreams streams(program_, body);
    for (const Kernel &kernel : groupKernels(body, program_).kernels) {
      OpCost flops = modelCost(kernel.flops, kernel.part);
      StepCost &ofKind = costs_.byOp.try_emplace(kindOf(kernel, body, program_), noCost()).first->second;
      for (size_t rank = 0; rank < runs_.size(); ++rank) {
        int64_t times = runs_[rank][id.index].of(kernel.part);
        if (times == 0)
          continue;
        if (const Stream *stream = streams.of(kernel.ops.front()))
          costs_.classes[rank].nodes += times * (stream->steps() - 1);
        for (StepCost *sum : {&row.cost, &ofKind, &costs_.classes[rank].work}) {
          sum->contraction = sum->contraction + flops.contraction * times;
          sum->other = sum->other + flops.other * times;
          sum->bytes = sum->bytes + kernel.bytes * times;
          sum->kernels += times;
        }
      }
    }
    costs_.units.push_back(std::move(row));
  }

  void addCommunication(uint32_t rank) {
    RankCosts &one = costs_.classes[rank];
    std::map<std::pair<std::string, std::string>, CommunicationSum> sums;
    auto add = [&](std::string kind, std::string axes, int64_t groupSize, int64_t count, DimExpr bytes) {
      CommunicationSum &sum =
          sums.try_emplace({axes, kind}, CommunicationSum{kind, axes, groupSize, 0, zero_}).first->second;
      sum.count += count;
      sum.bytes = sum.bytes + bytes;
      one.nodes += count;
    };
    for (const CommunicationRow &row : communicationOf(program_, rank)) {
      const Op &op = program_.body(row.body).op(row.op);
      std::string axes = axesText(op.get<CollectiveFields>().atoms, program_.mesh);
      if (row.messages == 0) {
        add(mnemonic(op.kind).str(), axes, row.groupSize, row.count, row.bytes * row.count);
        continue;
      }
      add("send", axes, row.groupSize, row.count * row.messages, row.bytes * row.count);
      one.nodes += row.count * row.messages; // as many are received
    }
    if (program_.pipeline)
      addPipeline(rank, add);
    for (auto &[key, sum] : sums)
      one.communication.push_back(std::move(sum));
  }

  void addHostTraffic(uint32_t rank) {
    HostTraffic &host = costs_.classes[rank].host;
    RankShare share(program_);
    for (uint32_t id = 0; id < runs_[rank].size(); ++id)
      for (const Op &op : program_.bodies[id].ops) {
        int64_t times = isHostTransfer(op.kind) ? runs_[rank][id].of(op.part) : 0;
        if (times == 0)
          continue;
        costs_.classes[rank].nodes += times;
        (op.kind == OpKind::Load ? host.loads : host.stores) += times;
        DimExpr &bytes = op.kind == OpKind::Load ? host.loaded : host.stored;
        for (ValueId value : op.operands)
          bytes = bytes + share.bytesOf(program_.bodies[id].value(value)) * times;
      }
  }

  /// Messages to other stages, and sums of gradients that several stages hold.
  template <class Add> void addPipeline(uint32_t rank, Add add) {
    const Pipeline &pipeline = *program_.pipeline;
    std::string axis = axesText(pipeline.atoms, program_.mesh);
    if (MessageSum sent = messagesOf(program_, rank); sent.count != 0)
      add("send", axis, 2, sent.count, sent.bytes);
    for (const BufferSum &sum : pipeline.sums)
      if (llvm::is_contained(sum.ranks, rank))
        add(mnemonic(OpKind::AllReduce).str(), groups_.kinds()[groups_.kindOfSum(sum.ranks)].axes,
            static_cast<int64_t>(sum.ranks.size()), 1, bytesOf(sum, program_));
    // As many are received: each rank's are counted where they are sent.
    for (const Transfer &transfer : pipeline.transfers)
      for (const std::vector<uint32_t> &copy : pipeline.placement.copies)
        if (copy[transfer.to] == rank)
          costs_.classes[rank].nodes += pipeline.placement.microBatchesPerCopy();
  }

  void findLargest() {
    auto flops = [](const RankCosts &one) { return numberOf(one.work.contraction + one.work.other); };
    auto bytes = [](const RankCosts &one) {
      return numberOf(one.stored.weights + one.stored.gradients + one.stored.optimizer + one.stored.states);
    };
    for (size_t i = 1; i < costs_.classes.size(); ++i) {
      if (flops(costs_.classes[i]) > flops(costs_.classes[costs_.busiest]))
        costs_.busiest = i;
      if (bytes(costs_.classes[i]) > bytes(costs_.classes[costs_.fullest]))
        costs_.fullest = i;
    }
  }

  const Program &program_;
  IRContext &context_;
  DimExpr zero_;
  std::vector<int64_t> units_;
  std::vector<std::vector<BodyRuns>> runs_; ///< per class, by body
  std::vector<BodyPath> paths_;
  ProcessGroups groups_;
  WorkloadCosts costs_;
};

} // namespace

WorkloadCosts stg::costsOf(const Program &program) { return CostCollector(program).run(); }

double stg::numberOf(DimExpr value) {
  std::optional<Rational> number = value.rational();
  return number ? number->toDouble() : 0;
}
