//===- EncoderTest.cpp - our encoder against protobuf's serialiser --------===//

#include "stg/Chakra/Encoder.h"
#include "et_def.pb.h"
#include "fmt/format.h"
#include "gtest/gtest.h"
#include <random>

using namespace stg;

namespace {

ChakraProtoMsg::AttributeProto *attribute(ChakraProtoMsg::Node &node, const char *name) {
  auto *attribute = node.add_attr();
  attribute->set_name(name);
  return attribute;
}

/// Length and message as protobuf writes them.
std::string framed(const ChakraProtoMsg::Node &node) {
  std::string bytes;
  uint64_t length = node.ByteSizeLong();
  for (; length >= 0x80; length >>= 7)
    bytes += static_cast<char>(length | 0x80);
  bytes += static_cast<char>(length);
  return bytes + node.SerializeAsString();
}

ChakraProtoMsg::Node parseOne(llvm::StringRef bytes) {
  unsigned lengthBytes = 1;
  while (bytes[lengthBytes - 1] & 0x80)
    ++lengthBytes;
  ChakraProtoMsg::Node node;
  EXPECT_TRUE(node.ParseFromArray(bytes.data() + lengthBytes, static_cast<int>(bytes.size() - lengthBytes)));
  return node;
}

TEST(Encoder, ComputeNodeIsByteIdenticalToProtobuf) {
  std::mt19937_64 random(1);
  NodeEncoder encoder({});
  std::string expected;
  for (unsigned i = 0; i < 2000; ++i) {
    // Short names give messages of under 128 bytes, long ones of over 16383: all lengths of the length.
    std::string name(i % 500 == 7 ? 20000 : random() % 60, 'x');
    std::vector<uint64_t> data(random() % 4), ctrl(random() % 3);
    for (uint64_t &dep : data)
      dep = random() >> (random() % 64);
    for (uint64_t &dep : ctrl)
      dep = random() >> (random() % 64);
    TraceNode node{
        .id = random() >> (random() % 64), .name = name, .opType = "contract", .dataDeps = data, .ctrlDeps = ctrl};
    node.flops = random() >> (1 + random() % 63);
    node.bytes = random() >> (random() % 64);
    encoder.append(node);

    ChakraProtoMsg::Node proto;
    proto.set_id(node.id);
    proto.set_name(name);
    proto.set_type(ChakraProtoMsg::COMP_NODE);
    proto.mutable_data_deps()->Add(data.begin(), data.end());
    proto.mutable_ctrl_deps()->Add(ctrl.begin(), ctrl.end());
    attribute(proto, "is_cpu_op")->set_bool_val(false);
    attribute(proto, "num_ops")->set_int64_val(static_cast<int64_t>(node.flops));
    attribute(proto, "tensor_size")->set_uint64_val(node.bytes);
    attribute(proto, "op_type")->set_string_val("contract");
    expected += framed(proto);
  }
  EXPECT_EQ(encoder.bytes(), expected);
  EXPECT_EQ(encoder.nodes(), 2000u);
}

TEST(Encoder, FullAnnotationsAreByteIdenticalToProtobuf) {
  int64_t extents[] = {4096, 128, 1};
  TraceTensor inputs[] = {{"h.x", 4096}, {"w", 18446744073709551615u}};
  TraceAnnotations annotations{.extents = extents,
                               .dtype = "bf16",
                               .part = "forward",
                               .microBatch = 3,
                               .source = "std/ffn.stg:18",
                               .inputs = inputs,
                               .outputs = {}};
  TraceNode node{.id = 5, .name = "F3:h.y", .flops = 1, .bytes = 2, .annotations = &annotations};

  ChakraProtoMsg::Node proto;
  proto.set_id(5);
  proto.set_name("F3:h.y");
  proto.set_type(ChakraProtoMsg::COMP_NODE);
  attribute(proto, "is_cpu_op")->set_bool_val(false);
  attribute(proto, "num_ops")->set_int64_val(1);
  attribute(proto, "tensor_size")->set_uint64_val(2);
  for (int64_t extent : extents)
    (proto.attr_size() == 4 ? proto.mutable_attr(3) : attribute(proto, "stg.extents"))
        ->mutable_int64_list()
        ->add_values(extent);
  attribute(proto, "stg.dtype")->set_string_val("bf16");
  attribute(proto, "stg.part")->set_string_val("forward");
  attribute(proto, "stg.micro_batch")->set_int64_val(3);
  attribute(proto, "stg.source")->set_string_val("std/ffn.stg:18");
  auto *list = attribute(proto, "inputs")->mutable_string_list();
  for (const char *text : {"h.x", "4096", "w", "18446744073709551615"})
    list->add_values(text);
  attribute(proto, "outputs")->mutable_string_list();

  NodeEncoder encoder({.annotate = Annotate::Full});
  encoder.append(node);
  EXPECT_EQ(encoder.bytes(), framed(proto));
}

TEST(Encoder, AnnotateNoneLeavesOutTheOpType) {
  NodeEncoder encoder({.annotate = Annotate::None});
  encoder.append({.id = 1, .name = "n", .opType = "map", .flops = 1, .bytes = 1});
  EXPECT_EQ(parseOne(encoder.bytes()).attr_size(), 3);
}

TEST(Encoder, OrderCanBeWrittenAsData) {
  uint64_t data[] = {1, 2}, ctrl[] = {3};
  NodeEncoder encoder({.orderDeps = OrderDeps::Data});
  encoder.append({.id = 4, .name = "n", .dataDeps = data, .ctrlDeps = ctrl, .flops = 1, .bytes = 1});
  ChakraProtoMsg::Node node = parseOne(encoder.bytes());
  EXPECT_EQ(node.ctrl_deps_size(), 0);
  EXPECT_EQ(std::vector<uint64_t>(node.data_deps().begin(), node.data_deps().end()), (std::vector<uint64_t>{1, 2, 3}));
}

TEST(Encoder, FieldsThatDependOnTheRankHaveAFixedWidth) {
  size_t width = 0;
  for (uint32_t rank : {0u, 1u, 300u, 131071u}) {
    NodeEncoder encoder({.groupDigits = 7});
    encoder.append({.id = 1,
                    .kind = TraceNodeKind::Send,
                    .name = "s",
                    .bytes = 8,
                    .sourceRank = rank,
                    .destinationRank = rank + 1,
                    .tag = 9});
    ChakraProtoMsg::Node send = parseOne(encoder.bytes());
    EXPECT_EQ(send.attr(2).name(), "comm_src");
    EXPECT_EQ(send.attr(2).int32_val(), static_cast<int32_t>(rank));
    EXPECT_EQ(send.attr(3).int32_val(), static_cast<int32_t>(rank + 1));

    NodeEncoder collectives({.groupDigits = 7});
    collectives.append({.id = 1,
                        .kind = TraceNodeKind::Collective,
                        .name = "c",
                        .bytes = 8,
                        .collective = TraceCollective::AllGather,
                        .group = rank + 1});
    ChakraProtoMsg::Node gather = parseOne(collectives.bytes());
    EXPECT_EQ(gather.attr(1).int64_val(), 2);
    EXPECT_EQ(gather.attr(3).string_val(), fmt::format("{:07}", rank + 1));

    size_t total = encoder.bytes().size() + collectives.bytes().size();
    EXPECT_TRUE(width == 0 || width == total);
    width = total;
  }
}

TEST(Encoder, MetadataHasTheSameLengthForEveryRank) {
  TraceMetadata metadata{
      .compilerVersion = "0.1.0", .rank = 0, .worldSize = 131072, .mesh = "dp 131072", .programHash = "abc"};
  std::string first = encodeMetadata(metadata);
  metadata.rank = 131071;
  std::string last = encodeMetadata(metadata);
  EXPECT_EQ(first.size(), last.size());
  ChakraProtoMsg::GlobalMetadata parsed;
  ASSERT_TRUE(parsed.ParseFromArray(last.data() + 2, static_cast<int>(last.size() - 2)));
  EXPECT_EQ(parsed.version(), "0.0.4");
  EXPECT_EQ(parsed.attr(2).name(), "rank");
  EXPECT_EQ(parsed.attr(2).uint32_val(), 131071u);
}

} // namespace
