//===- CheckOptions.h - what a trace set is checked for, and what is found --===//
#pragma once

#include "stg/Analysis/Roofline.h"
#include "stg/Support/Diagnostics.h"
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace stg {

/// Reports findings as diagnostics of the catalogue. All are counted, but of each code only the first few are reported,
/// because a producer that errs once errs in every node.
class TraceFindings {
public:
  explicit TraceFindings(Diagnostics &diags, size_t keep = 5) : diags_(diags), keep_(keep) {}

  /// `where` is what concerned: a node of a rank, a rank, the set; `seen` is what was found there, `effect` what a
  /// reader does with it, `remedy` what to do about it.
  template <class Row> void report(std::string where, std::string seen, const char *effect, const char *remedy) {
    if (count(Row::kInfo))
      diags_.report(Row{.where = std::move(where), .seen = std::move(seen)}).note(effect).help(remedy);
  }

  /// Findings by code, reported or not.
  const std::map<std::string, uint64_t> &counts() const { return counts_; }
  uint64_t errors() const { return errors_; }

private:
  bool count(const DiagnosticInfo &info);

  Diagnostics &diags_;
  size_t keep_;
  std::map<std::string, uint64_t> counts_;
  uint64_t errors_ = 0;
};

enum class TraceTarget : uint8_t { AstraSim, Chakra };

/// Whether the files are a whole trace set, so that every rank must be there, or some files of one.
enum class CheckScope : uint8_t { Files, WholeSet };

using GroupTable = std::map<std::string, std::vector<uint32_t>>;

/// A group of the file under its number.
struct CheckedGroup {
  std::string key;
  std::vector<uint32_t> ranks;
};
using CheckedGroups = std::map<int64_t, CheckedGroup>;

struct CheckOptions {
  TraceTarget target = TraceTarget::AstraSim;
  CheckScope scope = CheckScope::WholeSet;
  /// Number of ranks, from the metadata or by count of files; 0 if unknown.
  uint32_t worldSize = 0;
  /// The machine for rules about time; without one, that which kRootMachine describes.
  std::optional<Machine> machine;
  /// The group file, as written; none if there is no such file.
  std::optional<GroupTable> groups;
};

/// The fastest machine that a trace is expected to be run on: a root node that lasts 1 ns there does so everywhere.
inline constexpr Machine kRootMachine = {.peakTflops = 1e7, .memoryGbps = 8192};

} // namespace stg
