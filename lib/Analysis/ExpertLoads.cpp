//===- ExpertLoads.cpp - what ranks with experts of their own have to do -------===//
#include "stg/Analysis/ExpertLoads.h"
#include "stg/Analysis/ExpertCounts.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

namespace stg {
namespace {

Int128 dividedUp(Int128 number, Int128 by) { return (number + by - 1) / by; }

int64_t sizeOf(DimExpr size) { return size.size().value_or(0); }

/// The factors of a call that carries tokens: indices.
struct CarryingCall {
  uint32_t slots = 0, experts = 0;
  DimExpr sent; ///< tokens times the experts of each
};

std::optional<CarryingCall> carryingCall(const CallFields &call) {
  auto carry = llvm::find_if(call.factors, [](const Factor &f) { return f.kind == FactorKind::Carry && f.along; });
  if (carry == call.factors.end())
    return std::nullopt;
  CarryingCall found{.slots = *carry->along, .experts = 0, .sent = {}};
  auto isWhole = [&](uint32_t factor) { return call.factors[factor].kind == FactorKind::Whole; };
  auto isCarried = [&](uint32_t factor) { return call.factors[factor].kind == FactorKind::Carry; };
  std::optional<uint32_t> experts, chosen;
  for (const auto *lists : {&call.operandFactors, &call.resultFactors})
    for (const auto &factors : *lists)
      for (uint32_t factor : factors)
        if (isWhole(factor) && factor != found.slots) {
          if (llvm::is_contained(factors, found.slots))
            experts = factor;
          else if (llvm::any_of(factors, isCarried))
            chosen = factor;
        }
  if (!experts || !chosen)
    return std::nullopt;
  found.experts = *experts;
  found.sent = call.factors[*chosen].dim.size;
  for (const Factor &factor : call.factors)
    if (factor.kind == FactorKind::Carry)
      found.sent = found.sent * factor.dim.size;
  return found;
}

} // namespace

std::vector<uint64_t> expertCounts(const Program &program) {
  std::vector<uint64_t> counts;
  for (const Body &body : program.bodies)
    for (const Op &op : body.ops)
      if (op.kind == OpKind::Call)
        if (std::optional<CarryingCall> call = carryingCall(op.get<CallFields>()))
          counts.push_back(static_cast<uint64_t>(sizeOf(op.get<CallFields>().factors[call->experts].dim.size)));
  llvm::sort(counts);
  counts.erase(std::unique(counts.begin(), counts.end()), counts.end());
  return counts;
}

Int128 LoadRatio::of(Int128 count, int64_t parts) const {
  return dividedUp(count * numerator, Int128{denominator} * parts);
}

int64_t ExpertFamily::dropped() const {
  return std::accumulate(asked.begin(), asked.end(), int64_t{0}) -
         std::accumulate(taken.begin(), taken.end(), int64_t{0});
}

//===----------------------------------------------------------------------===//
// Of a body
//===----------------------------------------------------------------------===//

ExpertLoads::ExpertLoads(const Program &program, const Body &body) {
  if (!program.routing.isUneven() || program.level < Level::Laid)
    return;
  atoms_ = program.mesh.atoms();
  for (const Op &op : body.ops)
    if (op.kind == OpKind::Call)
      addFamily(program, body, op);
  if (families_.empty())
    return;
  for (ExpertFamily &family : families_)
    for (const Value &value : body.values)
      if (value.layout && value.type->has(family.experts))
        for (uint32_t atom : value.layout->atomsOn(family.experts))
          if (!llvm::is_contained(family.atoms, atom))
            family.atoms.push_back(atom);
  for (ExpertFamily &family : families_)
    llvm::sort(family.atoms);
  for (const Value &value : body.values)
    splitOfValue_.push_back(findSplit(value));
}

void ExpertLoads::addFamily(const Program &program, const Body &body, const Op &op) {
  const auto &call = op.get<CallFields>();
  std::optional<CarryingCall> carrying = carryingCall(call);
  if (!carrying)
    return;
  ExpertFamily family;
  const Dim &experts = call.factors[carrying->experts].dim, &slots = call.factors[carrying->slots].dim;
  family.experts = experts.name;
  family.slots = slots.name;
  family.count = sizeOf(experts.size);
  family.capacity = sizeOf(slots.size);
  bool isKnown = llvm::any_of(families_, [&](const ExpertFamily &each) {
    return each.experts == family.experts && each.slots == family.slots && each.count == family.count &&
           each.capacity == family.capacity;
  });
  if (isKnown || family.count == 0 || family.capacity == 0)
    return;
  // Ranks between which the slots are split as their tokens are. Whole numbers only say how many tokens come.
  bool holdsTokens = false;
  for (llvm::ArrayRef<ValueId> values : {llvm::ArrayRef(op.operands), llvm::ArrayRef(op.results)})
    for (ValueId id : values)
      if (const Value &value = body.value(id); value.layout && value.type->has(slots.name)) {
        family.senders = groupSize(value.layout->atomsOn(slots.name), atoms_);
        holdsTokens |= isFloat(value.type->element);
      }
  if (!holdsTokens)
    return;
  family.sent = static_cast<int64_t>(dividedUp(sizeOf(carrying->sent), family.senders));
  family.slotsPerSender = static_cast<int64_t>(dividedUp(family.capacity, family.senders));
  std::vector<uint64_t> loads = loadsOf(program.routing, static_cast<size_t>(family.count));
  if (loads.size() != static_cast<size_t>(family.count))
    return; // Sema refuses that
  family.asked = apportion(family.sent, loads);
  family.taken = family.asked;
  if (program.routing.drops)
    for (int64_t &taken : family.taken)
      taken = std::min(taken, family.slotsPerSender);
  families_.push_back(std::move(family));
}

uint32_t ExpertLoads::findSplit(const Value &value) {
  for (uint32_t f = 0; f < families_.size(); ++f) {
    const ExpertFamily &family = families_[f];
    const Dim *experts = value.type ? value.type->find(family.experts) : nullptr;
    const Dim *slots = value.type ? value.type->find(family.slots) : nullptr;
    if (!value.layout || !experts || !slots || sizeOf(experts->size) != family.count ||
        sizeOf(slots->size) != family.capacity)
      continue;
    AtomList atoms = value.layout->atomsOn(family.experts);
    if (atoms.empty())
      return kEven;
    auto known = llvm::find_if(splits_, [&](const Split &each) { return each.family == f && each.atoms == atoms; });
    if (known == splits_.end())
      known = splits_.insert(known, {f, atoms});
    return static_cast<uint32_t>(known - splits_.begin());
  }
  return kEven;
}

uint32_t ExpertLoads::splitOf(const Op &op) const {
  if (splits_.empty())
    return kEven;
  for (llvm::ArrayRef<ValueId> values : {llvm::ArrayRef(op.operands), llvm::ArrayRef(op.results)})
    for (ValueId value : values)
      if (splitOf(value) != kEven)
        return splitOf(value);
  return kEven;
}

LoadRatio ExpertLoads::ratio(uint32_t split, int64_t rank) const {
  const ExpertFamily &family = families_[splits_[split].family];
  const AtomList &fixed = splits_[split].atoms;
  // Experts stand in blocks, numbered by the coordinates on all atoms that split them, major first.
  int64_t blocks = groupSize(family.atoms, atoms_);
  auto block = static_cast<int64_t>(dividedUp(family.count, blocks));
  int64_t taken = 0;
  for (int64_t expert = 0; expert < family.count; ++expert) {
    int64_t number = expert / block;
    bool isOwn = true;
    for (uint32_t atom : llvm::reverse(family.atoms)) {
      if (llvm::is_contained(fixed, atom))
        isOwn &= number % atoms_[atom].size == coordinate(rank, atoms_[atom]);
      number /= atoms_[atom].size;
    }
    if (isOwn)
      taken += family.taken[static_cast<size_t>(expert)];
  }
  auto own = static_cast<int64_t>(dividedUp(family.count, groupSize(fixed, atoms_)));
  return {taken, own * family.slotsPerSender};
}

LoadRatio ExpertLoads::greatest(uint32_t split) const {
  ExpertExchange all;
  all.atoms = splits_[split].atoms;
  LoadRatio greatest{0, 1};
  for (int64_t rank : all.group(0, atoms_))
    if (LoadRatio own = ratio(split, rank); greatest.denominator == 1 || own.numerator > greatest.numerator)
      greatest = own;
  return greatest;
}

//===----------------------------------------------------------------------===//
// Of a collective
//===----------------------------------------------------------------------===//

std::vector<int64_t> ExpertExchange::group(int64_t rank, const std::vector<MeshAtom> &all) const {
  std::vector<int64_t> ranks = {rank};
  for (uint32_t atom : atoms)
    ranks.front() -= coordinate(rank, all[atom]) * all[atom].stride;
  for (uint32_t atom : atoms) {
    std::vector<int64_t> more;
    for (int64_t each : ranks)
      for (int64_t i = 0; i < all[atom].size; ++i)
        more.push_back(each + i * all[atom].stride);
    ranks = std::move(more);
  }
  llvm::sort(ranks);
  return ranks;
}

int64_t ExpertExchange::shareOf(int64_t rank, const ExpertLoads &loads) const {
  Int128 sum = 0;
  for (const Part &part : parts)
    sum += (part.split == ExpertLoads::kEven ? LoadRatio() : loads.ratio(part.split, rank))
               .of(part.bytes, isAllToAll() ? members : 1);
  return static_cast<int64_t>(std::min<Int128>(sum, INT64_MAX));
}

int64_t ExpertExchange::paddedBytes(llvm::ArrayRef<int64_t> shares) const {
  return *std::max_element(shares.begin(), shares.end()) * (way == Way::Gather ? 1 : members);
}

int64_t ExpertExchange::trueBytes(llvm::ArrayRef<int64_t> shares, size_t index) const {
  switch (way) {
  case Way::ToExperts:
  case Way::Scatter:
    return std::accumulate(shares.begin(), shares.end(), int64_t{0});
  case Way::FromExperts:
    return shares[index] * members;
  case Way::Gather:
    return shares[index];
  }
  return 0;
}

std::optional<ExpertExchange> exchangeOf(const Op &op, const Body &body, const Program &program,
                                         const ExpertLoads &loads) {
  using Way = ExpertExchange::Way;
  const auto *fields = std::get_if<CollectiveFields>(&op.fields);
  if (loads.splits() == 0 || !fields || fields->isStorage)
    return std::nullopt;
  bool namesExperts = llvm::any_of(loads.families(), [&](const ExpertFamily &family) {
    return family.experts == fields->to || family.experts == fields->from;
  });
  if (!namesExperts || loads.splitOf(op) == ExpertLoads::kEven)
    return std::nullopt;
  ExpertExchange exchange;
  bool leavesExperts =
      llvm::any_of(loads.families(), [&](const auto &family) { return family.experts == fields->from; });
  if (op.kind == OpKind::AllToAll)
    exchange.way = leavesExperts ? Way::FromExperts : Way::ToExperts;
  else if (op.kind == OpKind::AllGather || op.kind == OpKind::ReduceScatter)
    exchange.way = op.kind == OpKind::AllGather ? Way::Gather : Way::Scatter;
  else
    return std::nullopt;
  std::vector<MeshAtom> atoms = program.mesh.atoms();
  exchange.atoms = fields->atoms;
  exchange.members = groupSize(fields->atoms, atoms);
  bool isSplitBefore = exchange.way == Way::FromExperts || exchange.way == Way::Gather;
  for (ValueId id : isSplitBefore ? llvm::ArrayRef<ValueId>(op.operands) : llvm::ArrayRef<ValueId>(op.results)) {
    const Value &value = body.value(id);
    DimExpr bytes =
        byteCount(localize(*value.type, *value.layout, atoms, program.context->dims), program.context->dims);
    std::optional<Rational> number = bytes.rational();
    exchange.parts.push_back(
        {loads.splitOf(id), number ? static_cast<int64_t>(dividedUp(number->numerator, number->denominator)) : 0});
  }
  return exchange;
}

} // namespace stg
