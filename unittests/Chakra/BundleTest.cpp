//===- BundleTest.cpp - what is read from a bundle, and what is refused ------===//
#include "stg/Bundle/Bundle.h"
#include "stg/Bundle/BundleFormat.h"
#include "stg/Chakra/BundleWriter.h"
#include "llvm/Support/FileSystem.h"
#include <fstream>
#include <gtest/gtest.h>
#include <random>
#include <thread>

using namespace stg;

namespace {

/// Two classes of four ranks each, one of 3 segments, the other of 20, which wait for their turn.
class BundleTest : public testing::Test {
protected:
  static constexpr uint32_t kClasses = 2, kRanks = 8;
  static constexpr size_t kSegments[kClasses] = {3, 20};

  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("bundle", path));
    root_ = std::string(path);
    path_ = root_ + "/a b ü.stgb";
    trace_.prefix = "toy";
    trace_.worldSize = kRanks;
    trace_.mesh = "pp 2 x dp 4";
    trace_.groupDigits = 2;
    trace_.groups.push_back({.axes = "dp", .firstId = 1, .count = 2, .number = {{4, 2, 1}}, .spans = {{1, 4, 1}}});
    trace_.classDigits = {{4, 2, 1}};
    for (uint32_t i = 0; i < kClasses; ++i)
      trace_.classes.push_back({.ranks = {4 * i, {{1, 4, 1}}}, .fields = {}, .segments = {}});
    std::mt19937 random(7);
    for (uint32_t i = 0; i < kClasses; ++i)
      for (size_t s = 0; s < kSegments[i]; ++s) {
        std::string &bytes = segments_[i].emplace_back(100 + random() % 50, 0);
        for (char &byte : bytes)
          byte = static_cast<char>(random());
        patches_[i].push_back({{static_cast<uint32_t>(random() % 40), 0}, {60, 1}, {95, 0}});
      }
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root_); }

  llvm::Error put(BundleWriter &writer, uint32_t rankClass) {
    std::vector<bundle::RankField> fields = {{bundle::RankField::Kind::Rank, 0}, {bundle::RankField::Kind::Group, 0}};
    uint64_t start = 0;
    for (size_t s = 0; s < kSegments[rankClass]; ++s) {
      const std::string &bytes = segments_[rankClass][s];
      if (llvm::Error error = writer.take(rankClass, {.start = start,
                                                      .bytes = {bytes.data(), bytes.size()},
                                                      .patches = patches_[rankClass][s],
                                                      .fields = fields,
                                                      .nodes = 1,
                                                      .isLast = s + 1 == kSegments[rankClass]}))
        return error;
      start += bytes.size();
    }
    return llvm::Error::success();
  }

  void write(bool lastClassFirst = false) {
    auto writer = BundleWriter::create(path_);
    ASSERT_TRUE(bool(writer));
    ASSERT_FALSE((*writer)->begin(trace_));
    std::thread other([&] { EXPECT_FALSE(put(**writer, lastClassFirst ? 1 : 0)); });
    if (lastClassFirst)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(put(**writer, lastClassFirst ? 0 : 1));
    other.join();
    ASSERT_FALSE((*writer)->end());
    ASSERT_FALSE((*writer)->commit());
  }

  std::string wholeFile(uint32_t rank) const {
    std::string whole;
    char digits[5];
    for (size_t s = 0; s < kSegments[rank / 4]; ++s) {
      std::string bytes = segments_[rank / 4][s];
      for (const bundle::FieldPatch &patch : patches_[rank / 4][s]) {
        if (patch.field == 0) {
          bundle::putRank(digits, rank);
          bytes.replace(patch.offset, 5, digits, 5);
        } else {
          bytes.replace(patch.offset, 2, rank < 4 ? "01" : "02");
        }
      }
      whole += bytes;
    }
    return whole;
  }

  std::string contents() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replaceContents(const std::string &bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }

  bundle::TraceInfo trace_;
  std::vector<std::string> segments_[kClasses];
  std::vector<std::vector<bundle::FieldPatch>> patches_[kClasses];
  std::string root_, path_;
  bundle::BundleError error_;
};

TEST_F(BundleTest, AnyPartOfAnyRankIsRead) {
  write();
  auto bundle = bundle::Bundle::open(path_, error_);
  ASSERT_TRUE(bundle) << error_.what;
  ASSERT_EQ(bundle->traces().size(), 1u);
  const bundle::TraceInfo &trace = bundle->traces()[0];
  EXPECT_EQ(trace.mesh, "pp 2 x dp 4");
  EXPECT_EQ(trace.groups, trace_.groups);
  EXPECT_TRUE(bundle->verify(error_));
  std::mt19937 random(3);
  for (uint32_t rank = 0; rank < kRanks; ++rank) {
    std::string whole = wholeFile(rank);
    ASSERT_EQ(bundle->fileSize(trace, rank), whole.size());
    EXPECT_EQ(bundle->classOf(trace, rank).nodes, kSegments[rank / 4]);
    for (int i = 0; i < 200; ++i) {
      size_t from = random() % (whole.size() + 10), size = random() % whole.size();
      std::string part(size, 0);
      std::optional<size_t> read = bundle->read(trace, rank, from, part, error_);
      ASSERT_TRUE(read);
      part.resize(*read);
      ASSERT_EQ(part, from < whole.size() ? whole.substr(from, size) : "") << rank << " " << from;
    }
  }
  EXPECT_EQ(bundle::Bundle::groupFile(trace), "{\n  \"01\": [0, 1, 2, 3],\n  \"02\": [4, 5, 6, 7]\n}\n");
}

