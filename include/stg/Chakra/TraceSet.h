//===- TraceSet.h - the traces that a command's arguments name --------------===//
// Files, directories and bundles (Bundle/Bundle.h). What is in a bundle has the path
// that it would have in the directory: `traces.stgb`, `traces.stgb/train` and
// `traces.stgb/train/train.7.et` are arguments as `out`, `out/train` and
// `out/train/train.7.et` are.
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Bundle/Bundle.h"
#include "stg/Chakra/TraceReader.h"
#include <map>

namespace stg {

struct TraceSet {
  /// Where traces are in a bundle.
  struct Source {
    std::shared_ptr<const bundle::Bundle> bundle;
    const bundle::TraceInfo *trace = nullptr;
  };
  struct File {
    uint32_t rank;
    std::string path;
    /// If it is in a bundle.
    Source source = {};
  };
  /// By rank, then path.
  std::vector<File> files;
  /// The group file, if there is one: its path, and the bundle that it is in.
  std::string groupFile;
  Source groupSource = {};
  /// A directory, or all traces of a bundle, are among the arguments.
  bool isWhole = false;
};

// Errors of the three below are llvm::FileError, as those of TraceReader::open.

/// Finds a trace set from the arguments of a command: directories, whose `.et` files are taken, single files, bundles.
/// A file without a number before `.et` gets its place among the arguments as rank.
llvm::Expected<TraceSet> findTraceSet(llvm::ArrayRef<std::string> arguments);

llvm::Expected<TraceReader> openTrace(const TraceSet::File &file);

/// Groups by key, `{"<id>": [ranks...], ...}`. Keys stay as they are written, because readers compare numbers where
/// producers pad.
using GroupFile = std::map<std::string, std::vector<uint32_t>>;
llvm::Expected<GroupFile> readGroupFile(llvm::StringRef path);
/// Those of a set that has a group file.
llvm::Expected<GroupFile> readGroups(const TraceSet &set);

} // namespace stg
