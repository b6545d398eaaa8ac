//===- PatchedGzipTest.cpp - zlib reads what was never compressed -----------===//

#include "stg/Chakra/PatchedGzip.h"
#include "gtest/gtest.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <random>
#include <zlib.h>

using namespace stg;
using namespace stg::bundle;

namespace {

constexpr unsigned kGroupDigits = 4;

/// What inflate makes of one gzip member; empty and a failure if it is none, or anything follows.
std::string inflated(const std::string &file, size_t bytes) {
  z_stream stream = {};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  EXPECT_EQ(inflateInit2(&stream, kGzipOnly), Z_OK);
  std::string text(bytes + 1, '\0');
  stream.next_in = reinterpret_cast<Bytef *>(const_cast<char *>(file.data()));
  stream.avail_in = static_cast<uInt>(file.size());
  stream.next_out = reinterpret_cast<Bytef *>(text.data());
  stream.avail_out = static_cast<uInt>(text.size());
  // It compares checksum and length at the end.
  EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END) << (stream.msg ? stream.msg : "cut short");
  EXPECT_EQ(stream.avail_in, 0u);
  text.resize(stream.total_out);
  inflateEnd(&stream);
  return text;
}

/// A class of 1024 ranks with groups of two kinds.
class PatchedGzipTest : public testing::Test {
protected:
  std::vector<GroupFormula> groups = {
      {.firstId = 1, .idStride = 2, .count = 512, .number = {{.stride = 2, .size = 512, .weight = 1}}},
      {.firstId = 2, .idStride = 2, .count = 2, .number = {{.stride = 1, .size = 2, .weight = 1}}}};
  std::vector<RankField> fields = {{.kind = RankField::Kind::Rank, .value = 0},
                                   {.kind = RankField::Kind::Group, .value = 0},
                                   {.kind = RankField::Kind::Group, .value = 1},
                                   {.kind = RankField::Kind::Rank, .value = 131072},
                                   {.kind = RankField::Kind::Rank, .value = 1}};

  struct Segment {
    std::string bytes;
    std::vector<FieldPatch> patches;
  };
  std::vector<Segment> image = {{}};

  void field(uint32_t number) {
    bool isRank = fields[number].kind == RankField::Kind::Rank;
    image.back().patches.push_back({.offset = static_cast<uint32_t>(image.back().bytes.size()), .field = number});
    // What stands in a field does not matter.
    image.back().bytes.append(isRank ? kRankFieldBytes : kGroupDigits, 'x');
  }
  void text(std::string_view bytes) { image.back().bytes += bytes; }

  PatchedGzip compressed() const {
    PatchedGzip file(kGroupDigits);
    for (const Segment &segment : image)
      file.add(segment.bytes, segment.patches, fields);
    file.finish();
    return file;
  }
  std::string rawOf(FieldValues &values) const {
    std::string raw;
    for (Segment segment : image) {
      values.apply(segment.patches, segment.bytes);
      raw += segment.bytes;
    }
    return raw;
  }
  static std::string fileOf(const PatchedGzip &file, const FieldValues &values) {
    std::string bytes;
    for (size_t i = 0; i < file.segments(); ++i)
      file.append(i, values, bytes);
    return bytes;
  }

  void expectRanks(const PatchedGzip &file, std::initializer_list<uint32_t> ranks = {0, 1, 2, 3, 127, 128, 500, 1023}) {
    FieldValues values(fields, groups, kGroupDigits);
    for (uint32_t rank : ranks) {
      values.select(rank);
      std::string bytes = fileOf(file, values), raw = rawOf(values);
      EXPECT_EQ(bytes.size(), file.fileBytes());
      EXPECT_TRUE(inflated(bytes, raw.size()) == raw) << "rank " << rank;
    }
  }
};

TEST_F(PatchedGzipTest, EmptyImage) {
  PatchedGzip file = compressed();
  expectRanks(file, {0});
  EXPECT_LT(file.fileBytes(), 40u);
}

TEST_F(PatchedGzipTest, OnlyAField) {
  field(0);
  expectRanks(compressed());
}

TEST_F(PatchedGzipTest, FieldsSideBySideAndAtBothEnds) {
  for (uint32_t number : {0u, 1u, 2u, 3u, 4u, 1u, 1u, 0u})
    field(number);
  image.emplace_back();
  field(2);
  text("between");
  field(1);
  image.emplace_back();
  image.emplace_back();
  field(3);
  expectRanks(compressed());
}

