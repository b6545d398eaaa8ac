//===- ClassLoads.cpp - what templates cost where loads of experts are uneven -===//
#include "ClassLoads.h"
#include "fmt/format.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {
namespace {

uint64_t scaled(uint64_t even, const LoadRatio &ratio) {
  constexpr Int128 kLargestCount = INT64_MAX;
  return static_cast<uint64_t>(std::min(ratio.of(Int128{even}), kLargestCount));
}

/// Whether ranks that differ on the atom only have different loads.
bool differsAlong(uint32_t atom, uint32_t split, const ExpertLoads &loads, const std::vector<MeshAtom> &atoms) {
  ExpertExchange all;
  all.atoms = loads.atomsOf(split);
  return llvm::any_of(all.group(0, atoms), [&](int64_t rank) {
    int64_t first = rank - coordinate(rank, atoms[atom]) * atoms[atom].stride;
    return rank != first && loads.ratio(split, rank) != loads.ratio(split, first);
  });
}

} // namespace

TraceNode PeerMessage::node(uint32_t firstRank, uint32_t tag) const {
  TraceNode node;
  node.kind = isSend ? TraceNodeKind::Send : TraceNodeKind::Recv;
  node.bytes = bytes;
  node.paddedBytes = isSend ? paddedBytes : 0;
  node.sourceRank = isSend ? firstRank : peer;
  node.destinationRank = isSend ? peer : firstRank;
  node.tag = tag;
  return node;
}

std::string PeerMessage::suffix(const std::string &axes) const {
  return fmt::format("/{}({}{:+d})", isSend ? "send" : "recv", axes, distance);
}

AtomList loadAtomsOf(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates) {
  std::vector<MeshAtom> all = program.mesh.atoms();
  AtomList atoms;
  for (const std::optional<BodyTemplate> &body : templates)
    for (uint32_t split = 0; body && split < body->loads.splits(); ++split)
      for (uint32_t atom : body->loads.atomsOf(split))
        if (!llvm::is_contained(atoms, atom) &&
            (program.routing.exchange == UnevenExchange::Peers || differsAlong(atom, split, body->loads, all)))
          atoms.push_back(atom);
  llvm::sort(atoms);
  return atoms;
}

ClassLoads::ClassLoads(const Program &program, llvm::ArrayRef<std::optional<BodyTemplate>> templates,
                       uint32_t firstRank)
    : atoms_(program.mesh.atoms()), ratios_(templates.size()) {
  for (size_t i = 0; i < templates.size(); ++i) {
    if (!templates[i] || templates[i]->loads.splits() == 0)
      continue;
    const BodyTemplate &body = *templates[i];
    for (uint32_t split = 0; split < body.loads.splits(); ++split)
      ratios_[i].push_back(body.loads.ratio(split, firstRank));
    for (const std::vector<NodeTemplate> &phase : body.nodes)
      for (const NodeTemplate &node : phase)
        if (node.exchange)
          exchanges_.emplace(node.number, sizesOf(*node.exchange, body.loads, firstRank));
  }
}

ClassLoads::ExchangeSizes ClassLoads::sizesOf(const ExpertExchange &exchange, const ExpertLoads &loads,
                                              int64_t rank) const {
  std::vector<int64_t> group = exchange.group(rank, atoms_), shares;
  for (int64_t member : group)
    shares.push_back(exchange.shareOf(member, loads));
  auto self = static_cast<size_t>(llvm::find(group, rank) - group.begin());
  ExchangeSizes sizes;
  sizes.bytes = static_cast<uint64_t>(exchange.paddedBytes(shares));
  sizes.trueBytes = static_cast<uint64_t>(exchange.trueBytes(shares, self));
  if (!exchange.isAllToAll())
    return sizes;
  auto largest = static_cast<uint64_t>(*std::max_element(shares.begin(), shares.end()));
  bool isSizedByReceiver = exchange.way == ExpertExchange::Way::ToExperts;
  for (bool isSend : {false, true})
    for (size_t distance = 1; distance < group.size(); ++distance) {
      size_t peer = (self + (isSend ? distance : group.size() - distance)) % group.size();
      auto bytes = static_cast<uint64_t>(shares[isSend == isSizedByReceiver ? peer : self]);
      if (bytes != 0)
        sizes.messages.push_back({.isSend = isSend,
                                  .peer = static_cast<uint32_t>(group[peer]),
                                  .distance = isSend ? static_cast<int64_t>(distance) : -static_cast<int64_t>(distance),
                                  .bytes = bytes,
                                  .paddedBytes = largest});
    }
  return sizes;
}

void ClassLoads::weigh(BodyId body, const NodeTemplate &from, TraceNode &node) const {
  node.flops = from.flops;
  node.bytes = from.bytes;
  if (from.exchange) {
    const ExchangeSizes &sizes = exchanges_.at(from.number);
    node.bytes = std::max(sizes.bytes, from.leastBytes);
    node.trueBytes = std::max<uint64_t>(sizes.trueBytes, 1);
    return;
  }
  for (const NodeTemplate::Uneven &uneven : from.uneven) {
    const LoadRatio &ratio = ratios_[body.index][uneven.split];
    node.flops += scaled(uneven.flops, ratio) - uneven.flops;
    node.bytes += scaled(uneven.bytes, ratio) - uneven.bytes;
  }
  node.bytes = std::max(node.bytes, from.leastBytes);
}

uint64_t ClassLoads::bytesOf(BodyId body, const TensorTemplate &tensor) const {
  return tensor.split == ExpertLoads::kEven ? tensor.bytes : scaled(tensor.bytes, ratios_[body.index][tensor.split]);
}

llvm::ArrayRef<PeerMessage> ClassLoads::messagesOf(const NodeTemplate &exchange) const {
  return exchanges_.at(exchange.number).messages;
}

} // namespace stg
