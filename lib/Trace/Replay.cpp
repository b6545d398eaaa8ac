//===- Replay.cpp - do all ranks finish? ------------------------------------===//
// Events are worked off one by one: a rank that may go on issues what it can; what is done lets others go on. No order
// of events matters, because issuing never takes anything away from others: the state at the end is the same whichever
// rank goes first. Ranks that have not finished then wait for ever.
//
// A group has at most one collective under way, as all members issue those of a group in the same order and one after
// the other.
//===----------------------------------------------------------------------===//

#include "Replay.h"
#include "fmt/format.h"
#include "stg/Trace/DecodedNode.h"
#include <algorithm>
#include <set>

namespace stg {

std::string describe(const CommStep &step) { return fmt::format("node {} `{}`", step.node, step.name); }

namespace {

class Replay {
public:
  Replay(const std::vector<CommProgram> &programs, const std::vector<RankCommunication> &ranks,
         const std::map<int64_t, std::vector<uint32_t>> &members, SendRule rule)
      : programs_(programs), ranks_(ranks), members_(members), rule_(rule) {}

  std::optional<Stuck> run() {
    for (uint32_t i = 0; i < ranks_.size(); ++i) {
      placeOfRank_[ranks_[i].rank] = i;
      streams_.emplace_back(program(i).streams);
      ready_.push_back(i);
    }
    while (!ready_.empty()) {
      uint32_t next = ready_.back();
      ready_.pop_back();
      for (uint32_t stream = 0; stream < streams_[next].size(); ++stream)
        advance(next, stream);
    }
    for (uint32_t i = 0; i < ranks_.size(); ++i)
      for (uint32_t stream = 0; stream < streams_[i].size(); ++stream)
        if (current(i, stream))
          return explain(i);
    return std::nullopt;
  }

private:
  struct Stream {
    uint32_t done = 0;
    bool issued = false; ///< the step behind those
  };
  /// Messages of one source, destination and tag.
  struct Channel {
    uint32_t sends = 0, receives = 0; ///< issued
    uint32_t sent = 0, received = 0;  ///< done
  };
  using ChannelKey = std::tuple<uint32_t, uint32_t, uint64_t>;

  const CommProgram &program(uint32_t place) const { return programs_[ranks_[place].program]; }
  const CommStep *current(uint32_t place, uint32_t stream) const {
    const std::vector<uint32_t> &steps = program(place).byStream[stream];
    uint32_t done = streams_[place][stream].done;
    return done < steps.size() ? &program(place).steps[steps[done]] : nullptr;
  }
  ChannelKey channelOf(uint32_t place, const CommStep &step) const {
    uint32_t own = ranks_[place].rank, peer = ranks_[place].peers[step.slot];
    return step.kind == CommStep::Kind::Send ? ChannelKey{own, peer, step.tag} : ChannelKey{peer, own, step.tag};
  }

  bool mayIssue(uint32_t place, const CommStep &step) const {
    return std::all_of(step.after.begin(), step.after.end(),
                       [&](const auto &other) { return streams_[place][other.first].done >= other.second; });
  }

  void finish(uint32_t place, uint32_t stream) {
    ++streams_[place][stream].done;
    streams_[place][stream].issued = false;
    ready_.push_back(place);
  }

  /// Lets the stream go as far as it can.
  void advance(uint32_t place, uint32_t stream) {
    while (const CommStep *step = current(place, stream)) {
      Stream &state = streams_[place][stream];
      if (!state.issued) {
        if (!mayIssue(place, *step))
          return;
        state.issued = true;
        issue(place, *step);
      }
      if (!isDone(place, *step))
        return;
      finish(place, stream);
    }
  }

  void issue(uint32_t place, const CommStep &step) {
    if (step.kind == CommStep::Kind::Collective) {
      arrive(ranks_[place].groups[step.slot]);
      return;
    }
    Channel &channel = channels_[channelOf(place, step)];
    bool send = step.kind == CommStep::Kind::Send;
    ++(send ? channel.sends : channel.receives);
    auto other = placeOfRank_.find(ranks_[place].peers[step.slot]);
    if (other != placeOfRank_.end())
      ready_.push_back(other->second);
  }

  /// Whether an issued message is done; collectives are finished by the last member.
  bool isDone(uint32_t place, const CommStep &step) {
    if (step.kind == CommStep::Kind::Collective)
      return false;
    Channel &channel = channels_[channelOf(place, step)];
    if (step.kind == CommStep::Kind::Send) {
      bool done = rule_ == SendRule::Eager || channel.receives > channel.sent;
      channel.sent += done;
      return done;
    }
    bool done = channel.sends > channel.received;
    channel.received += done;
    return done;
  }

