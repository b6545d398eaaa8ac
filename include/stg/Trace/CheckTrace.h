//===- CheckTrace.h - would a simulator run this trace set? ----------------===//
// Checks traces of any producer against what readers do with them (docs/traces.md).
// It works on decoded nodes and shares no code with what writes our traces.
//
// Ranks are fed one after the other and node by node. Of a rank, only its
// communication is kept when it is finished, once for all ranks that communicate
// alike (CheckCommunication.cpp), so that memory does not grow with all nodes of
// all ranks.
//
// Cost    O(nodes + dependencies) a rank; the replay of all ranks O(communication),
//         or O(groups) where all ranks communicate alike.
// Tests   unittests/Trace/CheckTraceTest, test/Trace/verify*.test
//===----------------------------------------------------------------------===//
#pragma once

#include "stg/Trace/CheckOptions.h"
#include "stg/Trace/DecodedNode.h"
#include <memory>
#include <unordered_map>

namespace stg {

/// How a rank's file ended.
enum class FileEnd : uint8_t { Clean, Truncated, BadMessage };

/// What stays of a rank when its nodes have been seen.
struct RankSummary {
  uint32_t rank = 0;
  uint64_t nodes = 0;
  uint64_t dependencies = 0;
};

/// Whether all ranks finish if each issues its communication in order, and so on whether a send must wait until its
/// receive is there. Unknown where other faults, or single files, leave that open.
struct ReplayVerdict {
  std::optional<bool> eager, rendezvous;
  bool hasMessages = false;
};

class CommunicationChecker;

class TraceChecker {
public:
  TraceChecker(CheckOptions options, TraceFindings &findings);
  ~TraceChecker();

  /// A rank's file begins; false if it has no GlobalMetadata.
  void beginRank(uint32_t rank, bool hasMetadata);
  void node(const DecodedNode &node);
  /// `offset` is where the last whole message ends.
  void endRank(FileEnd end, uint64_t offset);
  /// The rules over all ranks.
  void finish();

  const std::vector<RankSummary> &ranks() const { return ranks_; }
  /// After finish().
  const ReplayVerdict &replay() const { return replay_; }

private:
  /// At a node of the rank being read, or at the rank as a whole.
  template <class Row> void report(const DecodedNode *node, std::string seen, const char *effect, const char *remedy);
  /// At the set of all ranks.
  template <class Row> void reportSet(std::string seen, const char *effect, const char *remedy);
  void checkGroups();
  void checkGroupTags();
  void checkCompute(const DecodedNode &node);
  void checkMemory(const DecodedNode &node);
  void checkCollective(const DecodedNode &node);
  void checkMessage(const DecodedNode &node);
  void checkSize(const DecodedNode &node);
  void checkKinds(const DecodedNode &node);
  std::optional<uint64_t> required(const DecodedNode &node, const char *attribute);
  void checkGraph(FileEnd end);
  void checkRanks();
  /// The places of all nodes, each behind its parents; reports a cycle, and is empty then.
  std::vector<uint32_t> sortGraph(const std::vector<uint32_t> &offsets, const std::vector<uint32_t> &parents);
  void reportCycle(const std::vector<uint32_t> &offsets, const std::vector<uint32_t> &parents,
                   const std::vector<uint32_t> &waiting, uint64_t stuck);

  CheckOptions options_;
  TraceFindings &findings_;
  CheckedGroups groups_;
  std::vector<RankSummary> ranks_;
  std::unique_ptr<CommunicationChecker> communication_;
  ReplayVerdict replay_;

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
