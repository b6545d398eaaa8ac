//===- BatchRecords.h - ids of the nodes of micro-batches under way -----------===//
#pragma once

#include <cstdint>
#include <vector>

namespace stg {

/// A micro-batch has a record from its first action to its last one; there are as many as the schedule keeps in flight.
class BatchRecords {
public:
  /// The micro-batch has one more action.
  void countAction(uint32_t microBatch) {
    if (microBatch >= actionsLeft_.size()) {
      actionsLeft_.resize(microBatch + 1);
      records_.resize(microBatch + 1);
    }
    ++actionsLeft_[microBatch];
  }

  void open(uint32_t microBatch, size_t nodes) {
    std::vector<uint64_t> &record = records_[microBatch];
    if (!record.empty() || nodes == 0)
      return;
    if (!spare_.empty()) {
      record = std::move(spare_.back());
      spare_.pop_back();
    }
    record.resize(nodes);
  }

  /// An action is done.
  void close(uint32_t microBatch) {
    if (--actionsLeft_[microBatch] == 0)
      spare_.push_back(std::move(records_[microBatch]));
  }

  uint64_t &at(uint32_t microBatch, size_t node) { return records_[microBatch][node]; }

private:
  std::vector<uint32_t> actionsLeft_;                  ///< by micro-batch
  std::vector<std::vector<uint64_t>> records_, spare_; ///< by micro-batch
};

} // namespace stg
