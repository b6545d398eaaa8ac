//===- CheckCommunication.h - do the ranks' communications fit together? ----===//
#pragma once

#include "RankCommunication.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/DecodedNode.h"
#include "llvm/ADT/ArrayRef.h"

namespace stg {

class CommunicationChecker {
public:
  CommunicationChecker(const CheckOptions &options, const CheckedGroups &groups, TraceFindings &findings)
      : options_(options), groups_(groups), findings_(findings) {}

  void beginRank(uint32_t rank);
  /// A node of the rank, `place` of those in its file; all but communication is passed over.
  void node(const DecodedNode &node, uint32_t place);
  /// `order`: the places of the rank's nodes, each behind its parents; empty if its graph is broken. `offsets` and
  /// `parents`: the places that each place depends on.
  void endRank(llvm::ArrayRef<uint32_t> order, llvm::ArrayRef<uint32_t> offsets, llvm::ArrayRef<uint32_t> parents);
  /// The rules over all ranks.
  ReplayVerdict finish();

private:
  /// A step before its stream and order are known.
  struct Pending {
    uint32_t place;
    CommStep step;
  };
  /// A member's collectives over one group.
  struct Member {
    const RankCommunication *rank;
    std::optional<uint32_t> slot;
  };

  std::vector<uint32_t> streamsOf(const std::vector<Pending> &pending, uint32_t &count) const;
  void orderSteps(llvm::ArrayRef<uint32_t> order, llvm::ArrayRef<uint32_t> offsets, llvm::ArrayRef<uint32_t> parents,
                  CommProgram &program);
  uint32_t intern(CommProgram program);

  bool collectMembers();
  void matchGroup(int64_t group, llvm::ArrayRef<uint32_t> ranks);
  void compare(int64_t group, const Member &first, const Member &other);
  std::vector<const CommStep *> collectives(const Member &member) const;
  void matchMessages();
  std::optional<bool> replayWith(bool rendezvous);
  std::string groupText(int64_t group) const;
  template <class Row>
  void report(uint32_t rank, const CommStep &step, std::string seen, const char *effect, const char *remedy);

  const CheckOptions &options_;
  const CheckedGroups &groups_;
  TraceFindings &findings_;
  std::vector<CommProgram> programs_;
  std::multimap<size_t, uint32_t> byHash_;
  std::vector<RankCommunication> ranks_;
  std::map<uint32_t, uint32_t> placeOfRank_;
  std::map<int64_t, std::vector<uint32_t>> members_;
  /// A rank whose graph is broken, or that has no file: what waits for it cannot be judged.
  bool incomplete_ = false;
  // The rank being read.
  std::vector<Pending> pending_;
};

} // namespace stg
