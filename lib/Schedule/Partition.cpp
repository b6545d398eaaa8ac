//===- Partition.cpp - the best cut of units into stages -----------------------===//
// Balanced. Let T be the least bound under which `stages` runs of consecutive units hold all units: whether a bound
// does is found by filling runs one after the other, so T is found by binary search. A cut into fewer runs is as good,
// because runs of several units can be cut further. Of the partitions below T the one of least sum of squares is found
// stage by stage, over prefixes of the units: a stage begins within the last units that together cost at most T.
//===----------------------------------------------------------------------===//
#include "stg/Schedule/Partition.h"
#include <algorithm>
#include <limits>
#include <numeric>

namespace stg {

namespace {

/// How many runs the units take when each is filled up to the bound. `bound` is at least the largest cost.
uint64_t runsWithin(llvm::ArrayRef<uint64_t> costs, uint64_t bound) {
  uint64_t runs = 1;
  uint64_t filled = 0;
  for (uint64_t cost : costs) {
    // Written so that sums never pass the bound, and so never overflow.
    if (cost > bound - filled) {
      ++runs;
      filled = 0;
    }
    filled += cost;
  }
  return runs;
}

uint64_t leastBound(llvm::ArrayRef<uint64_t> costs, uint32_t stages) {
  uint64_t low = *std::max_element(costs.begin(), costs.end());
  uint64_t high = std::max(low, std::accumulate(costs.begin(), costs.end(), uint64_t{0}));
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (runsWithin(costs, middle) <= stages)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

/// Where stages can end if none costs more than `bound`: entry s is for the end of the first s stages.
struct EndRange {
  size_t first;
  size_t last;
};

std::vector<EndRange> endsWithin(llvm::ArrayRef<uint64_t> costs, uint32_t stages, uint64_t bound) {
  size_t units = costs.size();
  std::vector<EndRange> ends(stages + 1, {0, units});
  ends[0].last = 0;
  ends[stages].first = units;
  for (uint32_t stage = 0; stage < stages; ++stage) {
    size_t end = ends[stage].last;
    for (uint64_t cost = 0; end < units && costs[end] <= bound - cost; ++end)
      cost += costs[end];
    // Later stages are not empty.
    ends[stage + 1].last = std::min(end, units - (stages - stage - 1));
  }
  for (uint32_t stage = stages; stage > 0; --stage) {
    size_t begin = ends[stage].first;
    for (uint64_t cost = 0; begin > 0 && costs[begin - 1] <= bound - cost; --begin)
      cost += costs[begin - 1];
    ends[stage - 1].first = std::max<size_t>(begin, stage - 1);
  }
  return ends;
}

/// The partition of least sum of squares whose stages cost at most `bound`; there is one.
Partition leastSquares(llvm::ArrayRef<uint64_t> costs, uint32_t stages, uint64_t bound) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  size_t units = costs.size();
  std::vector<EndRange> ends = endsWithin(costs, stages, bound);
  std::vector<double> best(units + 1, kNone);
  best[0] = 0;
  std::vector<std::vector<uint32_t>> sizes(stages, std::vector<uint32_t>(units + 1, 0));
  for (uint32_t stage = 0; stage < stages; ++stage) {
    std::vector<double> with(units + 1, kNone);
    for (size_t end = std::max<size_t>(ends[stage + 1].first, stage + 1); end <= ends[stage + 1].last; ++end) {
      uint64_t cost = 0;
      for (size_t begin = end; begin-- > ends[stage].first && costs[begin] <= bound - cost;) {
        cost += costs[begin];
        double total = best[begin] + static_cast<double>(cost) * static_cast<double>(cost);
        if (total < with[end]) {
          with[end] = total;
          sizes[stage][end] = static_cast<uint32_t>(end - begin);
        }
      }
    }
    best = std::move(with);
  }
  Partition partition(stages);
  size_t end = units;
  for (uint32_t stage = stages; stage-- > 0;) {
    partition[stage] = sizes[stage][end];
    end -= partition[stage];
  }
  return partition;
}

/// Most units in a run that costs at most `bound`.
size_t longestWithin(llvm::ArrayRef<uint64_t> costs, uint64_t bound) {
  size_t longest = 1, begin = 0;
  uint64_t cost = 0;
  for (size_t end = 0; end < costs.size(); ++end) {
    while (cost > bound - costs[end])
      cost -= costs[begin++];
    cost += costs[end];
    longest = std::max(longest, end + 1 - begin);
  }
  return longest;
}

/// A partition whose stages cost at most `bound`, each filled as far as that goes; there is one.
Partition filledWithin(llvm::ArrayRef<uint64_t> costs, uint32_t stages, uint64_t bound) {
  Partition partition(stages, 0);
  size_t unit = 0;
  for (uint32_t stage = 0; stage < stages; ++stage) {
    // Later stages are not empty.
    size_t last = costs.size() - (stages - stage - 1);
    for (uint64_t filled = 0; unit < last && costs[unit] <= bound - filled; ++unit) {
      filled += costs[unit];
      ++partition[stage];
    }
  }
  return partition;
}

/// Matches a list of stages against the units of a model, in order.
class ListMatcher {
public:
  ListMatcher(llvm::ArrayRef<UnitRun> model, llvm::ArrayRef<std::vector<UnitRun>> stages)
      : model_(model), stages_(stages) {}

