//===- LargeTraceTest.cpp - traces of more than 2 GiB a rank ----------------===//
// In memory (/dev/shm), where there is enough of it: 2^31 is passed in the bundle, in
// a rank of it, and in a file.

#include "stg/Bundle/Bundle.h"
#include "stg/Chakra/BundleWriter.h"
#include "stg/Chakra/ExtractBundle.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <unistd.h>

using namespace stg;

namespace {

constexpr uint64_t kSegments = 513, kFileBytes = kSegments * kSegmentBytes;
static_assert(kFileBytes > uint64_t{1} << 31);

class LargeTrace : public testing::Test {
protected:
  void SetUp() override {
    llvm::ErrorOr<llvm::sys::fs::space_info> space = llvm::sys::fs::disk_space("/dev/shm");
    if (!space || space->available < 3 * kFileBytes)
      GTEST_SKIP() << "needs 6 GiB in /dev/shm";
    root = "/dev/shm/stg-large-trace-" + std::to_string(getpid());
    ASSERT_FALSE(llvm::sys::fs::create_directory(root));
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root); }
  std::string root;
};

/// A segment of ones, with the rank at its end.
std::vector<char> expectedEnd(uint32_t rank) {
  std::vector<char> end(8, 1);
  bundle::putRank(end.data() + 3, rank);
  return end;
}

TEST_F(LargeTrace, OffsetsBeyond31BitsAreReadAndExtracted) {
  bundle::TraceInfo trace;
  trace.prefix = "large";
  trace.worldSize = 300;
  trace.classes.push_back({.ranks = {0, {{1, 300, 1}}}, .fields = {}, .segments = {}});
  auto writer = BundleWriter::create(root + "/b.stgb");
  ASSERT_TRUE(bool(writer));
  EXPECT_FALSE((*writer)->begin(trace));
  std::vector<char> bytes(kSegmentBytes, 1);
  bundle::FieldPatch patch{.offset = kSegmentBytes - 5, .field = 0};
  bundle::RankField field;
  for (uint64_t i = 0; i < kSegments; ++i)
    ASSERT_FALSE((*writer)->take(0, {.start = i * kSegmentBytes,
                                     .bytes = bytes,
                                     .patches = patch,
                                     .fields = field,
                                     .nodes = 1,
                                     .isLast = i + 1 == kSegments}));
  EXPECT_FALSE((*writer)->end());
  ASSERT_FALSE((*writer)->commit());

  bundle::BundleError error;
  auto bundle = bundle::Bundle::open(root + "/b.stgb", error);
  ASSERT_TRUE(bundle) << error.what;
  const bundle::TraceInfo &read = bundle->traces()[0];
  EXPECT_EQ(bundle::Bundle::fileSize(read, 299), kFileBytes);
  std::vector<char> end(8);
  EXPECT_EQ(bundle->read(read, 299, kFileBytes - 8, end, error), 8u);
  EXPECT_EQ(end, expectedEnd(299));

  SourceManager sources;
  Diagnostics diags(sources);
  std::string text;
  llvm::raw_string_ostream out(text);
  ExtractOptions options{.bundle = root + "/b.stgb", .output = root + "/out", .threads = 2};
  options.directory.ranks.list = {{299, 299}};
  ASSERT_EQ(extractBundle(options, out, diags), ExitStatus::Done);
  uint64_t size = 0;
  std::string path = root + "/out/large.299.et";
  ASSERT_FALSE(llvm::sys::fs::file_size(path, size));
  EXPECT_EQ(size, kFileBytes);
  for (uint64_t at : {uint64_t{kSegmentBytes}, uint64_t{1} << 31, kFileBytes}) {
    auto slice = llvm::MemoryBuffer::getFileSlice(path, 8, at - 8);
    ASSERT_TRUE(bool(slice));
    std::vector<char> expected = expectedEnd(299);
    EXPECT_EQ((*slice)->getBuffer(), llvm::StringRef(expected.data(), expected.size())) << at;
  }
}

} // namespace
