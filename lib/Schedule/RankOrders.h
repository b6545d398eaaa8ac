//===- RankOrders.h - the action list of one rank, by schedule -------------===//
// Internal to Schedule. Sizes have been accepted by `refuse`.
//===----------------------------------------------------------------------===//
#ifndef STG_LIB_SCHEDULE_RANKORDERS_H
#define STG_LIB_SCHEDULE_RANKORDERS_H

#include "stg/Schedule/MakeSchedule.h"

namespace stg {

ActionList gpipeOrder(const ScheduleSizes &sizes, uint32_t rank);
ActionList oneForwardOneBackwardOrder(const ScheduleSizes &sizes, uint32_t rank);
ActionList interleavedOrder(const ScheduleSizes &sizes, uint32_t rank);
ActionList interleavedZeroBubbleOrder(const ScheduleSizes &sizes, uint32_t rank);
ActionList zeroBubbleH1Order(const ScheduleSizes &sizes, uint32_t rank);
ActionList zeroBubbleH2Order(const ScheduleSizes &sizes, uint32_t rank);
ActionList zeroBubbleVOrder(const ScheduleSizes &sizes, uint32_t rank);
ActionList dualPipeOrder(const ScheduleSizes &sizes, uint32_t rank);
ActionList dualPipeVOrder(const ScheduleSizes &sizes, uint32_t rank);

} // namespace stg

#endif
