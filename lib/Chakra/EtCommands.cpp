//===- EtCommands.cpp - what stg-et does -----------------------------------===//

#include "stg/Chakra/EtCommands.h"
#include "fmt/format.h"
#include "stg/Chakra/TraceSet.h"
#include "stg/Support/CountText.h"
#include "stg/Trace/TraceStats.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

namespace stg {
namespace {

/// Turns an error of the reader into a diagnostic: the user's fault or the environment's.
void reportError(llvm::Error error, Diagnostics &diags) {
  llvm::handleAllErrors(std::move(error), [&](llvm::FileError &info) {
    if (info.convertToErrorCode() == std::make_error_code(std::errc::invalid_argument))
      diags.report(diag::TraceSetMalformed{.path = info.getFileName(), .reason = info.messageWithoutFileInfo()});
    else
      diags.report(diag::FileUnreadable{.path = info.getFileName(), .reason = info.messageWithoutFileInfo()});
  });
}

std::optional<TraceSet> findSet(llvm::ArrayRef<std::string> inputs, Diagnostics &diags) {
  llvm::Expected<TraceSet> set = findTraceSet(inputs);
  if (set)
    return std::move(*set);
  reportError(set.takeError(), diags);
  return std::nullopt;
}

std::optional<TraceReader> openFile(const TraceSet::File &file, Diagnostics &diags) {
  llvm::Expected<TraceReader> reader = openTrace(file);
  if (reader)
    return std::move(*reader);
  reportError(reader.takeError(), diags);
  return std::nullopt;
}

/// Keeps the groups that were read; false if they cannot be.
bool keepGroups(llvm::Expected<GroupFile> groups, std::optional<GroupTable> &into, Diagnostics &diags) {
  if (groups)
    into = std::move(*groups);
  else
    reportError(groups.takeError(), diags);
  return into.has_value();
}

std::string_view endingText(TraceReader::Ending ending) {
  switch (ending) {
  case TraceReader::Ending::Clean:
    return "it ends where it should";
  case TraceReader::Ending::Truncated:
    return "the last message is cut short";
  case TraceReader::Ending::NotANode:
    return "what stands there is no node";
  case TraceReader::Ending::BadGzip:
    return "the compressed data is damaged or cut short";
  }
  return "";
}

/// For commands that only read on: a file that ends badly is an error once all before it has been shown.
void reportEnding(const TraceReader &reader, const TraceSet::File &file, Diagnostics &diags) {
  if (reader.ending() != TraceReader::Ending::Clean)
    diags
        .report(diag::TraceSetMalformed{
            .path = file.path, .reason = fmt::format("byte {}: {}", reader.offset(), endingText(reader.ending()))})
        .help("stg-et verify says more");
}

} // namespace

//===----------------------------------------------------------------------===//
// dump
//===----------------------------------------------------------------------===//

ExitStatus dumpTraces(const DumpOptions &options, llvm::raw_ostream &out, Diagnostics &diags) {
  std::optional<TraceSet> set = findSet(options.inputs, diags);
  if (!set)
    return diags.exitStatus();
  DecodedNode node;
  for (const TraceSet::File &file : set->files) {
    std::optional<TraceReader> reader = openFile(file, diags);
    if (!reader)
      continue;
    out << "file " << llvm::sys::path::filename(file.path) << " rank " << file.rank << '\n';
    if (reader->metadata())
      out << metadataText(*reader->metadata(), options.kinds) << '\n';
    while (reader->next(node))
      out << nodeText(node, options.kinds) << '\n';
    reportEnding(*reader, file, diags);
  }
  return diags.exitStatus();
}

//===----------------------------------------------------------------------===//
// stats
//===----------------------------------------------------------------------===//

namespace {

std::string number(TraceSum value) { return withCommas(fmt::format("{}", value)); }

void printTable(llvm::raw_ostream &out, llvm::StringRef title, const std::map<std::string, NodeTotals> &rows) {
  if (rows.empty())
    return;
  out << fmt::format("{:<22}{:>12}{:>24}{:>24}\n", std::string_view(title), "nodes", "flops", "bytes");
  for (const auto &[name, totals] : rows)
    out << fmt::format("  {:<20}{:>12}{:>24}{:>24}\n", name, number(totals.nodes), number(totals.flops),
                       number(totals.bytes));
}

std::string nodesText(uint64_t count) { return counted(std::to_string(count), "node"); }

/// `0-3, 8`: ascending numbers.
std::string rangesText(llvm::ArrayRef<uint32_t> numbers) {
  std::string text;
  for (size_t first = 0, last = 0; first < numbers.size(); first = ++last) {
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1)
      ++last;
    text += fmt::format("{}{}", first == 0 ? "" : ", ", numbers[first]);
    if (last != first)
      text += fmt::format("-{}", numbers[last]);
  }
  return text;
}

std::string sizeText(size_t groupSize) { return groupSize == 0 ? "?" : std::to_string(groupSize); }

void printClasses(const TraceStats &stats, llvm::raw_ostream &out) {
  for (size_t i = 0; i < stats.classes().size(); ++i) {
    const RankClass &own = stats.classes()[i];
    TraceSum sent = 0;
    for (const auto &[kind, totals] : own.communication)
      sent += totals.bytes;
    out << fmt::format("class {}: ranks {}; each {}, {} flops, {} bytes of memory, {} of communication\n", i,
                       rangesText(own.ranks), nodesText(own.total.nodes), number(own.total.flops),
                       number(own.total.bytes - sent), number(sent));
    if (own.communication.empty())
      continue;
    out << fmt::format("  {:<20}{:<16}{:>6}{:>12}{:>24}\n", "communication", "axes", "ranks", "nodes", "bytes");
    for (const auto &[kind, totals] : own.communication)
      out << fmt::format("  {:<20}{:<16}{:>6}{:>12}{:>24}\n", kind.kind, kind.axes.empty() ? "-" : kind.axes,
                         sizeText(kind.groupSize), number(totals.nodes), number(totals.bytes));
  }
}

/// One line for all ranks that take the same time.
void printRooflines(const TraceStats &stats, llvm::raw_ostream &out) {
  struct Alike {
    const RankTotals *first;
    std::vector<uint32_t> ranks;
  };
  std::vector<Alike> lines;
  for (const RankTotals &rank : stats.ranks()) {
    auto same = llvm::find_if(lines, [&](const Alike &line) {
      return line.first->nodes == rank.nodes && line.first->rooflineNs == rank.rooflineNs &&
             line.first->untimed == rank.untimed;
    });
    if (same == lines.end())
      same = lines.insert(lines.end(), {&rank, {}});
    same->ranks.push_back(rank.rank);
  }
  out << fmt::format("rooflines of each rank at {} TFLOP/s, {} GB/s, in ns\n", stats.machine()->peakTflops,
                     stats.machine()->memoryGbps);
  for (const Alike &line : lines) {
    out << fmt::format("  ranks {:<14}{:>18}{:>24} ns\n", rangesText(line.ranks), nodesText(line.first->nodes),
                       number(line.first->rooflineNs));
    if (line.first->untimed != 0)
      out << fmt::format("    without {} that {} no operations\n", nodesText(line.first->untimed),
                         line.first->untimed == 1 ? "has" : "have");
  }
}

void printText(const TraceStats &stats, llvm::raw_ostream &out) {
  uint64_t fileBytes = 0;
  for (const RankTotals &rank : stats.ranks())
    fileBytes += rank.fileBytes;
  NodeTotals total = stats.total();
  out << fmt::format("ranks {}, nodes {}, file bytes {} ({:.0f} a node)\n", number(stats.ranks().size()),
                     number(total.nodes), number(fileBytes),
                     total.nodes ? static_cast<double>(fileBytes) / static_cast<double>(total.nodes) : 0.0);
  printTable(out, "type", stats.byType());
  printTable(out, "op_type", stats.byOp());
  printTable(out, "collective", stats.byCollective());
  if (const UnevenTotals &uneven = stats.uneven(); uneven.nodes != 0)
    out << fmt::format("uneven parts: {}, {} bytes, {} padded\n", nodesText(uneven.nodes), number(uneven.trueBytes),
                       number(uneven.paddedBytes));
  printClasses(stats, out);
  if (stats.machine())
    printRooflines(stats, out);
}

void printJson(const TraceStats &stats, llvm::raw_ostream &out) {
  llvm::json::OStream json(out, /*IndentSize=*/2);
  auto sum = [&json](llvm::StringRef key, TraceSum value) {
    json.attributeBegin(key);
    json.rawValue(fmt::format("{}", value));
    json.attributeEnd();
  };
  auto totals = [&](const NodeTotals &value) {
    json.attribute("nodes", value.nodes);
    sum("flops", value.flops);
    sum("bytes", value.bytes);
  };
  auto table = [&](llvm::StringRef key, const std::map<std::string, NodeTotals> &rows) {
    json.attributeObject(key, [&] {
      for (const auto &[name, value] : rows)
        json.attributeObject(name, [&] { totals(value); });
    });
  };
  json.object([&] {
    json.attributeObject("total", [&] { totals(stats.total()); });
    table("types", stats.byType());
    table("op_types", stats.byOp());
    table("collectives", stats.byCollective());
    if (stats.uneven().nodes != 0)
      json.attributeObject("uneven", [&] {
        json.attribute("nodes", stats.uneven().nodes);
        sum("true_bytes", stats.uneven().trueBytes);
        sum("padded_bytes", stats.uneven().paddedBytes);
      });
    if (stats.machine())
      json.attributeObject("machine", [&] {
        json.attribute("peak_tflops", stats.machine()->peakTflops);
        json.attribute("hbm_gbps", stats.machine()->memoryGbps);
      });
    json.attributeArray("classes", [&] {
      for (const RankClass &own : stats.classes())
        json.object([&] {
          json.attribute("ranks", rangesText(own.ranks));
          json.attribute("count", static_cast<int64_t>(own.ranks.size()));
          totals(own.total);
          json.attributeArray("communication", [&] {
            for (const auto &[kind, sums] : own.communication)
              json.object([&] {
                json.attribute("kind", kind.kind);
                json.attribute("axes", kind.axes);
                json.attribute("group_size", static_cast<int64_t>(kind.groupSize));
                json.attribute("count", sums.nodes);
                sum("bytes", sums.bytes);
              });
          });
        });
    });
    json.attributeArray("ranks", [&] {
      for (const RankTotals &rank : stats.ranks())
        json.object([&] {
          json.attribute("rank", rank.rank);
          json.attribute("nodes", rank.nodes);
          json.attribute("file_bytes", rank.fileBytes);
          if (stats.machine()) {
            json.attribute("roofline_ns", rank.rooflineNs);
            json.attribute("untimed_nodes", rank.untimed);
          }
        });
    });
  });
  out << '\n';
}

} // namespace

