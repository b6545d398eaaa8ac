//===- MountTreeTest.cpp - folders and files by number ----------------------===//

#include "stg/Mount/MountTree.h"
#include "gtest/gtest.h"
#include <set>

using namespace stg;
using namespace stg::bundle;

namespace {

/// Ranks in two classes, the odd ones with larger files; with a group of all of them if asked for.
TraceInfo makeTrace(std::string folder, uint32_t ranks, bool group) {
  TraceInfo trace;
  trace.folder = std::move(folder);
  trace.prefix = "train";
  trace.worldSize = ranks;
  trace.classDigits = {{.stride = 1, .size = 2, .weight = 1}};
  for (uint32_t i = 0; i < 2; ++i) {
    RankClass each;
    each.ranks = {.first = i, .spans = {{.stride = 2, .size = ranks / 2, .weight = 0}}};
    each.fileBytes = 1000 + i;
    trace.classes.push_back(each);
  }
  if (group)
    trace.groups = {{.axes = "dp", .count = 1, .spans = {{.stride = 1, .size = ranks, .weight = 1}}}};
  return trace;
}

std::vector<std::string> namesIn(const MountTree &tree, uint64_t folder) {
  std::vector<std::string> names;
  for (uint64_t index = 0; std::optional<MountEntry> entry = tree.child(folder, index); ++index)
    names.push_back(tree.nameOf(*entry));
  return names;
}

TEST(MountTree, OneTraceIsInTheRoot) {
  std::vector<TraceInfo> traces = {makeTrace("", 4, true)};
  MountTree tree(traces);
  EXPECT_EQ(namesIn(tree, MountTree::kRoot),
            (std::vector<std::string>{"comm_groups.json", "train.0.et", "train.1.et", "train.2.et", "train.3.et"}));
  EXPECT_EQ(tree.files(), 5u);
  EXPECT_EQ(tree.bytes(), 4002u + Bundle::groupFile(traces[0]).size());
}

TEST(MountTree, WithoutGroupsThereIsNoGroupFile) {
  std::vector<TraceInfo> traces = {makeTrace("", 2, false)};
  MountTree tree(traces);
  EXPECT_EQ(namesIn(tree, MountTree::kRoot), (std::vector<std::string>{"train.0.et", "train.1.et"}));
  EXPECT_FALSE(tree.find(MountTree::kRoot, kGroupFile));
  EXPECT_EQ(tree.files(), 2u);
}

TEST(MountTree, FoldersMayBeNested) {
  std::vector<TraceInfo> traces = {makeTrace("runs/a", 2, false), makeTrace("runs/b", 4, false)};
  MountTree tree(traces);
  EXPECT_EQ(namesIn(tree, MountTree::kRoot), std::vector<std::string>{"runs"});
  std::optional<MountEntry> runs = tree.find(MountTree::kRoot, "runs");
  ASSERT_TRUE(runs && runs->kind == MountEntry::Kind::Folder);
  EXPECT_EQ(namesIn(tree, runs->number), (std::vector<std::string>{"a", "b"}));
  std::optional<MountEntry> b = tree.find(runs->number, "b");
  ASSERT_TRUE(b);
  EXPECT_EQ(namesIn(tree, b->number).size(), 4u);
  EXPECT_EQ(tree.parentOf(b->number), runs->number);
  EXPECT_EQ(tree.parentOf(runs->number), MountTree::kRoot);
  EXPECT_EQ(tree.parentOf(MountTree::kRoot), MountTree::kRoot);
  EXPECT_FALSE(tree.find(MountTree::kRoot, "train.0.et"));
}

TEST(MountTree, NumbersNamesAndPlacesAgree) {
  std::vector<TraceInfo> traces = {makeTrace("a", 131072, true), makeTrace("b", 6, false)};
  MountTree tree(traces);
  std::set<uint64_t> numbers = {MountTree::kRoot};
  for (const char *name : {"a", "b"}) {
    MountEntry folder = tree.find(MountTree::kRoot, name).value();
    EXPECT_TRUE(numbers.insert(folder.number).second);
    for (uint64_t index = 0; std::optional<MountEntry> entry = tree.child(folder.number, index); ++index) {
      ASSERT_TRUE(numbers.insert(entry->number).second) << tree.nameOf(*entry);
      std::optional<MountEntry> byName = tree.find(folder.number, tree.nameOf(*entry));
      std::optional<MountEntry> byNumber = tree.at(entry->number);
      for (const auto &same : {byName, byNumber}) {
        ASSERT_TRUE(same) << tree.nameOf(*entry);
        ASSERT_EQ(same->number, entry->number);
        ASSERT_EQ(same->kind, entry->kind);
        ASSERT_EQ(same->rank, entry->rank);
        ASSERT_EQ(same->bytes, entry->bytes);
      }
    }
  }
  EXPECT_EQ(numbers.size(), 3u + 131073u + 6u);
  EXPECT_FALSE(tree.at(0));
  EXPECT_FALSE(tree.at(*numbers.rbegin() + 1));
}

TEST(MountTree, OnlyExactNamesAreFound) {
  std::vector<TraceInfo> traces = {makeTrace("", 12, false)};
  MountTree tree(traces);
  EXPECT_EQ(tree.find(MountTree::kRoot, "train.11.et").value().rank, 11u);
  EXPECT_EQ(tree.find(MountTree::kRoot, "train.11.et").value().bytes, 1001u);
  for (const char *name : {"train.12.et", "train.011.et", "train.+1.et", "train.-1.et", "train..et", "train.et", ".et",
                           "train.1.et.gz", "train.1", "trainx1.et", "other.1.et", "train.4294967297.et", "", "train."})
    EXPECT_FALSE(tree.find(MountTree::kRoot, name)) << name;
}

} // namespace
