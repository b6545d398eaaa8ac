//===- TraceSet.cpp - the traces that a command's arguments name ------------===//

#include "stg/Chakra/TraceSet.h"
#include "fmt/format.h"
#include "stg/Bundle/BundleFormat.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

namespace stg {
namespace {

llvm::Error fileError(llvm::StringRef path, std::errc code, const llvm::Twine &what) {
  return llvm::createFileError(path, llvm::createStringError(std::make_error_code(code), what));
}

llvm::Error bundleError(llvm::StringRef path, const bundle::BundleError &error) {
  llvm::StringRef what = error.what;
  what.consume_front((path + ": ").str());
  bool isWrong = error.kind == bundle::BundleError::Kind::Damaged;
  return fileError(path, isWrong ? std::errc::invalid_argument : std::errc::io_error, what);
}

/// The number before `.et` (or `.et.gz`): `llama.12.et` is rank 12.
std::optional<uint32_t> rankInName(llvm::StringRef path) {
  llvm::StringRef name = llvm::sys::path::filename(path);
  name.consume_back(".gz");
  if (!name.consume_back(".et"))
    return std::nullopt;
  uint32_t rank;
  if (name.rsplit('.').second.getAsInteger(10, rank))
    return std::nullopt;
  return rank;
}

bool isTraceFile(llvm::StringRef name) { return name.ends_with(".et") || name.ends_with(".et.gz"); }

/// An argument that is a bundle, or a path in one.
struct BundlePath {
  std::string bundle;
  std::string inside; ///< `train/train.7.et`, or empty
};

bool isBundle(llvm::StringRef path) {
  if (!llvm::sys::fs::is_regular_file(path))
    return false;
  auto begin = llvm::MemoryBuffer::getFileSlice(path, bundle::kFirstLineBytes, 0);
  return begin && (*begin)->getBuffer().starts_with("stgc bundle ");
}

std::optional<BundlePath> pathInBundle(llvm::StringRef argument) {
  llvm::StringRef path = argument.rtrim('/');
  for (llvm::StringRef head = path; !head.empty(); head = llvm::sys::path::parent_path(head)) {
    if (!llvm::sys::fs::exists(head))
      continue;
    if (!isBundle(head))
      return std::nullopt;
    return BundlePath{head.str(), path.drop_front(head.size()).ltrim('/').str()};
  }
  return std::nullopt;
}

class SetBuilder {
public:
  llvm::Error add(const std::string &argument) {
    if (std::optional<BundlePath> path = pathInBundle(argument))
      return addBundle(*path);
    if (llvm::sys::fs::is_directory(argument))
      return addDirectory(argument);
    addFile(argument);
    return llvm::Error::success();
  }

  TraceSet take() {
    llvm::stable_sort(set_.files, [](const auto &a, const auto &b) { return a.rank < b.rank; });
    return std::move(set_);
  }

private:
  void addFile(llvm::StringRef path) {
    uint32_t rank = rankInName(path).value_or(static_cast<uint32_t>(set_.files.size()));
    set_.files.push_back({rank, path.str()});
  }

  llvm::Error addDirectory(llvm::StringRef path) {
    std::vector<std::string> found;
    if (std::error_code error = findFiles(path, found))
      return fileError(path, std::errc::io_error, error.message());
    if (found.empty())
      return fileError(path, std::errc::invalid_argument, "holds no `.et` file");
    llvm::sort(found);
    for (const std::string &file : found)
      addFile(file);
    set_.isWhole = true;
    return llvm::Error::success();
  }

  /// In the directory and in the folders of a thousand ranks each: 000, 001, …
  std::error_code findFiles(llvm::StringRef path, std::vector<std::string> &found) {
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(path, error), end; it != end && !error; it.increment(error)) {
      llvm::StringRef name = llvm::sys::path::filename(it->path());
      if (isTraceFile(name))
        found.push_back(it->path());
      else if (name == bundle::kGroupFile || name == "comm_group.json")
        set_.groupFile = it->path();
      else if (name.size() >= 3 && llvm::all_of(name, llvm::isDigit) && llvm::sys::fs::is_directory(it->path()))
        if (std::error_code inner = findFiles(it->path(), found))
          return inner;
    }
    return error;
  }

  llvm::Expected<std::shared_ptr<const bundle::Bundle>> open(const std::string &path) {
    std::shared_ptr<const bundle::Bundle> &slot = bundles_[path];
    if (!slot) {
      bundle::BundleError error;
      slot = bundle::Bundle::open(path, error);
      if (!slot)
        return bundleError(path, error);
    }
    return slot;
  }

