//===- Conversion.cpp - from one layout to another, as collectives -----------===//
#include "stg/Sharding/Conversion.h"

namespace stg {

namespace {

/// In the order in which they run.
constexpr OpKind kOrder[] = {OpKind::Shard,    OpKind::ReduceScatter, OpKind::AllReduce,
                             OpKind::AllToAll, OpKind::AllGather,     OpKind::Demote};

/// The moves of one atom, mostly one.
llvm::SmallVector<ConversionStep, 2> movesOf(Place from, Place to) {
  if (from == to)
    return {};
  auto step = [](OpKind kind, Place before, Place after) {
    ConversionStep made;
    made.kind = kind;
    if (before.isSplit())
      made.from = before.dim;
    if (after.isSplit())
      made.to = after.dim;
    made.fn = before.isPartial() ? before.fn : after.fn;
    return made;
  };
  if (to.isPartial()) {
    if (from.isWhole())
      return {step(OpKind::Demote, from, to)};
    OpKind first = from.isSplit() ? OpKind::AllGather : OpKind::AllReduce;
    return {step(first, from, Place::whole()), step(OpKind::Demote, Place::whole(), to)};
  }
  if (from.isWhole())
    return {step(OpKind::Shard, from, to)};
  if (from.isPartial())
    return {step(to.isSplit() ? OpKind::ReduceScatter : OpKind::AllReduce, from, to)};
  return {step(to.isSplit() ? OpKind::AllToAll : OpKind::AllGather, from, to)};
}

bool sameMove(const ConversionStep &a, const ConversionStep &b) {
  return a.kind == b.kind && a.from == b.from && a.to == b.to && a.fn == b.fn;
}

Place placeAfter(const ConversionStep &step) {
  if (step.kind == OpKind::Demote)
    return Place::partial(step.fn);
  return step.to ? Place::split(step.to) : Place::whole();
}

} // namespace

std::vector<ConversionStep> planConversion(const Layout &from, const Layout &to) {
  std::vector<ConversionStep> moves; // in order of their first atom
  for (uint32_t atom = 0; atom < from.places.size(); ++atom)
    for (ConversionStep &move : movesOf(from.places[atom], to.places[atom])) {
      auto same = llvm::find_if(moves, [&](const ConversionStep &other) { return sameMove(other, move); });
      if (same == moves.end())
        same = moves.insert(moves.end(), move);
      same->atoms.push_back(atom);
    }
  std::vector<ConversionStep> steps;
  Layout layout = from;
  for (OpKind kind : kOrder)
    for (ConversionStep &move : moves) {
      if (move.kind != kind)
        continue;
      for (uint32_t atom : move.atoms)
        layout.places[atom] = placeAfter(move);
      move.after = layout;
      steps.push_back(move);
    }
  return steps;
}

std::optional<Layout> layoutAfter(OpKind kind, const CollectiveFields &fields, const Layout &from) {
  Layout layout = from;
  for (uint32_t atom : fields.atoms) {
    if (atom >= layout.places.size())
      return std::nullopt;
    Place &place = layout.places[atom];
    bool fits = false;
    switch (kind) {
    case OpKind::Shard:
      fits = place.isWhole() && fields.to;
      place = Place::split(fields.to);
      break;
    case OpKind::Demote:
      fits = place.isWhole();
      place = Place::partial(fields.fn);
      break;
    case OpKind::ReduceScatter:
      fits = place.isPartial() && place.fn == fields.fn && fields.to;
      place = Place::split(fields.to);
      break;
    case OpKind::AllReduce:
      fits = place.isPartial() && place.fn == fields.fn;
      place = Place::whole();
      break;
    case OpKind::AllToAll:
      fits = place.isSplit() && place.dim == fields.from && fields.to && fields.to != fields.from;
      place = Place::split(fields.to);
      break;
    case OpKind::AllGather:
      fits = place.isSplit() && place.dim == fields.from;
      place = Place::whole();
      break;
    default:
      break;
    }
    if (!fits)
      return std::nullopt;
  }
  return layout;
}

} // namespace stg