TEST_F(BundleTest, NoByteDependsOnWhichClassComesFirst) {
  write();
  std::string first = contents();
  write(/*lastClassFirst=*/true);
  EXPECT_TRUE(first == contents());
}

TEST_F(BundleTest, EveryWrongByteIsNoticed) {
  write();
  std::string good = contents();
  bundle::Trailer trailer;
  std::memcpy(&trailer, good.data() + good.size() - sizeof(trailer), sizeof(trailer));
  size_t padding = 0;
  for (size_t i = 0; i < good.size(); i += i < trailer.indexPlace ? 9 : 2) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 0x40);
    replaceContents(bad);
    auto bundle = bundle::Bundle::open(path_, error_);
    if (bundle && bundle->verify(error_)) {
      ++padding; // zeros between segments
      EXPECT_EQ(good[i], 0) << i;
      EXPECT_LT(i, trailer.indexPlace);
      continue;
    }
    EXPECT_EQ(error_.kind, bundle::BundleError::Kind::Damaged);
    EXPECT_TRUE(llvm::StringRef(error_.what).starts_with(path_ + ": ")) << error_.what;
  }
  EXPECT_LT(padding, 7u * (kSegments[0] + kSegments[1] + 1));
}

TEST_F(BundleTest, EveryTruncationIsRefused) {
  write();
  std::string good = contents();
  for (size_t size = 0; size < good.size(); size += 1 + size / 20) {
    replaceContents(good.substr(0, size));
    EXPECT_FALSE(bundle::Bundle::open(path_, error_)) << size;
    EXPECT_EQ(error_.kind, bundle::BundleError::Kind::Damaged);
  }
}

/// An index with a right checksum whose contents make no sense reads no foreign memory (the sanitizers look).
TEST_F(BundleTest, AnIndexThatMakesNoSenseIsRefusedOrHarmless) {
  write();
  std::string good = contents();
  bundle::Trailer trailer;
  std::memcpy(&trailer, good.data() + good.size() - sizeof(trailer), sizeof(trailer));
  std::mt19937 random(11);
  size_t refused = 0;
  for (int i = 0; i < 600; ++i) {
    std::string bad = good;
    bad[trailer.indexPlace + random() % trailer.indexBytes] = static_cast<char>(random());
    bundle::Trailer own = trailer;
    own.indexChecksum = bundle::checksumOf({bad.data() + trailer.indexPlace, trailer.indexBytes}, {});
    std::memcpy(bad.data() + bad.size() - sizeof(own), &own, sizeof(own));
    replaceContents(bad);
    auto bundle = bundle::Bundle::open(path_, error_);
    if (!bundle) {
      ++refused;
      continue;
    }
    for (const bundle::TraceInfo &trace : bundle->traces()) {
      std::string part(500, 0);
      for (uint32_t rank = 0; rank < trace.worldSize; rank += 1 + trace.worldSize / 8)
        (void)bundle->read(trace, rank, 50, part, error_);
      (void)bundle::Bundle::groupFile(trace);
    }
  }
  EXPECT_GT(refused, 100u);
}

TEST_F(BundleTest, EachTraceHasAFolderOfItsOwn) {
  write();
  auto bundle = bundle::Bundle::open(path_, error_);
  ASSERT_TRUE(bundle);
  std::vector<bundle::TraceInfo> traces(2, bundle->traces()[0]), read;
  std::string why;
  uint64_t end = contents().size();
  EXPECT_FALSE(bundle::decodeIndex(bundle::encodeIndex(traces), end, read, why));
  EXPECT_EQ(why, "two traces are in one folder");
  traces[1].folder = "other";
  EXPECT_TRUE(bundle::decodeIndex(bundle::encodeIndex(traces), end, read, why)) << why;
}

TEST_F(BundleTest, WhatCannotBeReadIsNoDamage) {
  EXPECT_FALSE(bundle::Bundle::open(root_ + "/none", error_));
  EXPECT_EQ(error_.kind, bundle::BundleError::Kind::Unreadable);
  EXPECT_FALSE(bundle::Bundle::open(root_, error_));
  EXPECT_EQ(error_.kind, bundle::BundleError::Kind::Unreadable);
  replaceContents("stg 1\nmodel m() { }\n");
  EXPECT_FALSE(bundle::Bundle::open(path_, error_));
  EXPECT_EQ(error_.what, path_ + ": this is no bundle");
}

} // namespace
