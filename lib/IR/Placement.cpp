//===- Placement.cpp - stages on ranks --------------------------------------===//
#include "stg/IR/Schedule.h"

namespace stg {

char letterOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::Forward:
    return 'F';
  case ActionKind::Backward:
    return 'B';
  case ActionKind::InputGrad:
    return 'I';
  case ActionKind::WeightGrad:
    return 'W';
  }
  return '?';
}

llvm::StringRef nameOf(ScheduleKind kind) {
  switch (kind) {
#define SCHEDULE(Kind, name)                                                                                           \
  case ScheduleKind::Kind:                                                                                             \
    return name;
#include "stg/IR/Schedules.def"
  }
  return "";
}

std::optional<ScheduleKind> scheduleNamed(llvm::StringRef name) {
  for (ScheduleKind kind : kScheduleKinds)
    if (nameOf(kind) == name)
      return kind;
  return std::nullopt;
}

std::vector<uint32_t> Placement::stagesOf(uint32_t rank) const {
  std::vector<uint32_t> held;
  for (const std::vector<uint32_t> &copy : copies)
    for (uint32_t stage = 0; stage < stages; ++stage)
      if (copy[stage] == rank)
        held.push_back(stage);
  return held;
}

Placement loopPlacement(uint32_t ranks, uint32_t chunks, uint32_t microBatches) {
  Placement placement{.ranks = ranks, .stages = ranks * chunks, .microBatches = microBatches, .copies = {{}}};
  for (uint32_t stage = 0; stage < placement.stages; ++stage)
    placement.copies[0].push_back(stage % ranks);
  return placement;
}

Placement vPlacement(uint32_t ranks, uint32_t microBatches) {
  Placement placement{.ranks = ranks, .stages = 2 * ranks, .microBatches = microBatches, .copies = {{}}};
  for (uint32_t stage = 0; stage < placement.stages; ++stage)
    placement.copies[0].push_back(stage < ranks ? stage : placement.stages - 1 - stage);
  return placement;
}

Placement twoWayPlacement(uint32_t ranks, uint32_t microBatches) {
  Placement placement{.ranks = ranks, .stages = ranks, .microBatches = microBatches, .copies = {{}, {}}};
  for (uint32_t stage = 0; stage < ranks; ++stage) {
    placement.copies[0].push_back(stage);
    placement.copies[1].push_back(ranks - 1 - stage);
  }
  return placement;
}

} // namespace stg
