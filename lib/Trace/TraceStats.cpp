//===- TraceStats.cpp - counts and sums over a trace set -------------------===//

#include "stg/Trace/TraceStats.h"
#include <algorithm>
#include <charconv>
#include <sstream>

namespace stg {

static int64_t groupId(std::string_view text) {
  int64_t id = 0;
  std::from_chars(text.data(), text.data() + text.size(), id);
  return id;
}

TraceStats::TraceStats(std::optional<Machine> machine, std::optional<GroupTable> groups) : machine_(machine) {
  if (groups)
    for (const auto &[key, ranks] : *groups)
      groupSizes_[groupId(key)] = ranks.size();
}

void TraceStats::beginRank(uint32_t rank, uint64_t fileBytes, const DecodedMetadata *metadata) {
  RankTotals &totals = ranks_.emplace_back();
  totals.rank = rank;
  totals.fileBytes = fileBytes;
  current_ = {.ranks = {rank}, .total = {}, .communication = {}};
  groupKinds_.clear();
  groupStride_ = 1;
  for (const DecodedAttribute &attribute : metadata ? metadata->attributes : std::vector<DecodedAttribute>()) {
    if (attribute.name == "group_kinds" && attribute.asString()) {
      std::istringstream text(*attribute.asString());
      for (std::string axes; text >> axes;)
        groupKinds_.push_back(axes);
    }
    if (attribute.name == "group_stride")
      groupStride_ = std::max<uint64_t>(attribute.asUnsigned().value_or(1), 1);
  }
}

/// Ids of our own groups say their kind (ProcessGroups.h).
CommunicationKind TraceStats::kindOf(const DecodedNode &node) const {
  if (!node.is(EtNodeType::Coll))
    return {.kind = nodeTypeName(node.type), .axes = {}, .groupSize = 2};
  CommunicationKind kind{.kind = collectiveName(node.number("comm_type").value_or(UINT64_MAX)), .axes = {}};
  const DecodedAttribute *group = node.find("pg_name");
  int64_t id = group && group->asString() ? groupId(*group->asString()) : 0;
  if (id > 0 && static_cast<uint64_t>(id - 1) % groupStride_ < groupKinds_.size())
    kind.axes = groupKinds_[static_cast<uint64_t>(id - 1) % groupStride_];
  if (auto found = groupSizes_.find(id); found != groupSizes_.end())
    kind.groupSize = found->second;
  return kind;
}

void TraceStats::endRank() {
  auto same = [&](const RankClass &other) {
    return other.total == current_.total && other.communication == current_.communication;
  };
  auto found = std::find_if(classes_.begin(), classes_.end(), same);
  if (found != classes_.end())
    found->ranks.push_back(current_.ranks[0]);
  else
    classes_.push_back(std::move(current_));
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
  count(current_.total);
  if (isComm)
    count(current_.communication[kindOf(node)]);
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
  std::optional<uint64_t> trueBytes = node.number("stg.true_bytes"), paddedBytes = node.number("stg.padded_bytes");
  if (isComm && (trueBytes || paddedBytes)) {
    ++uneven_.nodes;
    uneven_.trueBytes += trueBytes.value_or(bytes);
    uneven_.paddedBytes += paddedBytes.value_or(bytes);
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
