//===- RankFieldsTest.cpp - closed formulas of the rank -----------------------===//
// The judge of groups is a walk over all ranks.
#include "stg/Bundle/RankFields.h"
#include <gmock/gmock.h>
#include <map>

using namespace stg::bundle;
using testing::ElementsAre;

namespace {

// A mesh a 3 x b 4 x c 2: strides 8, 2, 1.
constexpr uint32_t kRanks = 24;

GroupFormula overB() {
  return {.axes = "b", .firstId = 2, .idStride = 5, .count = 6, .number = {{8, 3, 2}, {1, 2, 1}}, .spans = {{2, 4, 1}}};
}

/// Of the four places on b, the first and the last are a set, and the two between them.
GroupFormula pairsOfB() {
  GroupFormula formula = overB();
  formula.spans = {};
  formula.places = {{2, 4, 1}};
  formula.sets = {{0, 3}, {1, 2}};
  formula.count = 12;
  return formula;
}

/// One set only: ranks between have no group.
GroupFormula endsOfB() {
  GroupFormula formula = pairsOfB();
  formula.sets = {{0, 3}};
  formula.count = 6;
  return formula;
}

void expectPartition(const GroupFormula &formula, size_t groupSize) {
  std::map<uint32_t, std::vector<uint32_t>> groups;
  for (uint32_t rank = 0; rank < kRanks; ++rank)
    if (std::optional<uint32_t> group = formula.groupOf(rank))
      groups[*group].push_back(rank);
  ASSERT_EQ(groups.size(), formula.count);
  for (const auto &[group, ranks] : groups) {
    EXPECT_LT(group, formula.count);
    EXPECT_EQ(ranks.size(), groupSize);
    EXPECT_EQ(formula.membersOf(group), ranks);
  }
}

TEST(RankFields, GroupsAndTheirMembersAgree) {
  expectPartition(overB(), 4);
  expectPartition(pairsOfB(), 2);
  expectPartition(endsOfB(), 2);
  EXPECT_THAT(overB().membersOf(3), ElementsAre(9, 11, 13, 15));
  EXPECT_THAT(pairsOfB().membersOf(3), ElementsAre(3, 5));
  EXPECT_EQ(endsOfB().groupOf(2), std::nullopt);
}

TEST(RankFields, MembersStandInACircle) {
  GroupFormula twoAxes = overB();
  twoAxes.number = {{8, 3, 1}};
  twoAxes.spans = {{2, 4, 1}, {1, 2, 1}};
  twoAxes.count = 3;
  for (const GroupFormula &formula : {overB(), twoAxes})
    for (uint32_t rank = 0; rank < kRanks; ++rank) {
      std::vector<uint32_t> members = formula.membersOf(*formula.groupOf(rank));
      size_t own = std::find(members.begin(), members.end(), rank) - members.begin();
      for (uint32_t places = 0; places <= members.size(); ++places)
        EXPECT_EQ(formula.memberBehind(rank, places), members[(own + places) % members.size()]);
    }
}

TEST(RankFields, ASetOfRanksIsTheProductOfItsSpans) {
  RankSet ranks{.first = 2, .spans = {{8, 3, 0}, {1, 2, 0}}};
  std::vector<uint32_t> all;
  for (uint64_t i = 0; i < ranks.size(); ++i)
    all.push_back(ranks.at(i));
  EXPECT_THAT(all, ElementsAre(2, 3, 10, 11, 18, 19));
}

/// The bytes of each field by the varint's and the group's definition.
std::string valueOf(const RankField &field, uint32_t rank, const GroupFormula &groups) {
  if (field.kind == RankField::Kind::Group) {
    std::string id = std::to_string(2 + 5 * *groups.groupOf(rank));
    return std::string(4 - id.size(), '0') + id;
  }
  uint64_t value = field.kind == RankField::Kind::Member ? groups.memberBehind(rank, field.places())
                                                         : static_cast<uint64_t>(rank + field.value);
  std::string text;
  for (int i = 0; i < 5; ++i, value >>= 7)
    text += static_cast<char>((value & 0x7f) | (i < 4 ? 0x80 : 0));
  return text;
}

TEST(RankFields, AnyPartOfASegmentCanBePatched) {
  std::vector<GroupFormula> groups = {overB()};
  std::vector<RankField> fields = {
      {RankField::Kind::Rank, 0}, {RankField::Kind::Group, 0}, {RankField::Kind::Rank, -1}, RankField::member(0, 3)};
  // Adjacent fields, and one at either end.
  std::vector<FieldPatch> patches = {{0, 0}, {9, 1}, {13, 2}, {18, 1}, {22, 3}, {30, 0}};
  const std::string image(35, '.');
  FieldValues values(fields, groups, 4);
  for (uint32_t rank : {1u, 9u, 23u}) {
    values.select(rank);
    std::string whole = image;
    for (const FieldPatch &patch : patches) {
      std::string value = valueOf(fields[patch.field], rank, groups[0]);
      whole.replace(patch.offset, value.size(), value);
    }
    for (size_t from = 0; from <= image.size(); ++from)
      for (size_t to = from; to <= image.size(); ++to) {
        std::string part = image.substr(from, to - from);
        values.apply(patches, part, from);
        ASSERT_EQ(part, whole.substr(from, to - from)) << "rank " << rank << ", " << from << " to " << to;
      }
  }
}

TEST(RankFields, TheGroupFileIsByIdInPiecesOfAnySize) {
  GroupFormula second = endsOfB();
  second.firstId = 1;
  std::vector<GroupFormula> groups = {second, overB()};
  auto text = [&](size_t bytes) {
    std::string whole, piece;
    GroupFileText file(groups, 3);
    while (file.next(piece, bytes))
      whole += piece;
    return whole;
  };
  std::string whole = text(1 << 20);
  EXPECT_TRUE(whole.starts_with("{\n  \"001\": [0, 6],\n  \"002\": [0, 2, 4, 6],\n  \"006\": [1, 7],\n")) << whole;
  EXPECT_TRUE(whole.ends_with("\"027\": [17, 19, 21, 23]\n}\n")) << whole;
  for (size_t bytes : {1, 17, 100})
    EXPECT_EQ(text(bytes), whole);
  std::string piece;
  EXPECT_FALSE(GroupFileText({}, 1).next(piece));
}

} // namespace
