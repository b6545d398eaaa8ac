//===- CheckCommunication.cpp - do the ranks' communications fit together? --===//
// Of each rank its communication nodes are kept, in streams: ASTRA-sim has one for all collectives and sends of a rank;
// other readers one per communicator and per direction between two ranks. For each node it is found how many of each
// stream must be done before, by a walk over the graph in topological order that takes the largest number over a node's
// parents. So compute nodes need not be kept.
//===----------------------------------------------------------------------===//

#include "CheckCommunication.h"
#include "Replay.h"
#include "fmt/format.h"
#include "llvm/ADT/Hashing.h"
#include <algorithm>
#include <charconv>
#include <set>

namespace stg {

template <class Row>
void CommunicationChecker::report(uint32_t rank, const CommStep &step, std::string seen, const char *effect,
                                  const char *remedy) {
  findings_.report<Row>(fmt::format("rank {}, {}", rank, describe(step)), std::move(seen), effect, remedy);
}

//===----------------------------------------------------------------------===//
// One rank
//===----------------------------------------------------------------------===//

void CommunicationChecker::beginRank(uint32_t rank) {
  placeOfRank_.try_emplace(rank, static_cast<uint32_t>(ranks_.size()));
  ranks_.push_back({.rank = rank, .program = 0, .groups = {}, .peers = {}});
  pending_.clear();
}

template <class T> static uint32_t indexIn(std::vector<T> &list, T value) {
  auto found = std::find(list.begin(), list.end(), value);
  if (found != list.end())
    return static_cast<uint32_t>(found - list.begin());
  list.push_back(value);
  return static_cast<uint32_t>(list.size() - 1);
}

void CommunicationChecker::node(const DecodedNode &node, uint32_t place) {
  CommStep step{.size = node.number("comm_size").value_or(0), .node = node.id, .name = node.name};
  if (node.is(EtNodeType::Coll)) {
    const DecodedAttribute *group = node.find("pg_name");
    int64_t id = 0;
    if (const std::string *name = group ? group->asString() : nullptr)
      std::from_chars(name->data(), name->data() + name->size(), id);
    step.slot = indexIn(ranks_.back().groups, id);
    step.type = static_cast<uint32_t>(node.number("comm_type").value_or(UINT32_MAX));
  } else if (node.is(EtNodeType::Send) || node.is(EtNodeType::Recv)) {
    bool send = node.is(EtNodeType::Send);
    step.kind = send ? CommStep::Kind::Send : CommStep::Kind::Recv;
    uint64_t peer = node.number(send ? "comm_dst" : "comm_src").value_or(ranks_.back().rank);
    step.slot = indexIn(ranks_.back().peers, static_cast<uint32_t>(peer));
    step.tag = node.number("comm_tag").value_or(0);
  } else {
    return;
  }
  pending_.push_back({place, std::move(step)});
}

/// The stream of each pending step.
std::vector<uint32_t> CommunicationChecker::streamsOf(const std::vector<Pending> &pending, uint32_t &count) const {
  std::map<std::pair<CommStep::Kind, uint32_t>, uint32_t> numbers;
  std::vector<uint32_t> streams;
  for (const Pending &each : pending) {
    std::pair key{each.step.kind, each.step.slot};
    if (options_.target == TraceTarget::AstraSim && each.step.kind != CommStep::Kind::Recv)
      key = {CommStep::Kind::Collective, 0};
    streams.push_back(numbers.try_emplace(key, static_cast<uint32_t>(numbers.size())).first->second);
  }
  count = static_cast<uint32_t>(numbers.size());
  return streams;
}

void CommunicationChecker::endRank(llvm::ArrayRef<uint32_t> order, llvm::ArrayRef<uint32_t> offsets,
                                   llvm::ArrayRef<uint32_t> parents) {
  if (order.empty()) {
    incomplete_ = true;
    return;
  }
  CommProgram program;
  orderSteps(order, offsets, parents, program);
  ranks_.back().program = intern(std::move(program));
}

void CommunicationChecker::orderSteps(llvm::ArrayRef<uint32_t> order, llvm::ArrayRef<uint32_t> offsets,
                                      llvm::ArrayRef<uint32_t> parents, CommProgram &program) {
  std::vector<uint32_t> streams = streamsOf(pending_, program.streams);
  size_t width = program.streams;
  program.byStream.resize(width);
  if (width == 0)
    return;
  constexpr uint32_t kNone = UINT32_MAX;
  std::vector<uint32_t> pendingAt(order.size(), kNone), need(order.size() * width), ownIndex(pending_.size());
  for (uint32_t i = 0; i < pending_.size(); ++i)
    pendingAt[pending_[i].place] = i;
  // What the steps of a stream so far wait for, by stream.
  std::vector<std::vector<uint32_t>> waited(width, std::vector<uint32_t>(width, 0));
  bool reported = false;
  for (uint32_t place : order) {
    uint32_t *own = &need[place * width];
    for (uint32_t i = offsets[place]; i < offsets[place + 1]; ++i) {
      const uint32_t *other = &need[parents[i] * width];
      for (size_t s = 0; s < width; ++s)
        own[s] = std::max(own[s], other[s]);
      if (uint32_t at = pendingAt[parents[i]]; at != kNone)
        own[streams[at]] = std::max(own[streams[at]], ownIndex[at] + 1);
    }
    uint32_t at = pendingAt[place];
    if (at == kNone)
      continue;
    CommStep step = std::move(pending_[at].step);
    step.stream = streams[at];
    std::vector<uint32_t> &stream = program.byStream[step.stream];
    ownIndex[at] = static_cast<uint32_t>(stream.size());
    if (step.kind != CommStep::Kind::Recv && own[step.stream] < stream.size() && !std::exchange(reported, true))
      report<diag::TraceUnordered>(
          ranks_.back().rank, step,
          fmt::format("nothing says whether it or {} comes first", describe(program.steps[stream.back()])),
          "readers order them by the times that they find, so ranks may order them differently and hang",
          "chain the collectives and sends of a rank by ctrl_deps, in one order on all ranks of a group");
    for (uint32_t s = 0; s < width; ++s)
      if (s != step.stream && own[s] > waited[step.stream][s]) {
        waited[step.stream][s] = own[s];
        step.after.push_back({s, own[s]});
      }
    stream.push_back(static_cast<uint32_t>(program.steps.size()));
    program.steps.push_back(std::move(step));
  }
}

/// Ranks of one program share it.
uint32_t CommunicationChecker::intern(CommProgram program) {
  llvm::hash_code hash = llvm::hash_combine(program.steps.size(), program.streams);
  for (const CommStep &step : program.steps)
    hash = llvm::hash_combine(hash, step.kind, step.slot, step.type, step.size, step.node);
  auto [begin, end] = byHash_.equal_range(static_cast<size_t>(hash));
  for (auto each = begin; each != end; ++each)
    if (programs_[each->second].steps == program.steps)
      return each->second;
  programs_.push_back(std::move(program));
  auto index = static_cast<uint32_t>(programs_.size() - 1);
  byHash_.emplace(static_cast<size_t>(hash), index);
  return index;
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

ReplayVerdict CommunicationChecker::finish() {
  ReplayVerdict verdict;
  for (const CommProgram &program : programs_)
    verdict.hasMessages |= program.hasMessages();
  if (options_.scope != CheckScope::WholeSet || ranks_.empty() || incomplete_)
    return verdict;
  bool whole = collectMembers();
  for (const auto &[group, ranks] : members_)
    matchGroup(group, ranks);
  matchMessages();
  if (!whole || findings_.errors() != 0)
    return verdict;
  verdict.eager = replayWith(/*rendezvous=*/false);
  verdict.rendezvous = verdict.hasMessages && *verdict.eager ? replayWith(/*rendezvous=*/true) : verdict.eager;
  return verdict;
}

/// The ranks of all groups in use; false if a group is not in the file or a member has no trace.
bool CommunicationChecker::collectMembers() {
  bool whole = true;
  for (const RankCommunication &rank : ranks_)
    for (int64_t group : rank.groups) {
      auto [entry, isNew] = members_.try_emplace(group);
      if (!isNew)
        continue;
      std::vector<uint32_t> &list = entry->second;
      if (group == 0) {
        for (const RankCommunication &each : ranks_)
          list.push_back(each.rank);
      } else if (auto found = groups_.find(group); found != groups_.end()) {
        list = found->second.ranks;
      }
      bool known = !list.empty() && std::all_of(list.begin(), list.end(),
                                                [&](uint32_t member) { return placeOfRank_.count(member) != 0; });
      if (!known) {
        members_.erase(entry);
        whole = false;
      }
    }
  return whole;
}

std::string CommunicationChecker::groupText(int64_t group) const {
  auto found = groups_.find(group);
  return found == groups_.end() ? "all ranks" : fmt::format("group \"{}\"", found->second.key);
}

std::vector<const CommStep *> CommunicationChecker::collectives(const Member &member) const {
  std::vector<const CommStep *> list;
  if (member.slot)
    for (const CommStep &step : programs_[member.rank->program].steps)
      if (step.kind == CommStep::Kind::Collective && step.slot == *member.slot)
        list.push_back(&step);
  return list;
}

void CommunicationChecker::matchGroup(int64_t group, llvm::ArrayRef<uint32_t> ranks) {
  std::optional<Member> first;
  std::set<std::pair<uint32_t, int64_t>> compared; // program and slot of members found equal to the first
  for (uint32_t rank : ranks) {
    Member member{.rank = &ranks_[placeOfRank_.at(rank)], .slot = std::nullopt};
    const std::vector<int64_t> &groups = member.rank->groups;
    if (auto found = std::find(groups.begin(), groups.end(), group); found != groups.end())
      member.slot = static_cast<uint32_t>(found - groups.begin());
    bool isNew = compared.insert({member.rank->program, member.slot ? *member.slot : int64_t(-1)}).second;
    if (!first)
      first = member;
    else if (isNew)
      compare(group, *first, member);
  }
}

void CommunicationChecker::compare(int64_t group, const Member &first, const Member &other) {
  static constexpr const char *kEffect = "the members wait for one another, and the run ends without an error";
  static constexpr const char *kRemedy =
      "issue the same collectives of a group in the same order on all its ranks, of the same type and size";
  std::vector<const CommStep *> left = collectives(first), right = collectives(other);
  size_t common = std::min(left.size(), right.size());
  for (size_t i = 0; i < common; ++i)
    if (left[i]->type != right[i]->type || left[i]->size != right[i]->size) {
      report<diag::TraceMembersDisagree>(
          other.rank->rank, *right[i],
          fmt::format("it is {} of {} bytes over {}, where rank {} has {} of {} bytes in {}",
                      collectiveName(right[i]->type), right[i]->size, groupText(group), first.rank->rank,
                      collectiveName(left[i]->type), left[i]->size, describe(*left[i])),
          kEffect, kRemedy);
      return;
    }
  if (left.size() == right.size())
    return;
  bool leftLonger = left.size() > right.size();
  const Member &longer = leftLonger ? first : other, &shorter = leftLonger ? other : first;
  report<diag::TraceMembersDisagree>(longer.rank->rank, *(leftLonger ? left : right)[common],
                                     fmt::format("rank {} has no {} collective over {}", shorter.rank->rank,
                                                 common == 0 ? "" : "further", groupText(group)),
                                     kEffect, kRemedy);
}

namespace {

/// A message at one of its ends.
struct MessageEnd {
  uint32_t source, destination;
  uint64_t tag;
  bool isReceive;
  size_t order;
  const CommStep *step;

  auto channel() const { return std::tuple(source, destination, tag); }
  bool operator<(const MessageEnd &other) const {
    return std::tuple(channel(), isReceive, order) < std::tuple(other.channel(), other.isReceive, other.order);
  }
  uint32_t rank() const { return isReceive ? destination : source; }
};

} // namespace

void CommunicationChecker::matchMessages() {
  static constexpr const char *kEffect = "the receive waits for ever, without a word";
  static constexpr const char *kRemedy = "write a RECV for every SEND, with the same size, tag and ranks";
  std::vector<MessageEnd> ends;
  for (const RankCommunication &rank : ranks_)
    for (const CommStep &step : programs_[rank.program].steps) {
      if (step.kind == CommStep::Kind::Collective)
        continue;
      bool receive = step.kind == CommStep::Kind::Recv;
      uint32_t peer = rank.peers[step.slot];
      ends.push_back({receive ? peer : rank.rank, receive ? rank.rank : peer, step.tag, receive, ends.size(), &step});
    }
  std::sort(ends.begin(), ends.end());
  for (size_t begin = 0; begin < ends.size();) {
    size_t middle = begin, end = begin;
    for (; end < ends.size() && ends[end].channel() == ends[begin].channel(); ++end)
      middle += !ends[end].isReceive;
    size_t sends = middle - begin, receives = end - middle;
    for (size_t i = 0; i < std::max(sends, receives); ++i) {
      const MessageEnd &own = i < sends ? ends[begin + i] : ends[middle + i];
      if (i >= sends || i >= receives) {
        report<diag::TraceMessageUnmatched>(
            own.rank(), *own.step,
            fmt::format("rank {} has no {} {} rank {} with tag {}", own.isReceive ? own.source : own.destination,
                        own.isReceive ? "SEND" : "RECV", own.isReceive ? "to" : "from", own.rank(), own.tag),
            kEffect, kRemedy);
        continue;
      }
      const MessageEnd &receive = ends[middle + i];
      if (own.step->size != receive.step->size)
        report<diag::TraceMessageUnmatched>(own.rank(), *own.step,
                                            fmt::format("it sends {} bytes, and {} of rank {} expects {}",
                                                        own.step->size, describe(*receive.step), receive.rank(),
                                                        receive.step->size),
                                            kEffect, kRemedy);
    }
    begin = end;
  }
}

std::optional<bool> CommunicationChecker::replayWith(bool rendezvous) {
  std::optional<Stuck> stuck = replay(programs_, ranks_, members_, rendezvous ? SendRule::Rendezvous : SendRule::Eager);
  if (!stuck)
    return true;
  if (rendezvous)
    report<diag::TraceNeedsEager>(stuck->rank, *stuck->step, stuck->text,
                                  "a reader whose sends wait for their receives hangs; ASTRA-sim's do not unless "
                                  "`rendezvous-protocol` is on",
                                  "order sends and receives so that some rank always receives first");
  else
    report<diag::TraceDeadlock>(
        stuck->rank, *stuck->step, stuck->text, "none of them goes on, and the run ends without an error",
        "issue communication in one order on all ranks that share a group, and chain it by ctrl_deps");
  return false;
}

} // namespace stg
