//===- Communication.cpp ----------------------------------------------------===//
#include "stg/Analysis/Communication.h"
#include "stg/Analysis/Cost.h"

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

std::vector<CommunicationRow> communicationOf(const Program &program) {
  DimContext &dims = program.context->dims;
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  std::vector<int64_t> units = unitsPerBody(program);
  std::vector<CommunicationRow> rows;
  std::vector<bool> seen(program.bodies.size(), false);
  for (const Unit &unit : program.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    const Body &body = program.body(unit);
    for (uint32_t i = 0; i < body.ops.size(); ++i) {
      const Op &op = body.ops[i];
      if (!communicates(op.kind))
        continue;
      CommunicationRow row{unit.body,
                           OpId(i),
                           units[unit.body.index] * timesPerStep(op.part, program),
                           dims.constant(int64_t(0)),
                           dims.constant(int64_t(0)),
                           groupSize(op.get<CollectiveFields>().atoms, atoms)};
      for (ValueId operand : op.operands) {
        const Value &value = body.value(operand);
        row.bytes = row.bytes + byteCount(localize(*value.type, *value.layout, atoms, dims), dims);
        row.globalBytes = row.globalBytes + byteCount(*value.type, dims);
      }
      rows.push_back(row);
    }
  }
  return rows;
}

} // namespace stg
