//===- Mount.cpp - a bundle as a folder of files ----------------------------===//

#include "stg/Mount/Mount.h"
#include "FuseOperations.h"
#include "stg/Support/Outcome.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

namespace stg {

using bundle::Bundle;
using bundle::BundleError;

namespace {

namespace fs = std::filesystem;

/// The first line that libfuse has said, without the `fuse: ` that it may begin with. Its way of saying why something
/// fails is to call a function without user data, from any of its threads.
class FuseMessage {
public:
  static void keep(fuse_log_level, const char *format, va_list arguments) {
    char line[512];
    std::vsnprintf(line, sizeof line, format, arguments);
    std::string_view text = line;
    constexpr std::string_view kPrefix = "fuse: ";
    text.remove_prefix(text.starts_with(kPrefix) ? kPrefix.size() : 0);
    std::lock_guard lock(mutex_);
    if (first_.empty())
      first_ = text.substr(0, text.find('\n'));
  }
  /// `instead` if there was none.
  static std::string take(const std::string &instead) {
    std::lock_guard lock(mutex_);
    std::string text = std::exchange(first_, "");
    return text.empty() ? instead : text;
  }

private:
  static inline std::mutex mutex_;
  static inline std::string first_;
};

void reportBundle(const BundleError &error, const std::string &path, Diagnostics &diags) {
  std::string reason = error.what;
  if (reason.starts_with(path + ": "))
    reason.erase(0, path.size() + 2);
  if (error.kind == BundleError::Kind::Unreadable)
    diags.report(diag::FileUnreadable{.path = path, .reason = reason});
  else
    diags.report(diag::TraceSetMalformed{.path = path, .reason = reason});
}

/// Why nothing can be mounted on `directory`; empty if something can.
std::string faultOf(const std::string &directory) {
  std::error_code fault;
  fs::file_status status = fs::status(directory, fault);
  if (status.type() == fs::file_type::not_found)
    return "there is no such directory";
  if (!fault && status.type() != fs::file_type::directory)
    return "it is not a directory";
  // Of a mount that has died, the system may still know the attributes.
  bool empty = !fault && fs::is_empty(directory, fault);
  if (fault == std::errc::not_connected)
    return "what was mounted there has died; `fusermount3 -uz` clears it away";
  if (fault)
    return fault.message();
  return empty ? "" : "the directory is not empty";
}

std::unique_ptr<MountLog> openLog(const MountOptions &options, Diagnostics &diags) {
  if (options.log.empty())
    return std::make_unique<MountLog>(options.run == MountRun::Foreground ? MountLog::To::StandardError
                                                                          : MountLog::To::System);
  std::FILE *file = std::fopen(options.log.c_str(), "ae");
  if (!file) {
    diags.report(diag::OutputUnwritable{.path = options.log, .reason = std::strerror(errno)});
    return nullptr;
  }
  return std::make_unique<MountLog>(file);
}

/// A session of libfuse from its creation to the end of the mount.
class Session {
public:
  /// `directory` as the user wrote it.
  Session(const MountedBundle &content, std::string directory, Diagnostics &diags)
      : content_(content), directory_(std::move(directory)), diags_(diags) {}
  ~Session();
  Session(const Session &) = delete;
  Session &operator=(const Session &) = delete;

  Outcome mount();
  /// Until the end of the mount.
  ExitStatus run(MountRun how);

private:
  Outcome fail(const std::string &instead);

