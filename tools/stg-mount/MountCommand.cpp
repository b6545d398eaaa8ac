//===- MountCommand.cpp - the command line of stg-mount ---------------------===//

#include "MountCommand.h"
#include "llvm/Support/CommandLine.h"

namespace stg {
namespace {

namespace cl = llvm::cl;

constexpr const char *kOverview =
    "stg-mount: the traces of a bundle as a folder of files\n\n"
    "  stg-mount llama.stgb traces/       traces/llama.0.et, traces/llama.1.et, ... are there when it returns\n"
    "  fusermount3 -u traces/             and are gone again\n"
    "  stg-mount -f llama.stgb traces/    stays until Ctrl-C; says on standard error what is damaged\n\n"
    "Files are made when they are read and take no space. They may be opened for writing, as simulators do that only\n"
    "read; writes fail.\n"
    "Exit status: 0 done; 1 the bundle is damaged; 2 wrong command line; 3 the system failed (unreadable file, no\n"
    "directory to mount on, no FUSE); 70 a fault of stg-mount.\n";

cl::OptionCategory category("Options of stg-mount");
cl::opt<std::string> bundlePath(cl::Positional, cl::Required, cl::desc("<bundle>"), cl::cat(category));
cl::opt<std::string> directory(cl::Positional, cl::Required, cl::desc("<directory>"), cl::cat(category));
cl::opt<bool> foreground("foreground", cl::desc("stay in the foreground"), cl::cat(category));
cl::alias foregroundShort("f", cl::desc("the same as --foreground"), cl::aliasopt(foreground), cl::cat(category));
cl::opt<std::string> logPath("log", cl::value_desc("file"),
                             cl::desc("add damage that is found later to a file, instead of standard error\n"
                                      "(foreground) or the system's log"),
                             cl::cat(category));

} // namespace

std::optional<MountOptions> parseMountOptions(int argc, char **argv) {
  cl::HideUnrelatedOptions(category);
  cl::SetVersionPrinter([](llvm::raw_ostream &out) { out << "stg-mount " STG_VERSION "\n"; });
  if (!cl::ParseCommandLineOptions(argc, argv, kOverview, &llvm::errs()))
    return std::nullopt;
  return MountOptions{.bundle = bundlePath,
                      .directory = directory,
                      .run = foreground ? MountRun::Foreground : MountRun::Background,
                      .log = logPath};
}

} // namespace stg
