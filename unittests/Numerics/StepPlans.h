//===- StepPlans.h - plans by which small training steps are tried -----------===//
// What several tests have among their plans; each adds those of its subject.
//===----------------------------------------------------------------------===//
#ifndef STG_UNITTESTS_NUMERICS_STEPPLANS_H
#define STG_UNITTESTS_NUMERICS_STEPPLANS_H

namespace stg {

struct PlanCase {
  const char *name, *rules; ///< its mesh first
  int ranks, batchRanks;
};

inline constexpr PlanCase kOne = {"One", "mesh one = 1", 1, 1};
inline constexpr PlanCase kDp2 = {"Dp2", "mesh dp = 2\n  split B over dp", 2, 2};
inline constexpr PlanCase kTp2 = {"Tp2", "mesh tp = 2\n  split H, F, V over tp", 2, 1};
inline constexpr PlanCase kTp2Sp = {"Tp2Sp", "mesh tp = 2\n  split H, F, V over tp\n  split S over tp", 2, 1};
inline constexpr PlanCase kTp2SpGathered = {
    "Tp2SpGathered", "mesh tp = 2\n  split H, F, V over tp\n  split S over tp\n  store gathered over tp", 2, 1};
inline constexpr PlanCase kCp2 = {"Cp2", "mesh cp = 2\n  split S zigzag over cp", 2, 1};
inline constexpr PlanCase kDp2Cp2Tp2Sp = {
    "Dp2Cp2Tp2Sp",
    "mesh dp = 2, cp = 2, tp = 2\n  split B over dp\n  split S over cp\n  split H, F, V over tp\n  split S over tp", 8,
    2};
inline constexpr PlanCase kZero3 = {"Zero3", "mesh dp = 2\n  split B over dp\n  zero 3 over dp", 2, 2};
inline constexpr PlanCase kPipe1F1B = {
    "Pipe1F1B", "mesh pp = 2, tp = 2\n  split H, F, V over tp\n  pipeline over pp { schedule 1f1b }", 4, 1};
inline constexpr PlanCase kPipeZb = {
    "PipeZb", "mesh pp = 2, dp = 2\n  split B over dp\n  pipeline over pp { schedule zb_h1 }", 4, 2};

} // namespace stg

#endif
