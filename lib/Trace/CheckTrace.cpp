//===- CheckTrace.cpp - would a simulator run this trace set? --------------===//
// Rules about one node are checked as it passes. Rules about the graph of a rank
// are checked at its end: each dependency is looked up by id, then nodes are taken
// away whose dependencies are all taken (Kahn). What is left contains a cycle, and
// walking from any of its nodes along dependencies that are left must come back to
// a node already seen; that loop is what is reported.
//===----------------------------------------------------------------------===//

#include "stg/Trace/CheckTrace.h"
#include "CheckCommunication.h"
#include "fmt/format.h"
#include "stg/Trace/ProcessGroups.h"
#include <algorithm>
#include <charconv>
#include <numeric>
#include <queue>
#include <set>

namespace stg {
namespace {

/// Tags from here on are those of collectives.
constexpr uint64_t kTagLimit = 500'000'000;
/// ASTRA-sim's default of `preferred-dataset-splits`.
constexpr uint64_t kSplits = 4;

std::string nodesText(uint64_t count) { return fmt::format("{} node{}", count, count == 1 ? "" : "s"); }

} // namespace

bool TraceFindings::count(const DiagnosticInfo &info) {
  if (info.severity == Severity::Error)
    ++errors_;
  return counts_[info.code()]++ < keep_;
}

TraceChecker::TraceChecker(CheckOptions options, TraceFindings &findings)
    : options_(std::move(options)), findings_(findings),
      communication_(std::make_unique<CommunicationChecker>(options_, groups_, findings)) {
  if (options_.groups) {
    checkGroups();
    checkGroupTags();
  }
}

TraceChecker::~TraceChecker() = default;

template <class Row>
void TraceChecker::report(const DecodedNode *node, std::string seen, const char *effect, const char *remedy) {
  std::string where = fmt::format("rank {}", ranks_.back().rank);
  if (node)
    where += fmt::format(", node {} `{}`", node->id, node->name);
  findings_.report<Row>(std::move(where), std::move(seen), effect, remedy);
}

template <class Row> void TraceChecker::reportSet(std::string seen, const char *effect, const char *remedy) {
  findings_.report<Row>("the set", std::move(seen), effect, remedy);
}

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void TraceChecker::checkGroups() {
  for (const auto &[key, ranks] : *options_.groups) {
    int64_t id = 0;
    auto [end, error] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (error != std::errc() || end != key.data() + key.size() || id < 1 || id > INT32_MAX) {
      reportSet<diag::TraceBadGroup>(fmt::format("group \"{}\": the id is no number from 1 on", key),
                                     "ASTRA-sim aborts or runs another ring than meant",
                                     "number groups from 1, and list ranks of the trace set once each");
      continue;
    }
    if (!groups_.try_emplace(id, CheckedGroup{key, ranks}).second)
      reportSet<diag::TraceBadGroup>(fmt::format("group \"{}\" has the number of group \"{}\"", key, groups_[id].key),
                                     "ASTRA-sim aborts or runs another ring than meant",
                                     "number groups from 1, and list ranks of the trace set once each");
    if (ranks.size() < 2)
      reportSet<diag::TraceGroupOfOne>(
          fmt::format("group \"{}\" has {} rank{}", key, ranks.size(), ranks.empty() ? "s" : ""),
          "the collective never finishes", "leave out collectives over one rank");
    std::set<uint32_t> distinct(ranks.begin(), ranks.end());
    if (distinct.size() != ranks.size())
      reportSet<diag::TraceBadGroup>(fmt::format("group \"{}\" lists a rank twice", key),
                                     "ASTRA-sim aborts or runs another ring than meant",
                                     "number groups from 1, and list ranks of the trace set once each");
    if (options_.worldSize != 0 && !distinct.empty() && *distinct.rbegin() >= options_.worldSize)
      reportSet<diag::TraceBadGroup>(
          fmt::format("group \"{}\" lists rank {} of {} ranks", key, *distinct.rbegin(), options_.worldSize),
          "ASTRA-sim aborts or runs another ring than meant",
          "number groups from 1, and list ranks of the trace set once each");
  }
}

void TraceChecker::checkGroupTags() {
  std::vector<std::pair<int32_t, int64_t>> byTag; // first tag, id
  for (const auto &[id, group] : groups_)
    byTag.push_back({firstGroupTag(id), id});
  std::sort(byTag.begin(), byTag.end());
  // For each rank the groups seen so far whose tags may still be met; a group that meets one of them twice collides.
  std::map<uint32_t, std::vector<int64_t>> groupsOfRank;
  for (const auto &[tag, id] : byTag) {
    std::map<int64_t, unsigned> shared;
    for (uint32_t rank : std::set<uint32_t>(groups_[id].ranks.begin(), groups_[id].ranks.end())) {
      std::vector<int64_t> &others = groupsOfRank[rank];
      std::erase_if(others, [id = id](int64_t other) { return !groupTagsCollide(other, id); });
      for (int64_t other : others)
        if (++shared[other] == 2)
          reportSet<diag::TraceGroupsCollide>(
              fmt::format("groups \"{}\" and \"{}\" share two ranks", groups_[other].key, groups_[id].key),
              "messages of one group are taken for messages of the other",
              "choose ids that differ modulo 500 for groups that share two ranks, below 2148 (where ASTRA-sim's 32 "
              "bits "
              "wrap)");
      others.push_back(id);
    }
  }
}

//===----------------------------------------------------------------------===//
// One node
//===----------------------------------------------------------------------===//

void TraceChecker::beginRank(uint32_t rank, bool hasMetadata) {
  ranks_.push_back({.rank = rank});
  ids_.clear();
  names_.clear();
  dependencyEnds_.clear();
  dependencies_.clear();
  places_.clear();
  groupless_.reset();
  usesGroups_ = false;
  communication_->beginRank(rank);
  if (!hasMetadata)
    report<diag::TraceWithoutMetadata>(nullptr, "the file begins with a node",
                                       "readers take the first message for metadata and lose the first node silently",
                                       "write a GlobalMetadata message before the nodes");
}

void TraceChecker::node(const DecodedNode &node) {
  RankSummary &rank = ranks_.back();
  ++rank.nodes;
  rank.dependencies += node.dataDeps.size() + node.ctrlDeps.size();
  if (!places_.try_emplace(node.id, static_cast<uint32_t>(ids_.size())).second)
    report<diag::TraceDuplicateId>(&node, fmt::format("the id is that of `{}` too", names_[places_[node.id]]),
                                   "one of the nodes is never executed, and the rank is reported as finished",
                                   "number the nodes of a rank uniquely");
  communication_->node(node, static_cast<uint32_t>(ids_.size()));
  ids_.push_back(node.id);
  names_.push_back(node.name);
  dependencies_.insert(dependencies_.end(), node.dataDeps.begin(), node.dataDeps.end());
  dependencies_.insert(dependencies_.end(), node.ctrlDeps.begin(), node.ctrlDeps.end());
  dependencyEnds_.push_back(static_cast<uint32_t>(dependencies_.size()));

  bool astra = options_.target == TraceTarget::AstraSim;
  const DecodedAttribute *cpu = node.find("is_cpu_op");
  if (astra && cpu && cpu->values.size() == 1) {
    const bool *flag = std::get_if<bool>(&cpu->values[0]);
    if (flag ? *flag : cpu->asUnsigned().value_or(0) != 0)
      report<diag::TraceTypeNotSupported>(
          &node, "it runs on a CPU (is_cpu_op)", "ASTRA-sim stops with an assertion or an exception in its statistics",
          "leave such nodes out, or verify with --target=chakra if the reader is another");
  }
  switch (static_cast<EtNodeType>(node.type)) {
  case EtNodeType::Comp:
    checkCompute(node);
    break;
  case EtNodeType::MemLoad:
  case EtNodeType::MemStore:
    if (astra)
      report<diag::TraceTypeNotSupported>(
          &node, fmt::format("it is a {} node", nodeTypeName(node.type)),
          "ASTRA-sim stops with an assertion or an exception in its statistics",
          "leave such nodes out, or verify with --target=chakra if the reader is another");
    checkMemory(node);
    break;
  case EtNodeType::Coll:
    checkCollective(node);
    break;
  case EtNodeType::Send:
  case EtNodeType::Recv:
    checkMessage(node);
    break;
  case EtNodeType::Invalid:
  case EtNodeType::Metadata:
    if (astra)
      report<diag::TraceTypeNotSupported>(
          &node, fmt::format("it is a {} node", nodeTypeName(node.type)),
          "ASTRA-sim stops with an assertion or an exception in its statistics",
          "leave such nodes out, or verify with --target=chakra if the reader is another");
    break;
  default:
    report<diag::TraceUnknownType>(&node, fmt::format("its type is {}", node.type), "ASTRA-sim aborts",
                                   "use the node types 2 to 7 of schema 0.0.4");
  }
  checkKinds(node);
}

std::optional<uint64_t> TraceChecker::required(const DecodedNode &node, const char *attribute) {
  const DecodedAttribute *found = node.find(attribute);
  if (!found) {
    report<diag::TraceAttributeMissing>(&node, fmt::format("it has no {}", attribute),
                                        "readers throw an exception, or go on with 0", "write the attribute");
    return std::nullopt;
  }
  std::optional<uint64_t> number = found->asUnsigned();
  if (!number)
    report<diag::TraceAttributeMissing>(&node, fmt::format("its {} is no number from 0 on", attribute),
                                        "readers throw an exception, or go on with 0", "write the attribute");
  return number;
}

void TraceChecker::checkCompute(const DecodedNode &node) {
  // Nodes that carry a measured time are replayed, and need no operations.
  if (node.durationMicros != 0 && !node.find("num_ops"))
    return;
  std::optional<uint64_t> flops = required(node, "num_ops");
  std::optional<uint64_t> bytes = required(node, "tensor_size");
  if (flops == 0)
    report<diag::TraceNoOperations>(&node, "num_ops is 0", "its time is 0/0, and the rank never finishes",
                                    "give the node at least 1 in num_ops");
  if (bytes == 0)
    report<diag::TraceNoTensorSize>(&node, "tensor_size is 0",
                                    "ASTRA-sim skips the node, and what depends on it may never start",
                                    "give the node at least 1 in tensor_size");
  if (options_.target != TraceTarget::AstraSim || !node.dataDeps.empty() || !node.ctrlDeps.empty() ||
      flops.value_or(0) == 0 || bytes.value_or(0) == 0)
    return;
  std::optional<uint64_t> time = rooflineNanoseconds(*flops, *bytes, options_.machine.value_or(kRootMachine));
  if (time == 0)
    report<diag::TraceRootTooShort>(&node, fmt::format("it depends on nothing and moves only {} bytes", *bytes),
                                    "ASTRA-sim aborts if the node takes less than 1 ns on its machine",
                                    "give a node without dependencies enough bytes to last 1 ns");
}

void TraceChecker::checkMemory(const DecodedNode &node) {
  if (required(node, "tensor_size") == 0)
    report<diag::TraceNoTensorSize>(&node, "tensor_size is 0",
                                    "ASTRA-sim skips the node, and what depends on it may never start",
                                    "give the node at least 1 in tensor_size");
}

void TraceChecker::checkSize(const DecodedNode &node) {
  if (required(node, "comm_size") == 0)
    report<diag::TraceNothingToSend>(&node, "comm_size is 0", "ASTRA-sim stops with an assertion",
                                     "leave out communication of 0 bytes");
}

void TraceChecker::checkCollective(const DecodedNode &node) {
  checkSize(node);
  constexpr uint64_t kAllReduce = 0, kAllGather = 2, kBroadcast = 5, kAllToAll = 6, kReduceScatter = 7;
  if (std::optional<uint64_t> type = required(node, "comm_type")) {
    bool supported =
        type == kAllReduce || type == kAllGather || type == kBroadcast || type == kAllToAll || type == kReduceScatter;
    if (!supported && options_.target == TraceTarget::AstraSim)
      report<diag::TraceUnknownCollective>(&node, fmt::format("it is a {}", collectiveName(*type)),
                                           "ASTRA-sim stops with an exception",
                                           "use ALL_REDUCE, ALL_GATHER, REDUCE_SCATTER or ALL_TO_ALL");
    std::optional<uint64_t> size = node.number("comm_size");
    if (type == kAllGather && size && *size > 0 && *size < kSplits)
      report<diag::TraceGatherTooSmall>(&node, fmt::format("it gathers {} bytes of each rank", *size),
                                        "ASTRA-sim splits the data in 4 and loops without end",
                                        "gather at least 4 bytes per rank");
  }

  const DecodedAttribute *group = node.find("pg_name");
  const std::string *name = group ? group->asString() : nullptr;
  int64_t id = 0;
  if (name)
    std::from_chars(name->data(), name->data() + name->size(), id);
  if (id == 0) {
    if (options_.worldSize == 1)
      report<diag::TraceGroupOfOne>(&node, "it is a collective over the only rank", "the collective never finishes",
                                    "leave out collectives over one rank");
    if (!groupless_)
      groupless_ = node;
    return;
  }
  usesGroups_ = true;
  if (!options_.groups && options_.scope == CheckScope::Files)
    return;
  auto found = groups_.find(id);
  if (found == groups_.end()) {
    report<diag::TraceUnknownGroup>(&node, fmt::format("its group \"{}\" is not in the group file", *name),
                                    "ASTRA-sim exits", "put the group into the group file");
    return;
  }
  const std::vector<uint32_t> &ranks = found->second.ranks;
  if (std::find(ranks.begin(), ranks.end(), ranks_.back().rank) == ranks.end())
    report<diag::TraceNotInGroup>(&node, fmt::format("its group \"{}\" does not list this rank", *name),
                                  "the collective waits for a rank that never joins",
                                  "list the rank in the group file");
  if (ranks.size() < 2)
    report<diag::TraceGroupOfOne>(&node, fmt::format("its group \"{}\" is a single rank", *name),
                                  "the collective never finishes", "leave out collectives over one rank");
}

void TraceChecker::checkMessage(const DecodedNode &node) {
  checkSize(node);
  bool send = node.is(EtNodeType::Send);
  uint32_t rank = ranks_.back().rank;
  // The rank's own end may be left out; the other one may not.
  const char *ownName = send ? "comm_src" : "comm_dst";
  std::optional<uint64_t> own = node.find(ownName) ? required(node, ownName) : rank;
  std::optional<uint64_t> peer = required(node, send ? "comm_dst" : "comm_src");
  std::optional<uint64_t> tag = required(node, "comm_tag");
  if (own && *own != rank)
    report<diag::TraceNotThisRank>(&node, fmt::format("{} is {}", ownName, *own), "ASTRA-sim stops with an exception",
                                   "a SEND has its own rank as comm_src, a RECV as comm_dst");
  if (own && peer && *own == *peer)
    report<diag::TraceMessageToSelf>(&node, fmt::format("comm_src and comm_dst are {}", *peer),
                                     "ASTRA-sim stops with an assertion", "leave out messages of a rank to itself");
  if (peer && options_.worldSize != 0 && *peer >= options_.worldSize)
    report<diag::TracePeerOutside>(&node, fmt::format("its peer is rank {} of {} ranks", *peer, options_.worldSize),
                                   "ASTRA-sim stops with an assertion", "name ranks below the number of ranks");
  if (tag && *tag >= kTagLimit)
    report<diag::TraceTagOutOfRange>(&node, fmt::format("comm_tag is {}", *tag),
                                     "ASTRA-sim stops with an assertion, or takes the message for part of a collective",
                                     "use tags below 500000000");
}

void TraceChecker::checkKinds(const DecodedNode &node) {
  struct Convention {
    std::string_view name;
    AttributeKind kind;
  };
  static constexpr Convention kConventions[] = {
      {"is_cpu_op", AttributeKind::Bool},  {"num_ops", AttributeKind::Int64},   {"tensor_size", AttributeKind::Uint64},
      {"comm_type", AttributeKind::Int64}, {"comm_size", AttributeKind::Int64}, {"pg_name", AttributeKind::String},
      {"comm_src", AttributeKind::Int32},  {"comm_dst", AttributeKind::Int32},  {"comm_tag", AttributeKind::Int32},
  };
  for (const DecodedAttribute &attribute : node.attributes)
    for (const Convention &convention : kConventions)
      if (attribute.name == convention.name && (attribute.kind != convention.kind || attribute.isList))
        report<diag::TraceAttributeKind>(&node,
                                         fmt::format("{} is {}{}, the convention is {}", attribute.name,
                                                     attributeKindName(attribute.kind), attribute.isList ? "_list" : "",
                                                     attributeKindName(convention.kind)),
                                         "the older Chakra feeder reads another field of the attribute and gets 0",
                                         "write the attribute with the kind that all readers take");
}

//===----------------------------------------------------------------------===//
// The graph of a rank
//===----------------------------------------------------------------------===//

void TraceChecker::endRank(FileEnd end, uint64_t offset) {
  if (end == FileEnd::Truncated)
    report<diag::TraceCutShort>(
        nullptr,
        fmt::format("the file is cut short in the message at byte {}, after {}", offset, nodesText(ids_.size())),
        "readers stop there without a word and report the rank as finished, with nodes missing",
        "write the file again; the disk may have been full");
  if (end == FileEnd::BadMessage)
    report<diag::TraceNotReadable>(
        nullptr, fmt::format("what stands at byte {}, after {}, is no node", offset, nodesText(ids_.size())),
        "readers stop there or read nonsense", "write the file again with a Chakra 0.0.4 writer");
  if (ids_.empty())
    report<diag::TraceWithoutNodes>(nullptr, "the file has no nodes", "ASTRA-sim aborts: no node is free to start",
                                    "give every rank at least one node");
  if (groupless_ && usesGroups_)
    report<diag::TraceNoGroup>(
        &*groupless_, "it has no pg_name, though other collectives have one",
        "the collective runs over all ranks, with tags that hang after unequal traffic of groups",
        "name a group in pg_name, for all ranks too");
  checkGraph(end);
}

void TraceChecker::checkGraph(FileEnd end) {
  std::vector<uint32_t> offsets = {0}, parents;
  offsets.reserve(ids_.size() + 1);
  parents.reserve(dependencies_.size());
  uint32_t next = 0;
  for (uint32_t place = 0; place < ids_.size(); ++place) {
    for (; next < dependencyEnds_[place]; ++next) {
      auto found = places_.find(dependencies_[next]);
      if (found != places_.end()) {
        parents.push_back(found->second);
        continue;
      }
      DecodedNode at;
      at.id = ids_[place];
      at.name = names_[place];
      report<diag::TraceDependencyMissing>(
          &at, fmt::format("it depends on node {}, which does not exist", dependencies_[next]),
          "ASTRA-sim aborts when it loads the file", "remove the dependency, or write the node");
    }
    offsets.push_back(static_cast<uint32_t>(parents.size()));
  }
  std::vector<uint32_t> order = sortGraph(offsets, parents);
  // What a file lacks cannot be held against other ranks.
  if (end != FileEnd::Clean)
    order.clear();
  communication_->endRank(order, offsets, parents);
}

std::vector<uint32_t> TraceChecker::sortGraph(const std::vector<uint32_t> &offsets,
                                              const std::vector<uint32_t> &parents) {
  uint32_t count = static_cast<uint32_t>(ids_.size());
  std::vector<uint32_t> order(count);
  std::iota(order.begin(), order.end(), 0);
  // Dependencies that all point back in the file cannot form a cycle.
  bool backwards = true;
  for (uint32_t place = 0; place < count && backwards; ++place)
    for (uint32_t i = offsets[place]; i < offsets[place + 1]; ++i)
      backwards &= parents[i] < place;
  if (backwards)
    return order;

  std::vector<uint32_t> childStart(count + 2), children(parents.size()), waiting(count);
  for (uint32_t parent : parents)
    ++childStart[parent + 2];
  for (uint32_t place = 2; place < childStart.size(); ++place)
    childStart[place] += childStart[place - 1];
  for (uint32_t place = 0; place < count; ++place) {
    waiting[place] = offsets[place + 1] - offsets[place];
    for (uint32_t i = offsets[place]; i < offsets[place + 1]; ++i)
      children[childStart[parents[i] + 1]++] = place;
  }
  // Of those that may come next, the first in the file.
  std::priority_queue<uint32_t, std::vector<uint32_t>, std::greater<>> ready;
  for (uint32_t place = 0; place < count; ++place)
    if (waiting[place] == 0)
      ready.push(place);
  order.clear();
  while (!ready.empty()) {
    uint32_t place = ready.top();
    ready.pop();
    order.push_back(place);
    for (uint32_t c = childStart[place]; c < childStart[place + 1]; ++c)
      if (--waiting[children[c]] == 0)
        ready.push(children[c]);
  }
  if (order.size() == count)
    return order;
  reportCycle(offsets, parents, waiting, count - order.size());
  return {};
}

void TraceChecker::reportCycle(const std::vector<uint32_t> &offsets, const std::vector<uint32_t> &parents,
                               const std::vector<uint32_t> &waiting, uint64_t stuck) {
  auto isStuck = [](uint32_t missing) { return missing != 0; };
  auto at = static_cast<uint32_t>(std::find_if(waiting.begin(), waiting.end(), isStuck) - waiting.begin());
  std::vector<uint32_t> walk;
  std::vector<bool> seen(ids_.size());
  while (!seen[at]) {
    seen[at] = true;
    walk.push_back(at);
    for (uint32_t i = offsets[at]; i < offsets[at + 1]; ++i)
      if (waiting[parents[i]] != 0) {
        at = parents[i];
        break;
      }
  }
  walk.erase(walk.begin(), std::find(walk.begin(), walk.end(), at));
  constexpr size_t kShown = 6;
  std::string text;
  for (size_t i = 0; i < std::min(walk.size(), kShown); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : " <- ", ids_[walk[i]]);
  text += walk.size() > kShown ? " <- ..." : fmt::format(" <- {}", ids_[walk[0]]);
  DecodedNode first;
  first.id = ids_[walk[0]];
  first.name = names_[walk[0]];
  report<diag::TraceCycle>(&first, fmt::format("it waits for itself ({}); {} can never start", text, nodesText(stuck)),
                           "none of these nodes is ever executed, yet the rank is reported as finished",
                           "dependencies of a node must be able to finish before it");
}

//===----------------------------------------------------------------------===//
// All ranks
//===----------------------------------------------------------------------===//

void TraceChecker::finish() {
  checkRanks();
  replay_ = communication_->finish();
}

void TraceChecker::checkRanks() {
  if (options_.scope != CheckScope::WholeSet)
    return;
  static constexpr const char *kEffect = "ASTRA-sim exits: it opens a file for every rank from 0";
  static constexpr const char *kRemedy = "write one file per rank, numbered from 0";
  std::set<uint32_t> present;
  for (const RankSummary &rank : ranks_)
    if (!present.insert(rank.rank).second)
      reportSet<diag::TraceRankMissing>(fmt::format("two files are of rank {}", rank.rank), kEffect, kRemedy);
  uint32_t expected = options_.worldSize;
  if (!present.empty())
    expected = std::max(expected, *present.rbegin() + 1);
  for (uint32_t rank = 0; rank < expected; ++rank)
    if (!present.count(rank))
      reportSet<diag::TraceRankMissing>(fmt::format("rank {} of {} ranks has no file", rank, expected), kEffect,
                                        kRemedy);
}

} // namespace stg
