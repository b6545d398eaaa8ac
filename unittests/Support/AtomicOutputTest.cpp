//===- AtomicOutputTest.cpp - whole or not at all -------------------------===//

#include "stg/Support/AtomicOutput.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <csignal>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace stg;

namespace {

class AtomicOutput : public testing::Test {
protected:
  void SetUp() override {
    llvm::SmallString<128> path;
    ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("atomic-output", path));
    root_ = std::string(path);
  }
  void TearDown() override { llvm::sys::fs::remove_directories(root_); }

  std::string at(llvm::StringRef name) { return root_ + "/" + name.str(); }
  static std::string read(const std::string &path) {
    auto file = llvm::MemoryBuffer::getFile(path);
    return file ? (*file)->getBuffer().str() : "(unreadable)";
  }
  /// Everything in the test's directory, one level.
  std::vector<std::string> entries() {
    std::vector<std::string> names;
    std::error_code error;
    for (llvm::sys::fs::directory_iterator it(root_, error), end; it != end && !error; it.increment(error))
      names.push_back(it->path().substr(root_.size() + 1));
    llvm::sort(names);
    return names;
  }
  using Names = std::vector<std::string>;

  std::string root_;
};

bool anything(llvm::StringRef) { return true; }
bool onlyTraces(llvm::StringRef name) { return name.ends_with(".et"); }

TEST_F(AtomicOutput, DirectoryAppearsAtCommit) {
  auto output = OutputDirectory::create(at("a/b/out"), anything);
  ASSERT_TRUE(bool(output));
  EXPECT_FALSE(output->writeFile("x.0.et", {"head", "", "tail"}));
  EXPECT_FALSE(output->writeFile("sub/y.json", {"{}"}));
  EXPECT_FALSE(llvm::sys::fs::exists(at("a/b/out")));
  EXPECT_FALSE(output->commit());
  EXPECT_EQ(read(at("a/b/out/x.0.et")), "headtail");
  EXPECT_EQ(read(at("a/b/out/sub/y.json")), "{}");
}

TEST_F(AtomicOutput, NothingStaysWithoutCommit) {
  {
    auto output = OutputDirectory::create(at("a/b/out"), anything);
    ASSERT_TRUE(bool(output));
    EXPECT_FALSE(output->writeFile("sub/x.0.et", {"text"}));
  }
  EXPECT_EQ(entries(), Names());
}

TEST_F(AtomicOutput, EarlierOutputIsReplacedAsAWhole) {
  for (const char *name : {"old.0.et", "new.0.et"}) {
    auto output = OutputDirectory::create(at("out/"), onlyTraces);
    ASSERT_TRUE(bool(output));
    EXPECT_FALSE(output->writeFile(name, {"text"}));
    EXPECT_FALSE(output->commit());
  }
  EXPECT_EQ(entries(), Names{"out"});
  EXPECT_FALSE(llvm::sys::fs::exists(at("out/old.0.et")));
  EXPECT_TRUE(llvm::sys::fs::exists(at("out/new.0.et")));
}

TEST_F(AtomicOutput, ForeignFilesAreNotDestroyed) {
  llvm::sys::fs::create_directories(at("out/deep"));
  EXPECT_FALSE(writeOutputFile(at("out/deep/thesis.tex"), {"work of years"}));
  auto output = OutputDirectory::create(at("out"), onlyTraces);
  ASSERT_FALSE(bool(output));
  std::string message = llvm::toString(output.takeError());
  EXPECT_NE(message.find("`deep/thesis.tex`"), std::string::npos) << message;
  EXPECT_EQ(read(at("out/deep/thesis.tex")), "work of years");
}

TEST_F(AtomicOutput, CurrentDirectoryIsNotPulledAway) {
  llvm::SmallString<128> current;
  llvm::sys::fs::current_path(current);
  auto output = OutputDirectory::create(".", anything);
  ASSERT_FALSE(bool(output));
  EXPECT_NE(llvm::toString(output.takeError()).find("current directory"), std::string::npos);
}

