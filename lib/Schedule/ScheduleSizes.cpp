//===- ScheduleSizes.cpp - which sizes a schedule can have ---------------------===//
// The rules are those of the code that the schedules come from; each can be asked for any value of a size, and the
// nearest that fit are found by asking.
//===----------------------------------------------------------------------===//
#include "stg/Schedule/MakeSchedule.h"
#include <algorithm>
#include <fmt/format.h>

namespace stg {

namespace {

struct BrokenRule {
  ScheduleSize size;
  SizeRule rule;
  uint32_t bound;
};

uint32_t &sizeIn(ScheduleSizes &sizes, ScheduleSize size) {
  switch (size) {
  case ScheduleSize::Ranks:
    return sizes.ranks;
  case ScheduleSize::Chunks:
    return sizes.chunks;
  case ScheduleSize::MicroBatches:
    return sizes.microBatches;
  case ScheduleSize::Group:
    break;
  }
  return sizes.group ? *sizes.group : sizes.group.emplace(sizes.ranks);
}

std::optional<BrokenRule> atLeast(ScheduleSize size, uint32_t have, uint32_t bound) {
  return have < bound ? std::optional(BrokenRule{size, SizeRule::AtLeast, bound}) : std::nullopt;
}

std::optional<BrokenRule> multipleOf(ScheduleSize size, uint32_t have, uint32_t bound) {
  return have % bound != 0 ? std::optional(BrokenRule{size, SizeRule::MultipleOf, bound}) : std::nullopt;
}

/// Megatron-LM: g from p to m, and a last group that is not shorter than p. Without g, it is p.
std::optional<BrokenRule> brokenByGroups(const ScheduleSizes &sizes) {
  if (sizes.chunks == 1)
    return std::nullopt;
  if (!sizes.group)
    return multipleOf(ScheduleSize::MicroBatches, sizes.microBatches, sizes.ranks);
  if (*sizes.group < sizes.ranks)
    return BrokenRule{ScheduleSize::Group, SizeRule::AtLeast, sizes.ranks};
  if (*sizes.group > sizes.microBatches)
    return BrokenRule{ScheduleSize::Group, SizeRule::AtMost, sizes.microBatches};
  uint32_t over = sizes.microBatches % *sizes.group;
  if (over != 0 && over < sizes.ranks)
    return BrokenRule{ScheduleSize::Group, SizeRule::NoShortEnd, sizes.ranks};
  return std::nullopt;
}

std::optional<BrokenRule> brokenRule(ScheduleKind kind, const ScheduleSizes &sizes) {
  for (auto [size, have] : {std::pair{ScheduleSize::Ranks, sizes.ranks}, std::pair{ScheduleSize::Chunks, sizes.chunks},
                            std::pair{ScheduleSize::MicroBatches, sizes.microBatches}})
    if (have == 0)
      return BrokenRule{size, SizeRule::AtLeast, 1};
  if (std::optional<uint32_t> chunks = fixedChunks(kind); chunks && sizes.chunks != *chunks)
    return BrokenRule{ScheduleSize::Chunks, SizeRule::Exactly, *chunks};
  switch (kind) {
  case ScheduleKind::Interleaved:
    return brokenByGroups(sizes);
  case ScheduleKind::InterleavedZeroBubble: {
    uint32_t rounds = std::max(1u, sizes.microBatches / sizes.ranks);
    if (sizes.microBatches % rounds != 0)
      return BrokenRule{ScheduleSize::MicroBatches, SizeRule::EqualRounds, rounds};
    return std::nullopt;
  }
  case ScheduleKind::DualPipe:
    if (auto broken = multipleOf(ScheduleSize::Ranks, sizes.ranks, 2))
      return broken;
    if (auto broken = atLeast(ScheduleSize::MicroBatches, sizes.microBatches, 2 * sizes.ranks))
      return broken;
    return multipleOf(ScheduleSize::MicroBatches, sizes.microBatches, 2);
  case ScheduleKind::DualPipeV:
    return atLeast(ScheduleSize::MicroBatches, sizes.microBatches, 2 * sizes.ranks);
  default:
    return std::nullopt;
  }
}

/// Whether the schedule takes `value` for `size`, whatever it says of the other sizes.
bool fits(ScheduleKind kind, ScheduleSizes sizes, ScheduleSize size, uint32_t value) {
  sizeIn(sizes, size) = value;
  std::optional<BrokenRule> broken = brokenRule(kind, sizes);
  return !broken || broken->size != size;
}

/// `1 chunk`, `4 chunks`.
std::string counted(uint32_t count, ScheduleSize size) {
  const char *plural = count == 1 ? "" : "s";
  switch (size) {
  case ScheduleSize::Ranks:
    return fmt::format("{} rank{}", count, plural);
  case ScheduleSize::Chunks:
    return fmt::format("{} chunk{}", count, plural);
  case ScheduleSize::MicroBatches:
    return fmt::format("{} micro-batch{}", count, count == 1 ? "" : "es");
  case ScheduleSize::Group:
    return fmt::format("groups of {}", count);
  }
  return "";
}

std::string ruleText(const ScheduleRefusal &refusal) {
  switch (refusal.rule) {
  case SizeRule::AtLeast:
    return counted(refusal.bound, refusal.size) + " or more";
  case SizeRule::AtMost:
    return counted(refusal.bound, refusal.size) + " or less";
  case SizeRule::Exactly:
    return counted(refusal.bound, refusal.size);
  case SizeRule::MultipleOf:
    return fmt::format("{} in multiples of {}", refusal.size == ScheduleSize::Ranks ? "ranks" : "micro-batches",
                       refusal.bound);
  case SizeRule::EqualRounds:
    return fmt::format("micro-batches for {} equal rounds", refusal.bound);
  case SizeRule::NoShortEnd:
    return fmt::format("groups that leave no micro-batch over or at least {}", refusal.bound);
  }
  return "";
}

} // namespace

std::optional<uint32_t> fixedChunks(ScheduleKind kind) {
  switch (kind) {
  case ScheduleKind::Interleaved:
  case ScheduleKind::InterleavedZeroBubble:
    return std::nullopt;
  case ScheduleKind::ZeroBubbleV:
  case ScheduleKind::DualPipeV:
    return 2;
  default:
    return 1;
  }
}

std::string ruleOf(const ScheduleRefusal &refusal) { return ruleText(refusal); }

std::string textOf(const ScheduleRefusal &refusal) {
  std::string text =
      fmt::format("{} needs {}, not {}", nameOf(refusal.schedule).str(), ruleText(refusal), refusal.have);
  if (refusal.below && refusal.above)
    return fmt::format("{}; {} and {} work", text, *refusal.below, *refusal.above);
  if (std::optional<uint32_t> one = refusal.below ? refusal.below : refusal.above)
    return fmt::format("{}; {} {}", text, *one, *one == 1 ? "works" : "work");
  return text;
}

std::optional<ScheduleRefusal> refuse(ScheduleKind kind, const ScheduleSizes &sizes) {
  std::optional<BrokenRule> broken = brokenRule(kind, sizes);
  if (!broken)
    return std::nullopt;
  ScheduleSizes copy = sizes;
  uint32_t have = sizeIn(copy, broken->size);
  ScheduleRefusal refusal{kind, broken->size, broken->rule, broken->bound, have, {}, {}};
  // Every rule is kept by a multiple of twice the ranks, or by its bound; groups have no more than all micro-batches.
  uint64_t period = 2 * uint64_t{std::max(sizes.ranks, 1u)};
  uint64_t most = broken->size == ScheduleSize::Group ? uint64_t{std::max(sizes.microBatches, sizes.ranks)} : have;
  for (uint64_t value = std::min<uint64_t>(have, most + 1); value > 1 && !refusal.below; --value)
    if (fits(kind, sizes, broken->size, static_cast<uint32_t>(value - 1)))
      refusal.below = static_cast<uint32_t>(value - 1);
  uint64_t end = std::min<uint64_t>(std::max<uint64_t>(broken->bound, have + period), UINT32_MAX);
  for (uint64_t value = uint64_t{have} + 1; value <= end && !refusal.above; ++value)
    if (fits(kind, sizes, broken->size, static_cast<uint32_t>(value)))
      refusal.above = static_cast<uint32_t>(value);
  return refusal;
}

} // namespace stg