TEST_F(PatchedGzipTest, ProtobufReadsItAsTheLegacyFeederDoes) {
  text("in group ");
  field(1);
  FieldValues values(fields, groups, kGroupDigits);
  values.select(77);
  std::string bytes = fileOf(compressed(), values), text;
  google::protobuf::io::ArrayInputStream file(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::GzipInputStream expanded(&file);
  google::protobuf::io::CodedInputStream coded(&expanded);
  EXPECT_TRUE(coded.ReadString(&text, 13));
  EXPECT_EQ(text, "in group 0077");
  EXPECT_FALSE(coded.ReadString(&text, 1));
  EXPECT_EQ(expanded.ZlibErrorCode(), Z_STREAM_END);
}

TEST_F(PatchedGzipTest, EveryRankHasItsOwnFile) {
  for (unsigned i = 0; i < 40; ++i) {
    text("node " + std::to_string(i) + " in group ");
    field(1 + i % 4);
  }
  PatchedGzip file = compressed();
  FieldValues values(fields, groups, kGroupDigits);
  for (uint32_t rank = 0; rank < 1024; ++rank) {
    values.select(rank);
    std::string raw = rawOf(values);
    ASSERT_TRUE(inflated(fileOf(file, values), raw.size()) == raw) << "rank " << rank;
  }
}

TEST_F(PatchedGzipTest, ARepeatedFieldIsCopiedLikeText) {
  for (unsigned i = 0; i < 10000; ++i) {
    text("all_reduce over group ");
    field(1);
    text(" and send to ");
    field(4);
  }
  PatchedGzip file = compressed();
  EXPECT_LT(file.fileBytes(), 1500u); // of 440,000: a match of 258 bytes takes 6 bits
  expectRanks(file);
}

TEST_F(PatchedGzipTest, TwoFieldsAreNotCopiedFromEachOther) {
  // On rank 0 the ids are alike in three digits, on others in none.
  for (unsigned i = 0; i < 1000; ++i) {
    text("over group ");
    field(1 + i % 2);
  }
  text("over group 0001");
  expectRanks(compressed());
}

/// Words from a small vocabulary, numbers, noise and fields in random proportions.
TEST_F(PatchedGzipTest, RandomImages) {
  std::mt19937 random(6);
  auto below = [&](uint32_t end) { return static_cast<uint32_t>(random() % end); };
  for (unsigned round = 0; round < 30; ++round) {
    image = {{}};
    uint32_t chunks = below(round % 10 == 0 ? 20000 : 2000), fieldShare = below(40), noiseShare = below(30);
    std::vector<std::string> words(1 + below(50));
    for (std::string &word : words)
      for (uint32_t i = 1 + below(400); i > 0; --i)
        word += static_cast<char>(round % 3 == 0 ? random() : 'a' + below(20));
    for (uint32_t i = 0; i < chunks; ++i) {
      uint32_t choice = below(100);
      if (choice < fieldShare)
        field(below(static_cast<uint32_t>(fields.size())));
      else if (choice < fieldShare + noiseShare)
        text(std::string(1 + below(20), static_cast<char>(random())) + std::to_string(random()));
      else
        text(words[below(static_cast<uint32_t>(words.size()))]);
      if (below(500) == 0)
        image.emplace_back();
    }
    SCOPED_TRACE("round " + std::to_string(round));
    expectRanks(compressed(), {0, 1, 77, 1023});
  }
}

TEST_F(PatchedGzipTest, NoiseHardlyGrows) {
  std::mt19937 random(1);
  constexpr size_t kBytes = 3 << 20;
  for (size_t i = 0; i < kBytes; ++i) {
    image.back().bytes += static_cast<char>(random());
    if (i % 100000 == 0)
      field(1);
  }
  PatchedGzip file = compressed();
  EXPECT_LT(file.fileBytes(), kBytes * 101 / 100);
  EXPECT_GT(file.segments(), 10u);
  expectRanks(file, {0, 1023});
}

TEST_F(PatchedGzipTest, OneByteOverAndOver) {
  text(std::string(5000000, 'a'));
  PatchedGzip file = compressed();
  EXPECT_LT(file.fileBytes(), 6000u);
  expectRanks(file, {0});
}

TEST_F(PatchedGzipTest, BytesDoNotDependOnHowTheImageIsCut) {
  std::string words;
  std::mt19937 random(2);
  for (unsigned i = 0; i < 60000; ++i)
    words += "word" + std::to_string(random() % 1000) + ' ';
  image.back().bytes = words;
  FieldValues values(fields, groups, kGroupDigits);
  std::string whole = fileOf(compressed(), values);
  image.clear();
  for (size_t at = 0; at < words.size(); at += 977)
    image.push_back({.bytes = words.substr(at, 977), .patches = {}});
  EXPECT_TRUE(fileOf(compressed(), values) == whole);
}

} // namespace
