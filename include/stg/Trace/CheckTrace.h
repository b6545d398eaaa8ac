//===- CheckTrace.h - would a simulator run this trace set? ----------------===//
// Checks traces of any producer against what readers do with them (docs/traces.md).
// It works on decoded nodes and shares no code with what writes our traces.
//
// Ranks are fed one after the other and node by node. Of a rank, only what other
// ranks must be compared with is kept when it is finished (RankSummary), so that
// memory does not grow with all nodes of all ranks.
//
// Cost    O(nodes + dependencies) a rank.
// Tests   unittests/Trace/CheckTraceTest, test/Trace/verify*.test
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Support/Diagnostics.h"
#include "stg/Trace/DecodedNode.h"
#include "stg/Trace/Roofline.h"
#include <map>
#include <unordered_map>

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

/// How a rank's file ended.
enum class FileEnd : uint8_t { Clean, Truncated, BadMessage };

/// What stays of a rank when its nodes have been seen.
struct RankSummary {
  uint32_t rank = 0;
  uint64_t nodes = 0;
  uint64_t dependencies = 0;
};

class TraceChecker {
public:
  TraceChecker(CheckOptions options, TraceFindings &findings);

  /// A rank's file begins; false if it has no GlobalMetadata.
  void beginRank(uint32_t rank, bool hasMetadata);
  void node(const DecodedNode &node);
  /// `offset` is where the last whole message ends.
  void endRank(FileEnd end, uint64_t offset);
  /// The rules over all ranks.
  void finish();

  const std::vector<RankSummary> &ranks() const { return ranks_; }

private:
  /// A group of the file under its number.
  struct Group {
    std::string key;
    std::vector<uint32_t> ranks;
  };

  /// At a node of the rank being read, or at the rank as a whole.
  template <class Row> void report(const DecodedNode *node, std::string seen, const char *effect, const char *remedy);
  /// At the set of all ranks.
  template <class Row> void reportSet(std::string seen, const char *effect, const char *remedy);
  void checkGroups();
  void checkCompute(const DecodedNode &node);
  void checkMemory(const DecodedNode &node);
  void checkCollective(const DecodedNode &node);
  void checkMessage(const DecodedNode &node);
  void checkSize(const DecodedNode &node);
  void checkKinds(const DecodedNode &node);
  std::optional<uint64_t> required(const DecodedNode &node, const char *attribute);
  void checkGraph();
  void checkCycle(const std::vector<uint32_t> &offsets, const std::vector<uint32_t> &parents);

  CheckOptions options_;
  TraceFindings &findings_;
  std::map<int64_t, Group> groups_;
  std::vector<RankSummary> ranks_;

  // The rank being read. Nodes by their place in the file, dependencies of all of them one after the other.
  std::vector<uint64_t> ids_;
  std::vector<std::string> names_;
  std::vector<uint32_t> dependencyEnds_;
  std::vector<uint64_t> dependencies_;
  std::unordered_map<uint64_t, uint32_t> places_;
  /// A collective without a group, and whether there is one with a group: together they hang.
  std::optional<DecodedNode> groupless_;
  bool usesGroups_ = false;
};

} // namespace stg