  llvm::Error addBundle(const BundlePath &path) {
    llvm::Expected<std::shared_ptr<const bundle::Bundle>> opened = open(path.bundle);
    if (!opened)
      return opened.takeError();
    const std::vector<bundle::TraceInfo> &traces = (*opened)->traces();
    for (const bundle::TraceInfo &trace : traces) {
      TraceSet::Source source{*opened, &trace};
      if (trace.folder == path.inside) {
        for (uint32_t rank = 0; rank < trace.worldSize; ++rank)
          addRank(path.bundle, rank, source);
        set_.isWhole = true;
        return llvm::Error::success();
      }
      llvm::StringRef file = path.inside;
      if (!trace.folder.empty() && !file.consume_front(trace.folder + "/"))
        continue;
      std::optional<uint32_t> rank = rankInName(file);
      if (rank && *rank < trace.worldSize && file == bundle::Bundle::fileName(trace, *rank)) {
        addRank(path.bundle, *rank, source);
        return llvm::Error::success();
      }
    }
    std::vector<std::string> folders;
    for (const bundle::TraceInfo &trace : traces)
      folders.push_back("`" + pathOf(path.bundle, trace) + "`");
    return fileError(path.inside.empty() ? path.bundle : path.bundle + "/" + path.inside, std::errc::invalid_argument,
                     path.inside.empty()
                         ? fmt::format("the bundle holds several traces: name one of {}", fmt::join(folders, ", "))
                         : fmt::format("no such trace in the bundle; it holds {}", fmt::join(folders, ", ")));
  }

  static std::string pathOf(const std::string &bundle, const bundle::TraceInfo &trace) {
    return trace.folder.empty() ? bundle : bundle + "/" + trace.folder;
  }

  void addRank(const std::string &bundle, uint32_t rank, const TraceSet::Source &source) {
    std::string folder = pathOf(bundle, *source.trace);
    set_.files.push_back({rank, folder + "/" + bundle::Bundle::fileName(*source.trace, rank), source});
    if (!source.trace->groups.empty()) {
      set_.groupFile = folder + "/" + bundle::kGroupFile;
      set_.groupSource = source;
    }
  }

  TraceSet set_;
  std::map<std::string, std::shared_ptr<const bundle::Bundle>> bundles_;
};

llvm::Expected<GroupFile> parseGroups(llvm::StringRef path, llvm::StringRef text) {
  auto malformed = [path](const llvm::Twine &what) { return fileError(path, std::errc::invalid_argument, what); };
  llvm::Expected<llvm::json::Value> json = llvm::json::parse(text);
  if (!json)
    return malformed(llvm::toString(json.takeError()));
  const llvm::json::Object *object = json->getAsObject();
  if (!object)
    return malformed("a group file is an object of lists of ranks");
  GroupFile groups;
  for (const auto &[key, value] : *object) {
    const llvm::json::Array *list = value.getAsArray();
    if (!list)
      return malformed("group \"" + key.str() + "\" is no list");
    std::vector<uint32_t> &ranks = groups[key.str()];
    for (const llvm::json::Value &rank : *list) {
      std::optional<int64_t> number = rank.getAsInteger();
      if (!number || *number < 0 || *number > INT32_MAX)
        return malformed("group \"" + key.str() + "\" holds something that is no rank");
      ranks.push_back(static_cast<uint32_t>(*number));
    }
  }
  return groups;
}

} // namespace

llvm::Expected<TraceSet> findTraceSet(llvm::ArrayRef<std::string> arguments) {
  SetBuilder builder;
  for (const std::string &argument : arguments)
    if (llvm::Error error = builder.add(argument))
      return error;
  return builder.take();
}

llvm::Expected<TraceReader> openTrace(const TraceSet::File &file) {
  if (!file.source.bundle)
    return TraceReader::open(file.path);
  const bundle::TraceInfo &trace = *file.source.trace;
  std::string bytes(bundle::Bundle::fileSize(trace, file.rank), 0);
  bundle::BundleError error;
  if (!file.source.bundle->read(trace, file.rank, 0, bytes, error))
    return bundleError(file.path, error);
  return TraceReader::owning(std::move(bytes));
}

llvm::Expected<GroupFile> readGroupFile(llvm::StringRef path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  if (!file)
    return fileError(path, std::errc::io_error, file.getError().message());
  return parseGroups(path, (*file)->getBuffer());
}

llvm::Expected<GroupFile> readGroups(const TraceSet &set) {
  if (set.groupSource.bundle)
    return parseGroups(set.groupFile, bundle::Bundle::groupFile(*set.groupSource.trace));
  return readGroupFile(set.groupFile);
}

} // namespace stg