  std::variant<Partition, CutRefusal> run() {
    Partition partition;
    for (stage_ = 0; stage_ < stages_.size(); ++stage_) {
      uint32_t units = 0;
      for (item_ = 0; item_ < stages_[stage_].size(); ++item_) {
        const UnitRun &wanted = stages_[stage_][item_];
        if (std::optional<CutRefusal> refusal = take(wanted))
          return *refusal;
        units += wanted.count;
      }
      if (units == 0)
        return CutRefusal{CutFault::EmptyStage, stage_, "", 0, 0};
      partition.push_back(units);
    }
    if (run_ < model_.size())
      return left();
    return partition;
  }

private:
  std::optional<CutRefusal> take(const UnitRun &wanted) {
    if (total(wanted.name) == 0)
      return CutRefusal{CutFault::UnknownUnit, stage_, wanted.name, wanted.count, 0};
    for (uint32_t open = wanted.count; open > 0;) {
      if (run_ == model_.size() || model_[run_].name != wanted.name)
        return mismatch(wanted, open);
      uint32_t taken = std::min(open, model_[run_].count - taken_);
      open -= taken;
      taken_ += taken;
      if (taken_ == model_[run_].count) {
        ++run_;
        taken_ = 0;
      }
    }
    return std::nullopt;
  }

  /// `open` units of a name are wanted where the model has others.
  CutRefusal mismatch(const UnitRun &wanted, uint32_t open) const {
    bool later = std::any_of(model_.begin() + static_cast<ptrdiff_t>(run_), model_.end(),
                             [&](const UnitRun &run) { return run.name == wanted.name; });
    if (!later)
      return {CutFault::TooMany, stage_, wanted.name, open, total(wanted.name)};
    if (!listedLater(model_[run_].name))
      return left();
    return {CutFault::OutOfOrder, stage_, wanted.name, open, total(wanted.name)};
  }

  bool listedLater(const std::string &name) const {
    for (size_t stage = stage_; stage < stages_.size(); ++stage)
      for (size_t item = stage == stage_ ? item_ + 1 : 0; item < stages_[stage].size(); ++item)
        if (stages_[stage][item].name == name)
          return true;
    return false;
  }

  CutRefusal left() const {
    const UnitRun &run = model_[run_];
    return {CutFault::Left, stage_, run.name, run.count - taken_, total(run.name), item_};
  }

  uint32_t total(const std::string &name) const {
    uint32_t units = 0;
    for (const UnitRun &run : model_)
      if (run.name == name)
        units += run.count;
    return units;
  }

  llvm::ArrayRef<UnitRun> model_;
  llvm::ArrayRef<std::vector<UnitRun>> stages_;
  uint32_t stage_ = 0;
  uint32_t item_ = 0;  // of the stage's list
  size_t run_ = 0;     // the run of the next unit
  uint32_t taken_ = 0; // how many of its units have a stage
};

} // namespace

std::optional<Partition> partitionEven(uint32_t units, uint32_t stages) {
  if (stages == 0 || units < stages)
    return std::nullopt;
  Partition partition(stages, units / stages);
  for (uint32_t stage = 0; stage < units % stages; ++stage)
    ++partition[stage];
  return partition;
}

std::optional<Partition> partitionBalanced(llvm::ArrayRef<uint64_t> costs, uint32_t stages) {
  if (stages == 0 || costs.size() < stages)
    return std::nullopt;
  uint64_t bound = leastBound(costs, stages);
  // What leastSquares() keeps, and what it looks at.
  constexpr uint64_t kMaxStates = 50'000'000, kMaxSteps = 2'000'000'000;
  uint64_t states = stages * uint64_t{costs.size()};
  bool isSmall = states <= kMaxStates && states <= kMaxSteps / longestWithin(costs, bound);
  return isSmall ? leastSquares(costs, stages, bound) : filledWithin(costs, stages, bound);
}

std::variant<Partition, CutRefusal> partitionAsListed(llvm::ArrayRef<UnitRun> model,
                                                      llvm::ArrayRef<std::vector<UnitRun>> stages) {
  return ListMatcher(model, stages).run();
}

} // namespace stg
