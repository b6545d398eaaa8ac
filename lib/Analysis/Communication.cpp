//===- Communication.cpp ----------------------------------------------------===//
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/Streams.h"

namespace stg {

bool communicates(OpKind kind) {
  switch (kind) {
  case OpKind::AllGather:
  case OpKind::ReduceScatter:
  case OpKind::AllReduce:
  case OpKind::AllToAll:
    return true;
  default:
    return false;
  }
}

std::vector<CommunicationRow> communicationOf(const Program &program, uint32_t pipelineRank) {
  DimContext &dims = program.context->dims;
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  std::vector<BodyRuns> runs = runsPerBody(program, pipelineRank);
  std::vector<CommunicationRow> rows;
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    const Body &body = program.body(unit);
    if (runs[unit.body.index].inStep == 0)
      continue;
    BodyStreams streams(program, body);
    for (uint32_t i = 0; i < body.ops.size(); ++i) {
      const Op &op = body.ops[i];
      if (!communicates(op.kind))
        continue;
      CommunicationRow row{unit.body,
                           OpId(i),
                           runs[unit.body.index].of(op.part),
                           dims.constant(int64_t(0)),
                           dims.constant(int64_t(0)),
                           groupSize(op.get<CollectiveFields>().atoms, atoms)};
      for (ValueId operand : op.operands) {
        const Value &value = body.value(operand);
        row.bytes = row.bytes + byteCount(localize(*value.type, *value.layout, atoms, dims), dims);
        row.globalBytes = row.globalBytes + byteCount(*value.type, dims);
      }
      if (const Stream *stream = streams.of(OpId(i))) {
        row.messages = stream->hops();
        row.bytes = streams.sentBytes(OpId(i));
      }
      rows.push_back(row);
    }
  }
  return rows;
}

MessageSum messagesOf(const Program &program, uint32_t pipelineRank) {
  MessageSum sum{0, program.context->dims.constant(int64_t(0))};
  if (!program.pipeline)
    return sum;
  RankShare share(program);
  const Placement &placement = program.pipeline->placement;
  for (const Transfer &transfer : program.pipeline->transfers)
    for (const std::vector<uint32_t> &copy : placement.copies) {
      if (copy[transfer.from] != pipelineRank)
        continue;
      const Body &body = program.body(program.units[transfer.value.unit.index]);
      DimExpr bytes = share.bytesOf(body.value(body.outputs[transfer.value.output].value));
      sum.count += placement.microBatchesPerCopy();
      sum.bytes = sum.bytes + bytes * int64_t{placement.microBatchesPerCopy()};
    }
  return sum;
}

DimExpr bytesOf(const BufferSum &sum, const Program &program) {
  RankShare share(program);
  DimExpr bytes = program.context->dims.constant(int64_t(0));
  auto add = [&](const WeightSlot &slot) {
    bytes = bytes + share.bytesOf(TensorType{slot.gradient, slot.type.dims}, slot.buffer);
  };
  if (const auto *unit = std::get_if<UnitId>(&sum.of)) {
    for (const WeightSlot &slot : program.body(program.units[unit->index]).weights)
      if (slot.owned && slot.buffer)
        add(slot);
    return bytes;
  }
  // The step of each rank has a slot for each buffer of the weight.
  const Pipeline &pipeline = *program.pipeline;
  for (uint32_t u = pipeline.firstUnits.back(); u < program.units.size(); ++u)
    if (pipeline.runsOn(UnitId(u), sum.ranks.front())) {
      const Body &body = program.body(program.units[u]);
      for (uint32_t slot = 0; slot < body.weights.size(); ++slot)
        if (body.weights[slot].buffer && weightAt(program, UnitId(u), slot) == WeightPlace(std::get<WeightId>(sum.of)))
          add(body.weights[slot]);
    }
  return bytes;
}

} // namespace stg