ExitStatus printTraceStats(const StatsOptions &options, llvm::raw_ostream &out, Diagnostics &diags) {
  std::optional<TraceSet> set = findSet(options.inputs, diags);
  if (!set)
    return diags.exitStatus();
  std::optional<GroupTable> groups;
  if (!set->groupFile.empty() && !keepGroups(readGroups(*set), groups, diags))
    return diags.exitStatus();
  TraceStats stats(options.machine, std::move(groups));
  DecodedNode node;
  size_t opened = 0;
  for (const TraceSet::File &file : set->files) {
    std::optional<TraceReader> reader = openFile(file, diags);
    if (!reader)
      continue;
    ++opened;
    stats.beginRank(file.rank, reader->fileBytes(), reader->metadata() ? &*reader->metadata() : nullptr);
    while (reader->next(node))
      stats.add(node);
    stats.endRank();
    reportEnding(*reader, file, diags);
  }
  if (opened == 0)
    return diags.exitStatus();
  if (options.format == StatsFormat::Json)
    printJson(stats, out);
  else
    printText(stats, out);
  return diags.exitStatus();
}

//===----------------------------------------------------------------------===//
// verify
//===----------------------------------------------------------------------===//

namespace {

/// The number of ranks: as the metadata says, else as many as there are files of a whole set.
uint32_t worldSize(const TraceSet &set, CheckScope scope) {
  if (llvm::Expected<TraceReader> first = openTrace(set.files[0])) {
    if (first->metadata())
      for (const DecodedAttribute &attribute : first->metadata()->attributes)
        if (attribute.name == "world_size" && attribute.asUnsigned())
          return static_cast<uint32_t>(*attribute.asUnsigned());
  } else {
    llvm::consumeError(first.takeError());
  }
  return scope == CheckScope::WholeSet ? static_cast<uint32_t>(set.files.size()) : 0;
}

FileEnd fileEnd(TraceReader::Ending ending) {
  switch (ending) {
  case TraceReader::Ending::Clean:
    return FileEnd::Clean;
  case TraceReader::Ending::Truncated:
  case TraceReader::Ending::BadGzip:
    return FileEnd::Truncated;
  case TraceReader::Ending::NotANode:
    return FileEnd::BadMessage;
  }
  return FileEnd::Clean;
}

std::string plural(uint64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

} // namespace

ExitStatus verifyTraces(const VerifyOptions &options, llvm::raw_ostream &out, Diagnostics &diags) {
  std::optional<TraceSet> set = findSet(options.inputs, diags);
  if (!set)
    return diags.exitStatus();
  CheckOptions check{.target = options.target,
                     .scope = set->isWhole ? CheckScope::WholeSet : CheckScope::Files,
                     .machine = options.machine};
  check.worldSize = worldSize(*set, check.scope);
  if (!options.groupFile.empty() || !set->groupFile.empty())
    if (!keepGroups(options.groupFile.empty() ? readGroups(*set) : readGroupFile(options.groupFile), check.groups,
                    diags))
      return diags.exitStatus();

  TraceFindings findings(diags, options.keep);
  TraceChecker checker(check, findings);
  DecodedNode node;
  uint64_t nodes = 0, dependencies = 0;
  for (const TraceSet::File &file : set->files) {
    std::optional<TraceReader> reader = openFile(file, diags);
    if (!reader)
      continue;
    checker.beginRank(file.rank, reader->metadata().has_value());
    while (reader->next(node))
      checker.node(node);
    checker.endRank(fileEnd(reader->ending()), reader->offset());
    nodes += checker.ranks().back().nodes;
    dependencies += checker.ranks().back().dependencies;
  }
  if (checker.ranks().empty())
    return diags.exitStatus();
  checker.finish();

  std::string size = fmt::format("{}, {}, {} dependencies", plural(checker.ranks().size(), "rank"),
                                 plural(nodes, "node"), dependencies);
  if (const ReplayVerdict &replay = checker.replay(); replay.hasMessages && replay.eager == true)
    size += replay.rendezvous == true ? "; sends may wait for their receives" : "; sends must not wait";
  if (findings.counts().empty() && !diags.hasErrors()) {
    out << "ok: " << size << '\n';
    return ExitStatus::Done;
  }
  std::string codes;
  for (const auto &[code, count] : findings.counts())
    codes += fmt::format("{}{} x {}", codes.empty() ? "" : ", ", code, count);
  out << (findings.errors() == 0 && !diags.hasErrors() ? "ok with warnings: " : "failed: ") << size << "; " << codes
      << '\n';
  return diags.exitStatus();
}

//===----------------------------------------------------------------------===//
// diff
//===----------------------------------------------------------------------===//

namespace {

/// Lines of a file as `dump` prints them, one by one; empty at the end.
class LineSource {
public:
  explicit LineSource(TraceReader reader) : reader_(std::move(reader)) {}
  std::string next() {
    if (first_) {
      first_ = false;
      if (reader_.metadata())
        return metadataText(*reader_.metadata(), ShowKinds::Yes);
    }
    return reader_.next(node_) ? nodeText(node_, ShowKinds::Yes) : "";
  }
  const TraceReader &reader() const { return reader_; }

private:
  TraceReader reader_;
  DecodedNode node_;
  bool first_ = true;
};

/// True if the two files say the same; otherwise prints where they part.
bool sameFile(const TraceSet::File &left, const TraceSet::File &right, llvm::raw_ostream &out, Diagnostics &diags) {
  std::optional<TraceReader> leftReader = openFile(left, diags), rightReader = openFile(right, diags);
  if (!leftReader || !rightReader)
    return true;
  LineSource leftLines(std::move(*leftReader)), rightLines(std::move(*rightReader));
  for (uint64_t number = 1;; ++number) {
    std::string leftLine = leftLines.next(), rightLine = rightLines.next();
    if (leftLine != rightLine) {
      auto shown = [](const std::string &line) { return line.empty() ? std::string("(end of file)") : line; };
      out << "rank " << left.rank << ", message " << number << " differs\n"
          << "  left   " << shown(leftLine) << "\n  right  " << shown(rightLine) << '\n';
      return false;
    }
    if (leftLine.empty())
      break;
  }
  reportEnding(leftLines.reader(), left, diags);
  reportEnding(rightLines.reader(), right, diags);
  return true;
}

} // namespace

ExitStatus diffTraces(const DiffOptions &options, llvm::raw_ostream &out, Diagnostics &diags) {
  std::optional<TraceSet> left = findSet({options.left}, diags), right = findSet({options.right}, diags);
  if (!left || !right)
    return diags.exitStatus();
  // Two single files are compared whatever their ranks are.
  bool single = left->files.size() == 1 && right->files.size() == 1;
  size_t at = 0;
  for (; at < std::min(left->files.size(), right->files.size()); ++at) {
    uint32_t leftRank = left->files[at].rank, rightRank = right->files[at].rank;
    if (!single && leftRank != rightRank) {
      out << "rank " << std::min(leftRank, rightRank) << " is only in the " << (leftRank < rightRank ? "left" : "right")
          << " set\n";
      return ExitStatus::InputWrong;
    }
    if (!sameFile(left->files[at], right->files[at], out, diags))
      return ExitStatus::InputWrong;
  }
  if (left->files.size() != right->files.size()) {
    bool leftLonger = left->files.size() > right->files.size();
    out << "rank " << (leftLonger ? *left : *right).files[at].rank << " is only in the "
        << (leftLonger ? "left" : "right") << " set\n";
    return ExitStatus::InputWrong;
  }
  if (!diags.hasErrors())
    out << "identical: " << plural(left->files.size(), "rank") << '\n';
  return diags.exitStatus();
}

} // namespace stg
