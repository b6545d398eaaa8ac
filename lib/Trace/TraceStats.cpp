//===- TraceStats.cpp - counts and sums over a trace set -------------------===//

#include "stg/Trace/TraceStats.h"

namespace stg {

void TraceStats::beginRank(uint32_t rank, uint64_t fileBytes) {
  RankTotals &totals = ranks_.emplace_back();
  totals.rank = rank;
  totals.fileBytes = fileBytes;
}

void TraceStats::add(const DecodedNode &node) {
  RankTotals &rank = ranks_.back();
  ++rank.nodes;
  uint64_t flops = node.number("num_ops").value_or(0);
  bool isComm = node.is(EtNodeType::Coll) || node.is(EtNodeType::Send) || node.is(EtNodeType::Recv);
  uint64_t bytes = node.number(isComm ? "comm_size" : "tensor_size").value_or(0);

  auto count = [&](NodeTotals &totals) {
    ++totals.nodes;
    totals.flops += flops;
    totals.bytes += bytes;
  };
  count(byType_[nodeTypeName(node.type)]);
  if (node.is(EtNodeType::Comp)) {
    const DecodedAttribute *op = node.find("op_type");
    count(byOp_[op && op->asString() ? *op->asString() : "-"]);
    if (machine_) {
      if (std::optional<uint64_t> time = rooflineNanoseconds(flops, bytes, *machine_))
        rank.rooflineNs += *time;
      else
        ++rank.untimed;
    }
  }
  if (node.is(EtNodeType::Coll))
    count(byCollective_[collectiveName(node.number("comm_type").value_or(UINT64_MAX))]);
}

NodeTotals TraceStats::total() const {
  NodeTotals sum;
  for (const auto &[type, totals] : byType_) {
    sum.nodes += totals.nodes;
    sum.flops += totals.flops;
    sum.bytes += totals.bytes;
  }
  return sum;
}

} // namespace stg