TEST_F(AtomicOutput, FullDiskIsAnErrorThatNamesTheFile) {
  // A limit on the size of files stands in for a full disk.
  struct rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = {4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  {
    auto output = OutputDirectory::create(at("out"), anything);
    ASSERT_TRUE(bool(output));
    std::string big(10000, 'x');
    llvm::Error error = output->writeFile("big.0.et", llvm::StringRef(big));
    ASSERT_TRUE(bool(error));
    std::string message = llvm::toString(std::move(error));
    EXPECT_NE(message.find("out/big.0.et"), std::string::npos) << message;
  }
  std::string big(10000, 'x');
  llvm::Error error = writeOutputFile(at("one.json"), llvm::StringRef(big));
  EXPECT_TRUE(bool(error));
  llvm::consumeError(std::move(error));
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, ignored);
  EXPECT_EQ(entries(), Names());
}

TEST_F(AtomicOutput, ASignalRemovesWhatIsUnfinished) {
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    pid_t child = fork();
    if (child == 0) {
      auto output = OutputDirectory::create(at("out"), anything);
      if (!output)
        _exit(1);
      for (int i = 0; i < 300; ++i)
        if (output->writeFile("sub/" + std::to_string(i) + ".et", {"text"}))
          _exit(2);
      raise(signal);
      _exit(3);
    }
    int status;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == signal);
    EXPECT_EQ(entries(), Names());
  }
}

TEST_F(AtomicOutput, FileIsReplacedAtOnce) {
  EXPECT_FALSE(writeOutputFile(at("r.json"), {"one"}));
  EXPECT_FALSE(writeOutputFile(at("r.json"), {"two", "three"}));
  EXPECT_EQ(read(at("r.json")), "twothree");
  EXPECT_EQ(entries(), Names{"r.json"});
}

TEST_F(AtomicOutput, DevicesAreWrittenInPlace) {
  EXPECT_FALSE(writeOutputFile("/dev/null", {"text"}));
  llvm::Error full = writeOutputFile("/dev/full", {"text"});
  ASSERT_TRUE(bool(full));
  EXPECT_EQ(llvm::toString(std::move(full)), "cannot write `/dev/full`: No space left on device");
}

TEST_F(AtomicOutput, SlicesOfOneDirectoryMeet) {
  llvm::sys::fs::create_directories(at("out"));
  ASSERT_FALSE(writeOutputFile(at("out/x.9.et"), llvm::StringRef("earlier")));
  auto one = OutputDirectory::createSlice(at("out")), two = OutputDirectory::createSlice(at("out"));
  ASSERT_TRUE(one && two);
  EXPECT_FALSE(one->writeFile("sub/x.0.et", {"zero"}));
  EXPECT_FALSE(two->writeFile("sub/x.1.et", {"one"}));
  EXPECT_FALSE(one->writeFile("groups.json", {"{}"}));
  EXPECT_FALSE(two->writeFile("groups.json", {"{}"}));
  EXPECT_FALSE(llvm::sys::fs::exists(at("out/sub")));
  EXPECT_FALSE(one->commit());
  EXPECT_FALSE(two->commit());
  EXPECT_EQ(read(at("out/sub/x.0.et")), "zero");
  EXPECT_EQ(read(at("out/sub/x.1.et")), "one");
  EXPECT_EQ(read(at("out/x.9.et")), "earlier");
  std::vector<std::string> names;
  std::error_code error;
  for (llvm::sys::fs::directory_iterator it(at("out"), error), end; it != end && !error; it.increment(error))
    names.push_back(it->path().substr(at("out/").size()));
  llvm::sort(names);
  EXPECT_EQ(names, (Names{"groups.json", "sub", "x.9.et"}));
}

TEST_F(AtomicOutput, ASliceThatFailsTakesBackWhatItMade) {
  {
    auto slice = OutputDirectory::createSlice(at("a/out"));
    ASSERT_TRUE(bool(slice));
    EXPECT_FALSE(slice->writeFile("x.0.et", {"zero"}));
  }
  EXPECT_EQ(entries(), Names{});
}

TEST_F(AtomicOutput, AFileHasSeveralNames) {
  auto output = OutputDirectory::create(at("out"), anything);
  ASSERT_TRUE(bool(output));
  EXPECT_FALSE(output->writeFile("x.0.et", {"zero"}));
  EXPECT_TRUE(output->linkFile("x.0.et", "x.1.et"));
  EXPECT_FALSE(output->linkFile("x.0.et", "x.1.et"));
  EXPECT_FALSE(output->linkFile("x.2.et", "x.3.et"));
  EXPECT_FALSE(output->sync());
  EXPECT_FALSE(output->commit());
  EXPECT_EQ(read(at("out/x.1.et")), "zero");
}

} // namespace
