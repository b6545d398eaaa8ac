//===- SourceManagerTest.cpp - files, offsets, lines and columns ----------===//
#include "stg/Support/SourceManager.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

using namespace stg;

namespace {

TEST(SourceManager, columnsCountCodePoints) {
  SourceManager sources;
  FileId file = sources.addBuffer("a.stg", "ab\né層x\r\n");
  EXPECT_EQ(sources.lineColumn(file, 0), (LineColumn{1, 1}));
  EXPECT_EQ(sources.lineColumn(file, 2), (LineColumn{1, 3}));
  EXPECT_EQ(sources.lineColumn(file, 3), (LineColumn{2, 1}));
  EXPECT_EQ(sources.lineColumn(file, 8), (LineColumn{2, 3}));
  EXPECT_EQ(sources.lineColumn(file, 11), (LineColumn{3, 1}));
  EXPECT_EQ(sources.lineText(file, 2), "é層x");
  EXPECT_EQ(sources.numLines(file), 3u);
  for (uint32_t offset : {0u, 1u, 2u, 3u, 5u, 8u, 11u})
    EXPECT_EQ(sources.offsetOf(file, sources.lineColumn(file, offset)), offset);
  EXPECT_EQ(sources.offsetOf(file, {1, 99}), 2u);
  EXPECT_EQ(sources.describe({file, 5, 8}), "a.stg:2:2");
}

TEST(SourceManager, byteOrderMarkIsNoColumn) {
  SourceManager sources;
  FileId file = sources.addBuffer("a.stg", "\xEF\xBB\xBFx");
  EXPECT_EQ(sources.lineColumn(file, 3), (LineColumn{1, 1}));
  EXPECT_EQ(sources.offsetOf(file, {1, 1}), 3u);
}

TEST(SourceManager, emptyTextHasOneLine) {
  SourceManager sources;
  FileId file = sources.addBuffer("a.stg", "");
  EXPECT_EQ(sources.numLines(file), 1u);
  EXPECT_EQ(sources.lineColumn(file, 0), (LineColumn{1, 1}));
  EXPECT_EQ(sources.lineText(file, 1), "");
}

class SourceManagerOnDisk : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "stg-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::string write(llvm::StringRef name, llvm::StringRef text) {
    std::string path = (directory / name.str()).string();
    std::ofstream(path, std::ios::binary) << text.str();
    return path;
  }

  std::filesystem::path directory;
  SourceManager sources;
};

TEST_F(SourceManagerOnDisk, addsAFileOnce) {
  std::string path = write("a.stg", "stg 1\n");
  LoadResult first = sources.addFile(path);
  ASSERT_EQ(first.status, LoadStatus::Loaded);
  EXPECT_EQ(sources.text(first.file), "stg 1\n");
  EXPECT_EQ(sources.path(first.file), path);
  EXPECT_EQ(sources.addFile(path).file, first.file);
  EXPECT_EQ(sources.numFiles(), 1u);
}

TEST_F(SourceManagerOnDisk, saysWhyNot) {
  LoadResult missing = sources.addFile((directory / "none.stg").string());
  EXPECT_EQ(missing.status, LoadStatus::Unreadable);
  EXPECT_EQ(missing.reason, "No such file or directory");
  LoadResult folder = sources.addFile(directory.string());
  EXPECT_EQ(folder.status, LoadStatus::Unreadable);
  EXPECT_EQ(folder.reason, "Is a directory");
  LoadResult latin1 = sources.addFile(write("l.stg", "x = \"caf\xE9\"\n"));
  EXPECT_EQ(latin1.status, LoadStatus::NotUtf8);
  EXPECT_EQ(latin1.badByte, 8u);
  EXPECT_EQ(sources.numFiles(), 0u);
}

} // namespace