  const MountedBundle &content_;
  std::string directory_;
  Diagnostics &diags_;
  fuse_session *session_ = nullptr;
  bool handlesSignals_ = false, mounted_ = false;
};

Session::~Session() {
  if (mounted_)
    fuse_session_unmount(session_);
  if (handlesSignals_)
    fuse_remove_signal_handlers(session_);
  if (session_)
    fuse_session_destroy(session_);
}

Outcome Session::fail(const std::string &instead) {
  auto shown = diags_.report(diag::MountFailed{.path = directory_, .reason = FuseMessage::take(instead)});
  if (access("/dev/fuse", R_OK | W_OK) != 0)
    shown.help("this needs /dev/fuse: `modprobe fuse`; in a container, `--device /dev/fuse --cap-add SYS_ADMIN`");
  return Outcome::Failed;
}

Outcome Session::mount() {
  fuse_args arguments = FUSE_ARGS_INIT(0, nullptr);
  char *options = nullptr;
  // What `df` and /proc/mounts show.
  fuse_opt_add_opt_escaped(&options, ("fsname=" + content_.path).c_str());
  fuse_opt_add_opt(&options, "subtype=stg-mount");
  for (const char *argument : {"stg-mount", "-o", static_cast<const char *>(options)})
    fuse_opt_add_arg(&arguments, argument);
  fuse_lowlevel_ops operations = fuseOperations();
  fuse_set_log_func(FuseMessage::keep);
  session_ = fuse_session_new(&arguments, &operations, sizeof operations, const_cast<MountedBundle *>(&content_));
  fuse_opt_free_args(&arguments);
  std::free(options);
  if (!session_)
    return fail("libfuse refused");
  handlesSignals_ = fuse_set_signal_handlers(session_) == 0;
  // Unmounting comes after the process has left its directory.
  std::error_code fault;
  mounted_ = fuse_session_mount(session_, fs::canonical(directory_, fault).c_str()) == 0;
  return mounted_ ? Outcome::Done : fail("the system refused");
}

ExitStatus Session::run(MountRun how) {
  constexpr unsigned kMostThreads = 16;
  // Threads do not survive the fork in it: they are started by the loop.
  if (fuse_daemonize(how == MountRun::Foreground) != 0) {
    diags_.report(diag::MountFailed{.path = directory_, .reason = std::strerror(errno)});
    return ExitStatus::Environment;
  }
  fuse_loop_config *threads = fuse_loop_cfg_create();
  fuse_loop_cfg_set_max_threads(threads, kMostThreads);
  fuse_loop_cfg_set_clone_fd(threads, 1);
  // Positive: the signal that ended it.
  int end = fuse_session_loop_mt(session_, threads);
  fuse_loop_cfg_destroy(threads);
  if (end >= 0)
    return ExitStatus::Done;
  content_.log.say("the mount ended: " + FuseMessage::take(std::strerror(-end)));
  return ExitStatus::Environment;
}

} // namespace

ExitStatus mountBundle(const MountOptions &options, Diagnostics &diags) {
  BundleError error;
  std::unique_ptr<Bundle> bundle = Bundle::open(options.bundle, error);
  if (!bundle) {
    reportBundle(error, options.bundle, diags);
    return diags.exitStatus();
  }
  if (std::string fault = faultOf(options.directory); !fault.empty()) {
    diags.report(diag::MountFailed{.path = options.directory, .reason = fault});
    return diags.exitStatus();
  }
  std::unique_ptr<MountLog> log = openLog(options, diags);
  if (!log)
    return diags.exitStatus();
  // The process leaves its directory when it goes to the background.
  MountTree tree(bundle->traces());
  std::error_code fault;
  MountedBundle content{.bundle = *bundle, .tree = tree, .log = *log, .path = fs::absolute(options.bundle, fault)};
  content.file = ::open(content.path.c_str(), O_RDONLY | O_CLOEXEC);
  if (content.file < 0 || fstat(content.file, &content.facts) != 0) {
    diags.report(diag::FileUnreadable{.path = options.bundle, .reason = std::strerror(errno)});
    return diags.exitStatus();
  }
  ExitStatus status;
  {
    Session session(content, options.directory, diags);
    status = session.mount() == Outcome::Done ? session.run(options.run) : diags.exitStatus();
  }
  ::close(content.file);
  return status;
}

} // namespace stg
