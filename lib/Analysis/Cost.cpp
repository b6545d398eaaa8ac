//===- Cost.cpp - FLOPs of ops, bodies and programs -------------------------===//
#include "stg/Analysis/Cost.h"

namespace stg {

namespace {

const TensorType &typeOf(const Body &body, ValueId value) { return *body.value(value).type; }

DimExpr zero(IRContext &context) { return context.dims.constant(int64_t(0)); }

/// Product of the sizes of all dims that some operand has.
DimExpr iterationSize(const Op &op, const Body &body, IRContext &context) {
  TensorType all;
  for (ValueId operand : op.operands)
    for (const Dim &dim : typeOf(body, operand).dims)
      if (!all.has(dim.name))
        all.dims.push_back(dim);
  return elementCount(all, context.dims);
}

OpCost computeNoCost(const Op &, const Body &, IRContext &context) { return {zero(context), zero(context)}; }

OpCost computeContractCost(const Op &op, const Body &body, IRContext &context) {
  // A number scales the sum, not what is summed.
  int64_t factors = llvm::count_if(op.operands, [&](ValueId operand) { return !typeOf(body, operand).dims.empty(); });
  return {iterationSize(op, body, context) * factors, zero(context)};
}

OpCost computeMapCost(const Op &op, const Body &body, IRContext &context) {
  int64_t perElement = 0;
  if (op.kind == OpKind::Dropout) {
    perElement = 2;
  } else if (op.kind == OpKind::Masked) {
    perElement = 1;
  } else {
    MapFn fn = op.get<MapFields>().fn;
    int64_t steps = arity(fn) == 0 ? static_cast<int64_t>(op.operands.size()) - 1 : 1;
    perElement = flopsPerElement(fn) * steps;
  }
  return {zero(context), elementCount(typeOf(body, op.results[0]), context.dims) * perElement};
}

OpCost computeReduceCost(const Op &op, const Body &body, IRContext &context) {
  return {zero(context), iterationSize(op, body, context)};
}

OpCost computeScatterCost(const Op &op, const Body &body, IRContext &context) {
  return {zero(context), iterationSize(op, body, context)};
}

OpCost computeCallCost(const Op &op, const Body &, IRContext &context) {
  const auto &fields = op.get<CallFields>();
  return {fields.flops ? fields.flops : zero(context), fields.other ? fields.other : zero(context)};
}

} // namespace

OpCost costOf(const Op &op, const Body &body, IRContext &context) {
  switch (op.kind) {
#define OP(kind, mnemonic, shapeRule, factorRule, costRule, ...)                                                       \
  case OpKind::kind:                                                                                                   \
    return compute##costRule(op, body, context);
#include "stg/IR/Ops.def"
  }
  return computeNoCost(op, body, context);
}

OpCost costOf(const Body &body, IRContext &context, PassStats &stats) {
  OpCost sum{zero(context), zero(context)};
  for (const Op &op : body.ops) {
    ++stats.opVisits;
    OpCost cost = costOf(op, body, context);
    sum.contraction = sum.contraction + cost.contraction;
    sum.other = sum.other + cost.other;
  }
  return sum;
}

std::vector<int64_t> unitsPerBody(const Program &program) {
  std::vector<int64_t> count(program.bodies.size(), 0);
  for (const Unit &unit : program.units)
    ++count[unit.body.index];
  return count;
}

int64_t timesPerStep(Part part, const Program &program) {
  return runsOncePerStep(part) ? 1 : program.plan.microBatches;
}

std::vector<BodyRuns> runsPerBody(const Program &program, uint32_t pipelineRank) {
  std::vector<BodyRuns> runs(program.bodies.size());
  for (uint32_t u = 0; u < program.units.size(); ++u) {
    BodyRuns &body = runs[program.units[u].body.index];
    if (!program.pipeline) {
      ++body.inStep;
      body.inMicroBatches += program.plan.microBatches;
      continue;
    }
    const Pipeline &pipeline = *program.pipeline;
    if (!pipeline.runsOn(UnitId(u), pipelineRank))
      continue;
    ++body.inStep;
    if (std::optional<uint32_t> stage = pipeline.stageOf(UnitId(u)))
      for (const std::vector<uint32_t> &copy : pipeline.placement.copies)
        if (copy[*stage] == pipelineRank)
          body.inMicroBatches += pipeline.placement.microBatchesPerCopy();
  }
  return runs;
}

OpCost costOf(const Program &program, PassStats &stats) {
  IRContext &context = *program.context;
  OpCost sum{zero(context), zero(context)};
  std::vector<int64_t> units = unitsPerBody(program);
  for (size_t i = 0; i < units.size(); ++i) {
    if (units[i] == 0)
      continue;
    OpCost cost = costOf(program.bodies[i], context, stats);
    sum.contraction = sum.contraction + cost.contraction * units[i];
    sum.other = sum.other + cost.other * units[i];
  }
  return sum;
}

DimExpr parameterCount(const Program &program) {
  IRContext &context = *program.context;
  DimExpr sum = zero(context);
  for (const ProgramWeight &weight : program.weights)
    sum = sum + elementCount(weight.type, context.dims);
  std::vector<int64_t> units = unitsPerBody(program);
  for (size_t i = 0; i < units.size(); ++i)
    for (const WeightSlot &slot : program.bodies[i].weights)
      if (slot.owned)
        sum = sum + elementCount(slot.type, context.dims) * units[i];
  return sum;
}

RankShare::RankShare(const Program &program) : context_(*program.context) {
  if (program.level >= Level::Laid)
    atoms_ = program.mesh.atoms();
}

OpCost RankShare::costOf(const Op &op, const Body &body) const {
  OpCost cost = stg::costOf(op, body, context_);
  int64_t parts = 1;
  for (size_t atom = 0; atom < std::min(atoms_.size(), op.compute.size()); ++atom)
    if (op.compute[atom] >= 0)
      parts *= atoms_[atom].size;
  if (parts == 1)
    return cost;
  DimExpr divisor = context_.dims.constant(parts);
  return {cost.contraction / divisor, cost.other / divisor};
}

DimExpr RankShare::bytesOf(const TensorType &type, const std::optional<Layout> &layout) const {
  if (atoms_.empty() || !layout)
    return byteCount(type, context_.dims);
  return byteCount(localize(type, *layout, atoms_, context_.dims), context_.dims);
}

DimExpr RankShare::sizeOf(const Value &value, NameId dim) const {
  if (atoms_.empty() || !value.layout)
    return value.type->find(dim)->size;
  for (const Dim &local : localize(*value.type, *value.layout, atoms_, context_.dims).dims)
    if (local.name == dim)
      return local.size;
  return value.type->find(dim)->size;
}

DimExpr RankShare::declaredBytes(const Op &call, const Body &body) const {
  DimExpr declared = call.get<CallFields>().bytes;
  if (!declared || atoms_.empty())
    return declared;
  DimExpr local = zero(context_), global = zero(context_);
  for (llvm::ArrayRef<ValueId> values : {llvm::ArrayRef(call.operands), llvm::ArrayRef(call.results)}) {
    for (ValueId value : values) {
      local = local + bytesOf(body.value(value));
      global = global + byteCount(typeOf(body, value), context_.dims);
    }
  }
  if (local == global)
    return declared;
  return declared * local / global;
}

} // namespace stg