  /// Where a member issues the collectives of a group.
  std::pair<uint32_t, uint32_t> streamOf(uint32_t rank, int64_t group) const {
    uint32_t place = placeOfRank_.at(rank);
    const std::vector<int64_t> &groups = ranks_[place].groups;
    auto slot = static_cast<uint32_t>(std::find(groups.begin(), groups.end(), group) - groups.begin());
    for (uint32_t stream = 0; stream < streams_[place].size(); ++stream)
      if (const CommStep *step = current(place, stream);
          step && step->kind == CommStep::Kind::Collective && step->slot == slot)
        return {place, stream};
    return {place, 0};
  }

  void arrive(int64_t group) {
    const std::vector<uint32_t> &members = members_.at(group);
    if (++arrived_[group] < members.size())
      return;
    arrived_[group] = 0;
    for (uint32_t rank : members) {
      auto [place, stream] = streamOf(rank, group);
      finish(place, stream);
    }
  }

  //===--------------------------------------------------------------------===//
  // What is left
  //===--------------------------------------------------------------------===//

  /// A step that the rank has issued and that is not done.
  const CommStep *waitingAt(uint32_t place) const {
    for (uint32_t stream = 0; stream < streams_[place].size(); ++stream)
      if (streams_[place][stream].issued)
        return current(place, stream);
    return nullptr;
  }

  bool hasIssued(uint32_t place, int64_t group) const {
    for (uint32_t stream = 0; stream < streams_[place].size(); ++stream)
      if (const CommStep *step = current(place, stream); step && streams_[place][stream].issued &&
                                                         step->kind == CommStep::Kind::Collective &&
                                                         ranks_[place].groups[step->slot] == group)
        return true;
    return false;
  }

  /// A rank that the step waits for.
  uint32_t blocker(uint32_t place, const CommStep &step) const {
    if (step.kind != CommStep::Kind::Collective)
      return placeOfRank_.at(ranks_[place].peers[step.slot]);
    int64_t group = ranks_[place].groups[step.slot];
    for (uint32_t rank : members_.at(group))
      if (uint32_t member = placeOfRank_.at(rank); !hasIssued(member, group))
        return member;
    return place;
  }

  /// Follows who waits for whom until a rank comes back.
  Stuck explain(uint32_t place) const {
    std::vector<uint32_t> walk;
    while (std::find(walk.begin(), walk.end(), place) == walk.end()) {
      walk.push_back(place);
      const CommStep *step = waitingAt(place);
      if (!step)
        break;
      place = blocker(place, *step);
    }
    walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), place));
    Stuck stuck{.rank = ranks_[walk[0]].rank, .step = waitingAt(walk[0]), .text = {}};
    constexpr size_t kShown = 4;
    for (size_t i = 0; i < std::min(walk.size(), kShown); ++i)
      if (const CommStep *step = waitingAt(walk[i]))
        stuck.text += fmt::format("{}rank {} waits at {} for rank {}", i == 0 ? "" : ", ", ranks_[walk[i]].rank,
                                  describe(*step), ranks_[blocker(walk[i], *step)].rank);
    if (walk.size() > kShown)
      stuck.text += fmt::format(", and so on around {} ranks", walk.size());
    return stuck;
  }

  const std::vector<CommProgram> &programs_;
  const std::vector<RankCommunication> &ranks_;
  const std::map<int64_t, std::vector<uint32_t>> &members_;
  SendRule rule_;
  std::map<uint32_t, uint32_t> placeOfRank_;
  std::vector<std::vector<Stream>> streams_;
  std::map<int64_t, size_t> arrived_;
  std::map<ChannelKey, Channel> channels_;
  std::vector<uint32_t> ready_;
};

/// Ranks that all run one program, in which the members of each group call it by the same slot, reach every step
/// together: each step is done on all of them as soon as those before it are.
bool allAlike(const std::vector<CommProgram> &programs, const std::vector<RankCommunication> &ranks) {
  if (programs.size() != 1 || programs[0].hasMessages())
    return programs.empty();
  std::map<int64_t, uint32_t> slotOf;
  for (const RankCommunication &rank : ranks)
    for (uint32_t slot = 0; slot < rank.groups.size(); ++slot)
      if (slotOf.try_emplace(rank.groups[slot], slot).first->second != slot)
        return false;
  return true;
}

} // namespace

std::optional<Stuck> replay(const std::vector<CommProgram> &programs, const std::vector<RankCommunication> &ranks,
                            const std::map<int64_t, std::vector<uint32_t>> &members, SendRule rule) {
  if (allAlike(programs, ranks))
    return std::nullopt;
  return Replay(programs, ranks, members, rule).run();
}

} // namespace stg
