//===- MakeSchedule.cpp - one schedule for given sizes ------------------------===//
#include "stg/Schedule/MakeSchedule.h"
#include "RankOrders.h"

namespace stg {

Placement placementOf(ScheduleKind kind, const ScheduleSizes &sizes) {
  switch (kind) {
  case ScheduleKind::ZeroBubbleV:
  case ScheduleKind::DualPipeV:
    return vPlacement(sizes.ranks, sizes.microBatches);
  case ScheduleKind::DualPipe:
    return twoWayPlacement(sizes.ranks, sizes.microBatches);
  default:
    return loopPlacement(sizes.ranks, sizes.chunks, sizes.microBatches);
  }
}

namespace {

ActionList orderOf(ScheduleKind kind, const ScheduleSizes &sizes, uint32_t rank) {
  switch (kind) {
  case ScheduleKind::GPipe:
    return gpipeOrder(sizes, rank);
  case ScheduleKind::OneForwardOneBackward:
    return oneForwardOneBackwardOrder(sizes, rank);
  case ScheduleKind::Interleaved:
    return interleavedOrder(sizes, rank);
  case ScheduleKind::InterleavedZeroBubble:
    return interleavedZeroBubbleOrder(sizes, rank);
  case ScheduleKind::ZeroBubbleH1:
    return zeroBubbleH1Order(sizes, rank);
  case ScheduleKind::ZeroBubbleH2:
    return zeroBubbleH2Order(sizes, rank);
  case ScheduleKind::ZeroBubbleV:
    return zeroBubbleVOrder(sizes, rank);
  case ScheduleKind::DualPipe:
    return dualPipeOrder(sizes, rank);
  case ScheduleKind::DualPipeV:
    return dualPipeVOrder(sizes, rank);
  }
  return {};
}

} // namespace

std::variant<Schedule, ScheduleRefusal> makeSchedule(ScheduleKind kind, const ScheduleSizes &sizes) {
  if (std::optional<ScheduleRefusal> refusal = refuse(kind, sizes))
    return *refusal;
  Schedule schedule{.placement = placementOf(kind, sizes), .ranks = {}};
  for (uint32_t rank = 0; rank < sizes.ranks; ++rank)
    schedule.ranks.push_back(orderOf(kind, sizes, rank));
  return schedule;
}

} // namespace stg
