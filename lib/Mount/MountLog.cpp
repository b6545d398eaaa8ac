//===- MountLog.cpp - where a mount says what went wrong --------------------===//

#include "MountLog.h"

#include <ctime>
#include <syslog.h>

namespace stg {

MountLog::MountLog(To to) : to_(to) {
  if (to == To::System)
    openlog("stg-mount", LOG_PID, LOG_DAEMON);
}

void MountLog::say(const std::string &line) {
  if (file_) {
    char when[sizeof "2026-01-02T03:04:05Z"];
    std::time_t now = std::time(nullptr);
    std::tm parts = {};
    std::strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    std::fprintf(file_.get(), "%s stg-mount: %s\n", when, line.c_str());
    std::fflush(file_.get());
  } else if (to_ == To::System) {
    syslog(LOG_ERR, "%s", line.c_str());
  } else {
    std::fprintf(stderr, "stg-mount: %s\n", line.c_str());
  }
}

void MountLog::sayOnce(const std::string &line) {
  std::lock_guard lock(mutex_);
  if (said_.insert(line).second)
    say(line);
}

} // namespace stg
