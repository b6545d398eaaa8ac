//===- Progress.h - how far the writing of many bytes is --------------------===//
// One line on the terminal, kept up to date and wiped at the end: `1.2 of 11.8 GB,
// 1.5 GB/s, 7 s left`. Nothing where standard error is no terminal, and nothing in
// the first second.
//===----------------------------------------------------------------------===//
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace stg {

/// `label: 1.2 of 11.8 GB, 1.5 GB/s, 7 s left`; without a total (0) `label: 1.2 GB, 1.5 GB/s`.
std::string progressText(const std::string &label, uint64_t done, uint64_t total, double seconds);

/// `11.8 GB`: decimal, three figures or less.
std::string bytesText(uint64_t bytes);

class Progress {
public:
  /// `label`: what is written, `out`.
  explicit Progress(std::string label);
  ~Progress() { wipe(); }
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// All bytes that there will be; 0: not known.
  void setTotal(uint64_t bytes) { total_ = bytes; }
  /// May be called from several threads.
  void add(uint64_t bytes);
  void wipe();

private:
  using Clock = std::chrono::steady_clock;
  std::string label_;
  bool isTerminal_;
  Clock::time_point begin_ = Clock::now();
  std::atomic<uint64_t> done_ = 0, total_ = 0;
  std::mutex mutex_; ///< of what follows
  Clock::time_point next_;
  bool isShown_ = false;
};

} // namespace stg
