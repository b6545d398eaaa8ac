//===- ExtractBundle.cpp - a directory of files from a bundle ---------------===//
#include "stg/Chakra/ExtractBundle.h"
#include "fmt/format.h"
#include "stg/Chakra/EmitProgram.h"
#include "llvm/Support/FileSystem.h"

namespace stg {
namespace {

class Extraction {
public:
  Extraction(const ExtractOptions &options, Diagnostics &diags) : options_(options), diags_(diags) {}

  ExitStatus run(llvm::raw_ostream &out) {
    if (open() && writeAll() && check(sink_->commit()))
      for (const bundle::TraceInfo &trace : bundle_->traces())
        out << summary(trace);
    return diags_.exitStatus();
  }

private:
  bool open() {
    if (llvm::sys::fs::is_directory(options_.bundle)) {
      diags_
          .report(diag::TraceSetMalformed{.path = options_.bundle,
                                          .reason = "a directory has its files already; extract takes a bundle"})
          .help("stgc build ... --emit=bundle -o traces.stgb writes one");
      return false;
    }
    bundle::BundleError error;
    bundle_ = bundle::Bundle::open(options_.bundle, error);
    if (!bundle_) {
      report(error);
      return false;
    }
    for (const bundle::TraceInfo &trace : bundle_->traces())
      if (std::optional<uint32_t> rank = options_.directory.ranks.outside(trace.worldSize))
        reportMissingRank(*rank, trace.prefix, trace.worldSize, diags_);
    if (diags_.hasErrors())
      return false;
    llvm::Expected<std::unique_ptr<TraceDirectory>> sink =
        TraceDirectory::create(options_.output, options_.directory, options_.threads);
    if (!sink)
      return check(sink.takeError());
    sink_ = std::move(*sink);
    return true;
  }

  bool writeAll() {
    for (const bundle::TraceInfo &trace : bundle_->traces()) {
      if (!check(sink_->begin(trace)))
        return false;
      uint64_t written = 0;
      for (uint32_t i = 0; i < trace.classes.size(); ++i) {
        written += sink_->ranksOf(i);
        if (sink_->ranksOf(i) != 0 && !writeClass(trace, i))
          return false;
      }
      written_.push_back(written);
      if (!check(sink_->end()))
        return false;
    }
    return true;
  }

  bool writeClass(const bundle::TraceInfo &trace, uint32_t number) {
    const bundle::RankClass &own = trace.classes[number];
    for (const bundle::Segment &segment : own.segments) {
      bundle::BundleError error;
      std::optional<bundle::SegmentImage> image = bundle_->image(trace, own, segment, error);
      if (!image) {
        report(error);
        return false;
      }
      if (!check(sink_->take(number, {.start = segment.start,
                                      .bytes = {image->bytes.data(), image->bytes.size()},
                                      .patches = {image->patches.data(), image->patches.size()},
                                      .fields = own.fields,
                                      .nodes = segment.nodes,
                                      .isLast = &segment == &own.segments.back()})))
        return false;
    }
    return true;
  }

  std::string summary(const bundle::TraceInfo &trace) const {
    uint64_t written = written_[&trace - bundle_->traces().data()];
    std::string ranks = fmt::format("{}", trace.worldSize);
    if (written != trace.worldSize)
      ranks = fmt::format("{} of {}", written, trace.worldSize);
    return fmt::format("{}: {} rank{}, in {}{}{}\n", trace.prefix, ranks, trace.worldSize == 1 ? "" : "s",
                       options_.output, trace.folder.empty() ? "" : "/", trace.folder);
  }

  void report(const bundle::BundleError &error) {
    llvm::StringRef what = error.what;
    what.consume_front(options_.bundle + ": ");
    if (error.kind == bundle::BundleError::Kind::Damaged)
      diags_.report(diag::TraceSetMalformed{.path = options_.bundle, .reason = what});
    else
      diags_.report(diag::FileUnreadable{.path = options_.bundle, .reason = what});
  }

  bool check(llvm::Error error) {
    bool isDone = !error;
    llvm::handleAllErrors(std::move(error), [&](const OutputError &output) {
      diags_.report(diag::OutputUnwritable{.path = output.path(), .reason = output.what()});
    });
    return isDone;
  }

  const ExtractOptions &options_;
  Diagnostics &diags_;
  std::unique_ptr<bundle::Bundle> bundle_;
  std::unique_ptr<TraceDirectory> sink_;
  std::vector<uint64_t> written_; ///< ranks, by trace
};

} // namespace

ExitStatus extractBundle(const ExtractOptions &options, llvm::raw_ostream &out, Diagnostics &diags) {
  return Extraction(options, diags).run(out);
}

} // namespace stg
