//===- Progress.cpp - how far the writing of many bytes is ------------------===//

#include "stg/Support/Progress.h"
#include "fmt/format.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

namespace stg {

std::string bytesText(uint64_t bytes) {
  static constexpr const char *kUnits[] = {"bytes", "kB", "MB", "GB", "TB", "PB"};
  if (bytes < 1000)
    return fmt::format("{} bytes", bytes);
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  // What would be rounded to 1000 is 1 of the next unit.
  for (; value >= 999.5 && unit + 1 < std::size(kUnits); value /= 1000)
    ++unit;
  return fmt::format("{:.{}f} {}", value, value < 9.95 ? 1 : 0, kUnits[unit]);
}

std::string progressText(const std::string &label, uint64_t done, uint64_t total, double seconds) {
  std::string text = fmt::format("{}: {}", label, bytesText(done));
  if (total != 0)
    text += " of " + bytesText(total);
  double rate = static_cast<double>(done) / std::max(seconds, 1e-9);
  text += fmt::format(", {}/s", bytesText(static_cast<uint64_t>(rate)));
  if (total > done && done != 0) {
    auto left = static_cast<uint64_t>(static_cast<double>(total - done) / rate + 0.5);
    text += left < 120 ? fmt::format(", {} s left", left) : fmt::format(", {} min left", (left + 30) / 60);
  }
  return text;
}

Progress::Progress(std::string label)
    : label_(std::move(label)), isTerminal_(isatty(STDERR_FILENO) == 1), next_(begin_ + std::chrono::seconds(1)) {}

void Progress::add(uint64_t bytes) {
  uint64_t done = done_ += bytes;
  if (!isTerminal_)
    return;
  std::unique_lock lock(mutex_, std::try_to_lock);
  Clock::time_point now = Clock::now();
  if (!lock || now < next_)
    return;
  next_ = now + std::chrono::milliseconds(200);
  isShown_ = true;
  std::chrono::duration<double> passed = now - begin_;
  llvm::errs() << "\r\x1b[K" << progressText(label_, done, total_, passed.count());
  llvm::errs().flush();
}

void Progress::wipe() {
  std::lock_guard lock(mutex_);
  if (std::exchange(isShown_, false))
    llvm::errs() << "\r\x1b[K";
}

} // namespace stg
