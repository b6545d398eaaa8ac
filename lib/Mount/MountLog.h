//===- MountLog.h - where a mount says what went wrong ----------------------===//
#pragma once

#include <cstdio>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace stg {

/// Lines go to a file, to standard error or to the system's log. May be used from several threads.
class MountLog {
public:
  enum class To { StandardError, System };
  explicit MountLog(To to);
  /// Lines are added to the file, each with the time in UTC. `file` stays ours.
  explicit MountLog(std::FILE *file) : file_(file) {}

  void say(const std::string &line);
  /// The first time only: many reads meet one damaged place.
  void sayOnce(const std::string &line);

private:
  struct Close {
    void operator()(std::FILE *file) const { std::fclose(file); }
  };
  To to_ = To::StandardError;
  std::unique_ptr<std::FILE, Close> file_;
  std::mutex mutex_;
  std::set<std::string> said_;
};

} // namespace stg
