//===- ClassImageTest.cpp - a class of ranks in segments ----------------------===//
#include "stg/Chakra/ClassImage.h"
#include <gtest/gtest.h>

using namespace stg;

namespace {

/// As many nodes as asked for, every third a collective, every fifth a send.
class LongRank : public Unroller {
public:
  explicit LongRank(uint64_t nodes) : nodes_(nodes) {}
  const RankClasses &rankClasses() const override { return classes_; }
  void run(uint32_t, llvm::function_ref<void(const TraceNode &)> consume) const override {
    for (uint64_t id = 1; id <= nodes_; ++id) {
      TraceNode node{.id = id, .name = "F0:blocks[7].attn.q", .bytes = 8 + id % 3};
      node.likeness = 1 + id % 15;
      if (id % 3 == 0) {
        node.kind = TraceNodeKind::Collective;
        node.group = 7;
        node.groupKind = 1;
      } else if (id % 5 == 0) {
        node.kind = TraceNodeKind::Send;
        node.sourceRank = 6;
        node.destinationRank = 14;
      } else {
        node.flops = 100 + id % 15;
        node.opType = "contract";
      }
      consume(node);
    }
  }

private:
  uint64_t nodes_;
  Program program_{std::make_shared<IRContext>()};
  RankClasses classes_{program_}; ///< one
};

TraceMetadata metadata() { return {.compilerVersion = "1", .rank = 6, .worldSize = 16, .mesh = "pp 2 x dp 8"}; }

TEST(ClassImage, SegmentsAreTheImageAndStaySmall) {
  LongRank unroller(120'000);
  EncodeOptions options{.groupDigits = 3};
  NodeEncoder whole(options, 6);
  whole.append(metadata());
  unroller.run(0, [&](TraceNode node) {
    node.likeness = 0; // each node by itself
    whole.append(node);
  });

  std::string bytes;
  std::vector<bundle::FieldPatch> patches;
  uint64_t nodes = 0;
  size_t segments = 0, last = 0;
  encodeClass(unroller, 0, metadata(), options, [&](const ImageSegment &segment) {
    EXPECT_EQ(segment.start, bytes.size());
    EXPECT_LT(segment.bytes.size(), kSegmentBytes + 1000);
    EXPECT_TRUE(segment.isLast || segment.bytes.size() >= kSegmentBytes);
    bytes.append(segment.bytes.data(), segment.bytes.size());
    for (bundle::FieldPatch patch : segment.patches)
      patches.push_back({patch.offset + static_cast<uint32_t>(segment.start), patch.field});
    nodes += segment.nodes;
    ++segments;
    last += segment.isLast;
  });
  EXPECT_GE(segments, 3u);
  EXPECT_EQ(last, 1u);
  EXPECT_EQ(nodes, 120'000u);
  EXPECT_TRUE(bytes == whole.bytes());
  EXPECT_TRUE(patches == whole.patches());
  EXPECT_EQ(whole.fields(), (std::vector<bundle::RankField>{{bundle::RankField::Kind::Rank, 0},
                                                            {bundle::RankField::Kind::Group, 1},
                                                            {bundle::RankField::Kind::Rank, 8}}));
}

TEST(ClassImage, ShortClassesAreOneSegment) {
  size_t segments = 0;
  encodeClass(LongRank(2), 0, metadata(), {}, [&](const ImageSegment &segment) {
    EXPECT_TRUE(segment.isLast);
    EXPECT_EQ(segment.nodes, 2u);
    ++segments;
  });
  EXPECT_EQ(segments, 1u);
}

} // namespace
