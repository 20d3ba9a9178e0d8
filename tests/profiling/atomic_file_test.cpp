#include "profiling/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace headroom {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public testing::Test {
 protected:
  void SetUp() override {
    directory_ = fs::path(testing::TempDir()) / ("atomic_file." + std::to_string(getpid()));
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::string at(const std::string& name) const { return (directory_ / name).string(); }
  static std::string read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  int64_t files() const {
    return std::distance(fs::directory_iterator(directory_), fs::directory_iterator());
  }

  fs::path directory_;
};

TEST_F(AtomicFile, ReplacesTheWholeFileAndKeepsItsPermissions) {
  write_file_atomically(at("a"), "first and longer");
  chmod(at("a").c_str(), 0640);
  write_file_atomically(at("a"), "second");
  EXPECT_EQ(read(at("a")), "second");
  struct stat status {};
  stat(at("a").c_str(), &status);
  EXPECT_EQ(status.st_mode & 0777, 0640);
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, ASymbolicLinkStaysALink) {
  write_file_atomically(at("target"), "old");
  fs::create_symlink("target", at("link"));
  write_file_atomically(at("link"), "new");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read(at("target")), "new");
}

TEST_F(AtomicFile, AFullDeviceIsAnErrorAndIsStillADeviceAfterwards) {
  EXPECT_THROW(write_file_atomically("/dev/full", "text"), std::runtime_error);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_NO_THROW(check_writable("/dev/full"));
}

// The file-size limit stands in for a full disk: the same write fails in the same place.
TEST_F(AtomicFile, ADiskThatFillsUpLeavesTheOldFileAndNothingElse) {
  write_file_atomically(at("a"), "old");
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file_atomically(at("a"), std::string(100000, 'x')), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read(at("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, APlaceThatCannotBeWrittenIsKnownBeforehand) {
  EXPECT_THROW(check_writable(at("missing/a")), std::runtime_error);
  EXPECT_THROW(check_writable(directory_.string()), std::runtime_error);
  EXPECT_NO_THROW(check_writable(at("a")));
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace headroom
