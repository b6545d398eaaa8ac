//===- TraceFilesTest.cpp - what is written is what is read ----------------===//

#include "et_def.pb.h"
#include "stg/Chakra/TraceDirectory.h"
#include "stg/Chakra/TraceSet.h"
#include "stg/Trace/CheckTrace.h"
#include "stg/Trace/NodeText.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <random>

using namespace stg;

namespace {

TraceMetadata metadata(uint32_t rank, uint32_t worldSize) {
  return {.compilerVersion = "0.1.0", .rank = rank, .worldSize = worldSize, .mesh = "dp 2", .programHash = "abc"};
}

std::string twoNodes() {
  uint64_t one[] = {1};
  NodeEncoder encoder({});
  encoder.append({.id = 1, .name = "F0:x", .opType = "map", .flops = 100, .bytes = 9000});
  encoder.append(
      {.id = 2, .name = "F0:y", .opType = "contract", .dataDeps = one, .ctrlDeps = one, .flops = 300, .bytes = 40});
  return encoder.bytes().str();
}

std::string gzip(const std::string &text) {
  std::string packed;
  google::protobuf::io::StringOutputStream out(&packed);
  google::protobuf::io::GzipOutputStream gzip(&out);
  google::protobuf::io::CodedOutputStream coded(&gzip);
  coded.WriteString(text);
  coded.Trim();
  gzip.Close();
  return packed;
}

class TraceFiles : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("trace-files", path));
    root_ = std::string(path);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root_); }
  std::string root_;
};

TEST_F(TraceFiles, EveryRankIsReadBack) {
  bundle::TraceInfo trace;
  trace.prefix = "llama";
  trace.worldSize = 2;
  trace.groupDigits = 3;
  trace.groups.push_back({.axes = "dp", .firstId = 12, .count = 1, .number = {}, .spans = {{1, 2, 1}}});
  trace.classes.push_back({.ranks = {0, {{1, 2, 1}}}, .fields = {}, .segments = {}});
  NodeEncoder head({});
  head.append(metadata(0, 2));
  std::string bytes = head.bytes().str() + twoNodes();
  auto writer = TraceDirectory::create(root_ + "/out", {}, 1);
  ASSERT_TRUE(bool(writer));
  EXPECT_FALSE((*writer)->begin(trace));
  // In two segments, of which the first ends within a message.
  llvm::ArrayRef<char> image(bytes.data(), bytes.size());
  size_t half = bytes.size() / 2;
  EXPECT_FALSE(
      (*writer)->take(0, {.bytes = image.take_front(half), .patches = head.patches(), .fields = head.fields()}));
  EXPECT_FALSE((*writer)->take(
      0, {.start = half, .bytes = image.drop_front(half), .patches = {}, .fields = head.fields(), .isLast = true}));
  EXPECT_FALSE((*writer)->end());
  EXPECT_FALSE((*writer)->commit());

  auto set = findTraceSet({root_ + "/out"});
  ASSERT_TRUE(bool(set));
  ASSERT_EQ(set->files.size(), 2u);
  for (uint32_t rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(set->files[rank].rank, rank);
    auto reader = TraceReader::open(set->files[rank].path);
    ASSERT_TRUE(bool(reader));
    ASSERT_TRUE(reader->metadata().has_value());
    EXPECT_EQ(metadataText(*reader->metadata()),
              "metadata 0.0.4 schema=0.0.4 producer=\"stgc 0.1.0\" rank=" + std::to_string(rank) +
                  " world_size=2 mesh=\"dp 2\" program=abc units=\"num_ops: floating-point operations, a multiply-add "
                  "is 2; tensor_size, comm_size: bytes\"");
    DecodedNode node;
    ASSERT_TRUE(reader->next(node));
    EXPECT_EQ(nodeText(node), "1 COMP F0:x is_cpu_op=false num_ops=100 tensor_size=9000 op_type=map");
    ASSERT_TRUE(reader->next(node));
    EXPECT_EQ(nodeText(node, ShowKinds::Yes),
              "2 COMP F0:y data=[1] ctrl=[1] is_cpu_op:bool=false num_ops:int64=300 tensor_size:uint64=40 "
              "op_type:string=contract");
    EXPECT_FALSE(reader->next(node));
    EXPECT_EQ(reader->ending(), TraceReader::Ending::Clean);
  }
  auto groups = readGroupFile(set->groupFile);
  ASSERT_TRUE(bool(groups));
  EXPECT_EQ(*groups, (std::map<std::string, std::vector<uint32_t>>{{"012", {0, 1}}}));
}

TEST_F(TraceFiles, GzipIsRecognisedByItsFirstBytes) {
  std::string text = encodeMetadata(metadata(0, 1)) + twoNodes();
  std::string packed = gzip(text);
  EXPECT_FALSE(writeOutputFile(root_ + "/a.0.et", llvm::StringRef(packed)));
  EXPECT_FALSE(writeOutputFile(root_ + "/b.0.et", llvm::StringRef(packed).drop_back(20)));
  DecodedNode node;

  auto whole = TraceReader::open(root_ + "/a.0.et");
  ASSERT_TRUE(bool(whole));
  EXPECT_TRUE(whole->metadata().has_value());
  unsigned nodes = 0;
  while (whole->next(node))
    ++nodes;
  EXPECT_EQ(nodes, 2u);
  EXPECT_EQ(whole->ending(), TraceReader::Ending::Clean);

  auto cut = TraceReader::open(root_ + "/b.0.et");
  ASSERT_TRUE(bool(cut));
  while (cut->next(node)) {
  }
  EXPECT_EQ(cut->ending(), TraceReader::Ending::BadGzip);
}

