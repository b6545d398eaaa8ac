//===- UnevenTraffic.cpp - what uneven all-to-alls carry ----------------------===//
#include "stg/Analysis/UnevenTraffic.h"
#include "stg/Analysis/Cost.h"
#include "llvm/ADT/STLExtras.h"

namespace stg {

const ExpertLoads &UnevenCommunication::loadsOf(BodyId body) {
  auto known = loads_.find(body.index);
  if (known == loads_.end())
    known = loads_.emplace(body.index, ExpertLoads(program_, program_.body(body))).first;
  return known->second;
}

std::optional<ExchangeBytes> UnevenCommunication::bytesOf(const CommunicationRow &row) {
  const Body &body = program_.body(row.body);
  const ExpertLoads &loads = loadsOf(row.body);
  std::optional<ExpertExchange> exchange = exchangeOf(body.op(row.op), body, program_, loads);
  if (!exchange)
    return std::nullopt;
  std::vector<MeshAtom> atoms = program_.mesh.atoms();
  // Ranks with the same coordinates on these have the same bytes.
  ExpertExchange all = *exchange;
  for (const ExpertFamily &family : loads.families())
    for (uint32_t atom : family.atoms)
      if (!llvm::is_contained(all.atoms, atom))
        all.atoms.push_back(atom);
  ExchangeBytes bytes{.padded = 0, .least = INT64_MAX, .most = 0};
  bytes.meanOver = 0;
  for (int64_t rank : all.group(0, atoms)) {
    std::vector<int64_t> group = exchange->group(rank, atoms), shares;
    for (int64_t member : group)
      shares.push_back(exchange->shareOf(member, loads));
    int64_t own = exchange->trueBytes(shares, static_cast<size_t>(llvm::find(group, rank) - group.begin()));
    bytes.padded = std::max(bytes.padded, exchange->paddedBytes(shares));
    bytes.least = std::min(bytes.least, own);
    bytes.most = std::max(bytes.most, own);
    bytes.mean += own;
    ++bytes.meanOver;
  }
  return bytes;
}

UnevenTraffic UnevenCommunication::total() {
  UnevenTraffic total;
  Int128 ranks = program_.mesh.ranks() / pipelineRanks(program_);
  for (uint32_t place = 0; place < pipelineRanks(program_); ++place)
    for (const CommunicationRow &row : communicationOf(program_, place))
      if (std::optional<ExchangeBytes> bytes = bytesOf(row)) {
        total.paddedBytes += ranks * row.count * bytes->padded;
        total.trueBytes += bytes->mean * ranks / bytes->meanOver * row.count;
      }
  std::vector<bool> seen(program_.bodies.size(), false);
  for (const Unit &unit : program_.units) {
    if (seen[unit.body.index])
      continue;
    seen[unit.body.index] = true;
    for (const ExpertFamily &family : loadsOf(unit.body).families())
      if (llvm::none_of(total.families, [&](const ExpertFamily &known) {
            return known.experts == family.experts && known.slots == family.slots && known.asked == family.asked &&
                   known.taken == family.taken && known.senders == family.senders;
          }))
        total.families.push_back(family);
  }
  return total;
}

} // namespace stg
