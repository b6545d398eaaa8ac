//===- ExpertLoads.h - what ranks with experts of their own have to do ---------===//
// Where `routing` is uneven (Program::routing), ranks that hold different experts get different numbers of tokens. A
// tensor of tokens at their experts, [E, C, D], has slots for the even case; what a rank gets of them is a ratio that
// depends on its coordinates on the atoms that split E. All ranks that send tokens send alike. Where E is not split
// nothing changes, and nothing before level Laid.
//
// Which dims these are is said by the calls that carry tokens to slots (`kind (b, s): carry(c)`): the slots are what
// they are carried to, the experts the whole factor beside them, and a token goes to as many as the whole factor
// beside the tokens counts.
// Cost    a body is looked at once.
// Tests   test/Trace/routing.test, routing-extremes.test
//===----------------------------------------------------------------------===//
#ifndef STG_ANALYSIS_EXPERTLOADS_H
#define STG_ANALYSIS_EXPERTLOADS_H

#include "stg/IR/Program.h"

namespace stg {

/// A factor on what a rank would have to do if all experts got as much.
struct LoadRatio {
  int64_t numerator = 1, denominator = 1;
  /// `count` times the ratio, divided by `parts`, rounded up.
  Int128 of(Int128 count, int64_t parts = 1) const;
  bool operator==(const LoadRatio &) const = default;
};

/// The experts of a body that tokens are sent to alike.
struct ExpertFamily {
  NameId experts, slots; ///< dims
  int64_t count = 0;     ///< of experts
  int64_t capacity = 0;  ///< slots of all ranks, of one expert
  /// Of one rank that sends: what it has to send (tokens times the experts of each), and its slots of an expert.
  int64_t sent = 0, slotsPerSender = 0;
  int64_t senders = 1;
  /// By expert, of what one rank sends: what is asked for, and what is taken (less where tokens are dropped).
  std::vector<int64_t> asked, taken;
  /// That split the experts in some tensor of the body.
  AtomList atoms;
  int64_t dropped() const;
};

/// How many experts there are where the program sends tokens to some: distinct, ascending.
std::vector<uint64_t> expertCounts(const Program &program);

class ExpertLoads {
public:
  static constexpr uint32_t kEven = ~0u;

  /// All even.
  ExpertLoads() = default;
  ExpertLoads(const Program &program, const Body &body);

  /// Those whose loads are uneven, split or not.
  const std::vector<ExpertFamily> &families() const { return families_; }
  /// Ways in which experts are split.
  uint32_t splits() const { return static_cast<uint32_t>(splits_.size()); }
  const AtomList &atomsOf(uint32_t split) const { return splits_[split].atoms; }
  /// That of a value of tokens at experts which are split, or kEven.
  uint32_t splitOf(ValueId value) const { return splitOfValue_.empty() ? kEven : splitOfValue_[value.index]; }
  /// That of its first operand or result that has one: what the op does follows the tokens.
  uint32_t splitOf(const Op &op) const;
  LoadRatio ratio(uint32_t split, int64_t rank) const;
  /// The greatest of all ranks.
  LoadRatio greatest(uint32_t split) const;

private:
  struct Split {
    uint32_t family = 0;
    AtomList atoms;
  };
  void addFamily(const Program &program, const Body &body, const Op &call);
  uint32_t findSplit(const Value &value);

  std::vector<MeshAtom> atoms_;
  std::vector<ExpertFamily> families_;
  std::vector<Split> splits_;
  std::vector<uint32_t> splitOfValue_;
};

/// A collective between ranks that have different experts: its parts are uneven.
struct ExpertExchange {
  /// All-to-alls to the experts and back; an all-gather of what experts have, and its reverse.
  enum class Way : uint8_t { ToExperts, FromExperts, Gather, Scatter };
  Way way = Way::ToExperts;
  AtomList atoms;
  int64_t members = 1;
  /// Where the experts are split: the bytes of an even load.
  struct Part {
    uint32_t split = ExpertLoads::kEven;
    int64_t bytes = 0;
  };
  llvm::SmallVector<Part, 1> parts;

  bool isAllToAll() const { return way == Way::ToExperts || way == Way::FromExperts; }
  /// Bytes between the experts of a rank and one other member; of an all-gather, and its reverse, all that they have.
  int64_t shareOf(int64_t rank, const ExpertLoads &loads) const;
  /// The ranks of the group of `rank`, ascending.
  std::vector<int64_t> group(int64_t rank, const std::vector<MeshAtom> &atoms) const;
  /// In a group with these shares: bytes of the input of a collective with equal parts, the same for all members, and
  /// of what member `index` has to give.
  int64_t paddedBytes(llvm::ArrayRef<int64_t> shares) const;
  int64_t trueBytes(llvm::ArrayRef<int64_t> shares, size_t index) const;
};

/// Whether the program writes it as messages instead.
inline bool isMessages(const std::optional<ExpertExchange> &exchange, const Program &program) {
  return exchange && exchange->isAllToAll() && program.routing.exchange == UnevenExchange::Peers;
}

/// Nothing if all members have the same number of bytes.
std::optional<ExpertExchange> exchangeOf(const Op &collective, const Body &body, const Program &program,
                                         const ExpertLoads &loads);

} // namespace stg

#endif