TEST(TraceReader, MissingMetadataLosesNoNode) {
  std::string bytes = twoNodes();
  TraceReader reader = TraceReader::fromBytes(bytes);
  EXPECT_FALSE(reader.metadata().has_value());
  DecodedNode node;
  ASSERT_TRUE(reader.next(node));
  EXPECT_EQ(node.id, 1u);
}

TEST(TraceReader, EveryCutIsNoticed) {
  std::string head = encodeMetadata(metadata(0, 1)), bytes = head + twoNodes();
  unsigned clean = 0;
  for (size_t length = head.size(); length < bytes.size(); ++length) {
    TraceReader reader = TraceReader::fromBytes(llvm::StringRef(bytes).take_front(length));
    DecodedNode node;
    while (reader.next(node)) {
    }
    clean += reader.ending() == TraceReader::Ending::Clean;
  }
  // Only right after the metadata and after the first node does a cut leave a well-formed file.
  EXPECT_EQ(clean, 2u);
}

TEST(TraceReader, RandomBytesAreNoNodes) {
  std::string head = encodeMetadata(metadata(0, 1));
  for (const char *tail : {"\x03\xff\xff\xff", "\xff\xff\xff\xff\xff\xff", "\x02\x0a\x7f"}) {
    std::string bytes = head + tail;
    TraceReader reader = TraceReader::fromBytes(bytes);
    DecodedNode node;
    EXPECT_FALSE(reader.next(node));
    EXPECT_EQ(reader.ending(), TraceReader::Ending::NotANode);
    EXPECT_EQ(reader.offset(), head.size());
  }
}

TEST(TraceReader, TextThatIsNotUtf8IsNoNode) {
  std::string bytes = encodeMetadata(metadata(0, 1)) + std::string("\x05\x12\x01\xff\x18\x04", 6);
  TraceReader reader = TraceReader::fromBytes(bytes);
  DecodedNode node;
  testing::internal::CaptureStderr();
  EXPECT_FALSE(reader.next(node));
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(reader.ending(), TraceReader::Ending::NotANode);
}

TEST(TraceReader, DamagedFilesAreReadAndCheckedWithoutHarm) {
  std::mt19937 random(7);
  std::string good = encodeMetadata(metadata(0, 1)) + twoNodes();
  for (unsigned round = 0; round < 3000; ++round) {
    std::string bytes = good;
    for (unsigned i = 1 + random() % 4; i > 0; --i)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    bytes.resize(bytes.size() - random() % 3);
    SourceManager sources;
    Diagnostics diags(sources);
    TraceFindings findings(diags);
    TraceChecker checker({}, findings);
    TraceReader reader = TraceReader::fromBytes(bytes);
    checker.beginRank(0, reader.metadata().has_value());
    DecodedNode node;
    while (reader.next(node)) {
      checker.node(node);
      EXPECT_FALSE(nodeText(node, ShowKinds::Yes).empty());
    }
    checker.endRank(FileEnd::Clean, reader.offset());
    checker.finish();
  }
}

TEST(TraceReader, EveryKindOfAttributeIsRead) {
  ChakraProtoMsg::Node node;
  auto add = [&](const char *name) {
    auto *attribute = node.add_attr();
    attribute->set_name(name);
    return attribute;
  };
  node.set_id(7);
  node.set_duration_micros(3);
  add("a")->set_double_val(0.5);
  add("b")->set_sint32_val(-2);
  add("c")->set_fixed64_val(UINT64_MAX);
  add("d")->set_bool_val(true);
  add("e")->set_bytes_val(std::string("\x01 q\"", 4));
  auto *list = add("f")->mutable_int64_list();
  list->add_values(1);
  list->add_values(-1);
  add("g")->mutable_string_list();
  add("h");
  std::string body = node.SerializeAsString(), bytes = std::string(1, static_cast<char>(body.size())) + body;
  ASSERT_LT(body.size(), 128u);
  TraceReader reader = TraceReader::fromBytes(bytes);
  DecodedNode decoded;
  ASSERT_TRUE(reader.next(decoded));
  EXPECT_EQ(nodeText(decoded, ShowKinds::Yes),
            "7 INVALID \"\" duration_us=3 a:double=0.5 b:sint32=-2 c:fixed64=18446744073709551615 d:bool=true "
            "e:bytes=\"\\x01 q\\\"\" f:int64_list=[1, -1] g:string_list=[] h:none=none");
}

TEST_F(TraceFiles, MalformedGroupFilesAreTheUsersFault) {
  for (const char *text : {"[]", "{\"1\": 2}", "{\"1\": [-1]}", "{"}) {
    EXPECT_FALSE(writeOutputFile(root_ + "/g.json", llvm::StringRef(text)));
    auto groups = readGroupFile(root_ + "/g.json");
    ASSERT_FALSE(bool(groups));
    EXPECT_EQ(llvm::errorToErrorCode(groups.takeError()), std::make_error_code(std::errc::invalid_argument));
  }
}

} // namespace
