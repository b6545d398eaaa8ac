//===- RankValues.cpp -----------------------------------------------------===//
#include "RankValues.h"
#include "stg/IR/Program.h"
#include <cmath>

namespace stg::interp {

namespace {

double reduced(ReduceFn fn, double a, double b) { return fn == ReduceFn::Max ? std::max(a, b) : a + b; }

/// Rounding apart: ranks reduce in the same order, but not always the same parts.
bool agree(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b)))
    return true;
  return std::fabs(a - b) <= 1e-9 * std::max(1.0, std::fabs(a));
}

/// Calls `visit(offset in source, offset in target)` for every position that both hold.
template <class Visit> void forEachShared(const Tensor &source, const Tensor &target, Visit visit) {
  llvm::SmallVector<std::vector<int64_t>, 6> offsets; // per dim: of the target, or -1
  for (const TensorDim &dim : source.dims) {
    const TensorDim &other = target.dim(dim.name);
    std::vector<int64_t> &own = offsets.emplace_back();
    for (int64_t i = 0; i < dim.size; ++i) {
      std::optional<int64_t> local = other.find(dim.position(i));
      own.push_back(local ? *local * target.stride(dim.name) : -1);
    }
  }
  size_t next = 0;
  for (AlignedWalk walk(source.dims, {}); !walk.done(); walk.next(), ++next) {
    int64_t offset = 0;
    bool shared = true;
    for (size_t d = 0; d < offsets.size(); ++d) {
      int64_t step = offsets[d][static_cast<size_t>(walk.position(d))];
      shared &= step >= 0;
      offset += step;
    }
    if (shared)
      visit(next, static_cast<size_t>(offset));
  }
}

bool sameOn(const AtomList &list, int64_t a, int64_t b, const RankDims &dims) {
  return llvm::all_of(list, [&](uint32_t atom) { return dims.coordinate(a, atom) == dims.coordinate(b, atom); });
}
bool isFirstOn(const AtomList &list, int64_t rank, const RankDims &dims) {
  return llvm::all_of(list, [&](uint32_t atom) { return dims.isFirst(rank, atom); });
}

[[noreturn]] void nobodyHolds() { throw InterpFault("no rank holds some positions that are needed"); }

} // namespace

Tensor wholeValue(const TensorType &type, const Layout &layout, const RankTensors &parts, RankDims &dims) {
  AtomList pending = layout.partialAtoms(), others;
  for (uint32_t atom = 0; atom < layout.places.size(); ++atom)
    if (!layout.places[atom].isPartial())
      others.push_back(atom);
  Tensor whole = Tensor::filled(type.element, dims.held(type, nullptr, 0));
  std::vector<bool> known(whole.data.size(), false);
  ReduceFn fn = pending.empty() ? ReduceFn::Sum : layout.places[pending.front()].fn;
  for (uint32_t atom : pending)
    if (layout.places[atom].fn != fn)
      throw InterpFault("is a pending sum and a pending maximum at once");
  for (int64_t first = 0; first < dims.ranks(); ++first) {
    if (!isFirstOn(pending, first, dims))
      continue;
    Tensor sum = parts[static_cast<size_t>(first)];
    for (int64_t rank = first + 1; rank < dims.ranks() && !pending.empty(); ++rank)
      if (sameOn(others, first, rank, dims))
        for (size_t i = 0; i < sum.data.size(); ++i)
          sum.data[i] = reduced(fn, sum.data[i], parts[static_cast<size_t>(rank)].data[i]);
    forEachShared(sum, whole, [&](size_t from, size_t to) {
      if (known[to] && !agree(whole.data[to], sum.data[from]))
        throw InterpFault("is " + std::to_string(whole.data[to]) + " on one rank and " +
                          std::to_string(sum.data[from]) + " on rank " + std::to_string(dims.meshRank(first)) +
                          ", which should hold the same");
      known[to] = true;
      whole.data[to] = sum.data[from];
    });
  }
  if (llvm::is_contained(known, false))
    nobodyHolds();
  return whole;
}

Tensor partOf(const Tensor &whole, llvm::ArrayRef<TensorDim> held) {
  Tensor part = Tensor::filled(whole.element, held);
  std::vector<bool> known(part.data.size(), false);
  forEachShared(whole, part, [&](size_t from, size_t to) {
    part.data[to] = whole.data[from];
    known[to] = true;
  });
  if (llvm::is_contained(known, false))
    nobodyHolds();
  return part;
}

std::optional<OpKind> moveOf(const Place &from, const Place &to) {
  if (from == to)
    return std::nullopt;
  switch (from.kind) {
  case PlaceKind::Whole:
    if (to.isPartial() && to.fn != ReduceFn::Sum)
      return std::nullopt; // zero is nothing to a sum only
    return to.isSplit() ? OpKind::Shard : OpKind::Demote;
  case PlaceKind::Split:
    if (to.isPartial())
      return std::nullopt;
    return to.isSplit() ? OpKind::AllToAll : OpKind::AllGather;
  case PlaceKind::Partial:
    if (to.isPartial())
      return std::nullopt;
    return to.isSplit() ? OpKind::ReduceScatter : OpKind::AllReduce;
  }
  return std::nullopt;
}

RankTensors relaid(const TensorType &type, const Layout &from, const Layout &to, const RankTensors &parts,
                   RankDims &dims) {
  AtomList fixed; // members of a group agree on these
  AtomList zeroed;
  ReduceFn fn = ReduceFn::Sum;
  for (uint32_t atom = 0; atom < from.places.size(); ++atom) {
    const Place &old = from.places[atom], &wanted = to.places[atom];
    if (old != wanted && !moveOf(old, wanted))
      throw InterpFault("no layout op takes an atom from where it is to where it should be");
    if (old == wanted || old.isWhole())
      fixed.push_back(atom);
    if (old != wanted && wanted.isPartial())
      zeroed.push_back(atom);
    if (old != wanted && old.isPartial())
      fn = old.fn;
  }
  RankTensors results;
  for (int64_t rank = 0; rank < dims.ranks(); ++rank) {
    Tensor &result = results.emplace_back(Tensor::filled(type.element, dims.held(type, &to, rank)));
    std::vector<bool> known(result.data.size(), false);
    for (int64_t member = 0; member < dims.ranks(); ++member) {
      if (!sameOn(fixed, rank, member, dims))
        continue;
      const Tensor &part = parts[static_cast<size_t>(member)];
      forEachShared(part, result, [&](size_t source, size_t target) {
        result.data[target] = known[target] ? reduced(fn, result.data[target], part.data[source]) : part.data[source];
        known[target] = true;
      });
    }
    if (llvm::is_contained(known, false))
      nobodyHolds();
    if (!isFirstOn(zeroed, rank, dims))
      std::fill(result.data.begin(), result.data.end(), 0);
  }
  return results;
}

} // namespace stg::interp
