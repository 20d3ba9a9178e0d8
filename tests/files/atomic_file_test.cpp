#include "files/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>
#include <filesystem>

#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

class AtomicFile : public testing::Test {
 protected:
  std::string at(const std::string& name) const { return directory_.file(name); }
  int64_t files() const {
    return std::distance(fs::directory_iterator(directory_.path()), fs::directory_iterator());
  }

  ScratchDirectory directory_;
};

TEST_F(AtomicFile, ReplacesTheWholeFileAndKeepsItsPermissions) {
  write_file_atomically(at("a"), "first and longer");
  chmod(at("a").c_str(), 0640);
  write_file_atomically(at("a"), "second");
  EXPECT_EQ(read_text(at("a")), "second");
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
  EXPECT_EQ(read_text(at("target")), "new");
}

TEST_F(AtomicFile, AFullDeviceIsAnErrorAndIsStillADeviceAfterwards) {
  EXPECT_THROW(write_file_atomically("/dev/full", "text"), std::runtime_error);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_NO_THROW(check_writable("/dev/full"));
}

// The file size limit simulates a full disk: the same write fails in the same place.
TEST_F(AtomicFile, ADiskThatFillsUpLeavesTheOldFileAndNothingElse) {
  write_file_atomically(at("a"), "old");
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{4096, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file_atomically(at("a"), std::string(100000, 'x')), std::runtime_error);
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(read_text(at("a")), "old");
  EXPECT_EQ(files(), 1);
}

TEST_F(AtomicFile, APlaceThatCannotBeWrittenIsKnownBeforehand) {
  EXPECT_THROW(check_writable(at("missing/a")), std::runtime_error);
  EXPECT_THROW(check_writable(directory_.path()), std::runtime_error);
  EXPECT_NO_THROW(check_writable(at("a")));
  EXPECT_EQ(files(), 0);
}

}  // namespace
}  // namespace headroom
