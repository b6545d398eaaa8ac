//===- RankFields.cpp - what differs between the traces of two ranks --------===//
#include "stg/Bundle/RankFields.h"
#include <algorithm>
#include <cstring>

namespace stg::bundle {

uint32_t numberOf(std::span<const Digit> digits, uint32_t rank) {
  uint32_t number = 0;
  for (const Digit &digit : digits)
    number += rank / digit.stride % digit.size * digit.weight;
  return number;
}

namespace {

/// The rank whose coordinates make up a number, 0 in all others.
uint32_t rankOf(std::span<const Digit> digits, uint32_t number) {
  uint32_t rank = 0;
  for (const Digit &digit : digits)
    rank += number / digit.weight % digit.size * digit.stride;
  return rank;
}

} // namespace

//===----------------------------------------------------------------------===//
// Sets of ranks and groups
//===----------------------------------------------------------------------===//

uint64_t RankSet::size() const {
  uint64_t size = 1;
  for (const Digit &span : spans)
    size *= span.size;
  return size;
}

uint32_t RankSet::at(uint64_t index) const {
  uint32_t rank = first;
  for (size_t i = spans.size(); i-- > 0; index /= spans[i].size)
    rank += static_cast<uint32_t>(index % spans[i].size) * spans[i].stride;
  return rank;
}

std::optional<uint32_t> GroupFormula::groupOf(uint32_t rank) const {
  uint32_t group = numberOf(number, rank);
  if (sets.empty())
    return group;
  uint32_t place = numberOf(places, rank);
  for (size_t i = 0; i < sets.size(); ++i)
    if (std::find(sets[i].begin(), sets[i].end(), place) != sets[i].end())
      return static_cast<uint32_t>(group * sets.size() + i);
  return std::nullopt;
}

uint32_t GroupFormula::memberBehind(uint32_t rank, uint32_t places) const {
  RankSet group{.first = rank, .spans = spans};
  uint64_t index = 0;
  for (const Digit &span : spans) {
    uint32_t coordinate = rank / span.stride % span.size;
    group.first -= coordinate * span.stride;
    index = index * span.size + coordinate;
  }
  return group.at((index + places) % group.size());
}

std::vector<uint32_t> GroupFormula::membersOf(uint32_t group) const {
  std::vector<uint32_t> members;
  if (sets.empty()) {
    RankSet ranks{.first = rankOf(number, group), .spans = spans};
    uint64_t size = ranks.size();
    members.reserve(size);
    for (uint64_t i = 0; i < size; ++i)
      members.push_back(ranks.at(i));
    return members;
  }
  uint32_t first = rankOf(number, static_cast<uint32_t>(group / sets.size()));
  for (uint32_t place : sets[group % sets.size()])
    members.push_back(first + rankOf(places, place));
  std::sort(members.begin(), members.end());
  return members;
}

//===----------------------------------------------------------------------===//
// Fields
//===----------------------------------------------------------------------===//

void putRank(char *at, uint32_t rank) {
  for (unsigned i = 0; i + 1 < kRankFieldBytes; ++i, rank >>= 7)
    *at++ = static_cast<char>(rank | 0x80);
  *at = static_cast<char>(rank);
}

void putGroupId(char *at, uint32_t id, unsigned digits) {
  for (unsigned i = digits; i-- > 0; id /= 10)
    at[i] = static_cast<char>('0' + id % 10);
}

void FieldValues::select(uint32_t rank) {
  values_.resize(fields_.size() * kMostFieldBytes);
  char *at = values_.data();
  for (const RankField &field : fields_) {
    if (field.kind == RankField::Kind::Rank) {
      putRank(at, static_cast<uint32_t>(rank + field.value));
    } else {
      const GroupFormula &groups = groups_[field.groupKind()];
      if (field.kind == RankField::Kind::Member)
        putRank(at, groups.memberBehind(rank, field.places()));
      else if (std::optional<uint32_t> group = groups.groupOf(rank))
        putGroupId(at, groups.idOf(*group), groupDigits_);
    }
    at += kMostFieldBytes;
  }
}

std::span<const char> FieldValues::operator[](uint32_t index) const {
  return {values_.data() + size_t{index} * kMostFieldBytes, fields_[index].isRank() ? kRankFieldBytes : groupDigits_};
}

void FieldValues::apply(std::span<const FieldPatch> patches, std::span<char> bytes, uint64_t from) const {
  // Fields do not overlap, so that those that end behind `from` follow one another.
  auto patch = std::partition_point(patches.begin(), patches.end(), [&](const FieldPatch &each) {
    return each.offset + (*this)[each.field].size() <= from;
  });
  uint64_t end = from + bytes.size();
  for (; patch != patches.end() && patch->offset < end; ++patch) {
    std::span<const char> value = (*this)[patch->field];
    uint64_t first = std::max<uint64_t>(patch->offset, from), last = std::min(patch->offset + value.size(), end);
    std::memcpy(bytes.data() + (first - from), value.data() + (first - patch->offset), last - first);
  }
}

//===----------------------------------------------------------------------===//
// The group file
//===----------------------------------------------------------------------===//

bool GroupFileText::next(std::string &piece, size_t bytes) {
  piece.clear();
  if (ended_ || groups_.empty())
    return false;
  // Ids ascend with the number of the group, then with the kind.
  uint32_t most = 0;
  for (const GroupFormula &kind : groups_)
    most = std::max(most, kind.count);
  for (; group_ < most; ++group_, kind_ = 0)
    for (; kind_ < groups_.size(); ++kind_) {
      if (group_ >= groups_[kind_].count)
        continue;
      if (piece.size() >= bytes)
        return true;
      piece += begun_ ? ",\n  \"" : "{\n  \"";
      begun_ = true;
      char id[kMostFieldBytes];
      putGroupId(id, groups_[kind_].idOf(group_), groupDigits_);
      piece.append(id, groupDigits_);
      piece += "\": [";
      bool isFirst = true;
      for (uint32_t rank : groups_[kind_].membersOf(group_)) {
        piece += isFirst ? "" : ", ";
        piece += std::to_string(rank);
        isFirst = false;
      }
      piece += ']';
    }
  piece += "\n}\n";
  ended_ = true;
  return true;
}

} // namespace stg::bundle
