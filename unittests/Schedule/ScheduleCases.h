//===- ScheduleCases.h - schedules for tests, made or read -------------------===//
#ifndef STG_UNITTESTS_SCHEDULE_SCHEDULECASES_H
#define STG_UNITTESTS_SCHEDULE_SCHEDULECASES_H

#include "stg/Schedule/MakeSchedule.h"

namespace stg::test {

/// A schedule for sizes that it takes; fails the test if it does not.
Schedule make(ScheduleKind kind, const ScheduleSizes &sizes);

/// The sizes of a schedule with the only number of chunks that it takes.
ScheduleSizes sizesOf(ScheduleKind kind, uint32_t ranks, uint32_t microBatches);

struct OrderCase {
  std::string name; ///< `zb_h1 p4 m8`
  ScheduleKind kind;
  ScheduleSizes sizes;
  std::string text; ///< as textOf(Schedule) prints it
};

/// The cases of unittests/Schedule/orders/`file`.
std::vector<OrderCase> orderCases(const std::string &file);

/// FNV-1a over bytes; begins with the hash of nothing.
class Digest {
public:
  void add(llvm::StringRef text) {
    for (char c : text)
      hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  uint64_t value() const { return hash_; }

private:
  uint64_t hash_ = 0xcbf29ce484222325;
};

} // namespace stg::test

#endif
