#include "files/same_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SameFile : public testing::Test {
 protected:
  SameFile() {
    scratch_.write("a", "bytes");
    fs::create_directory(at("folder"));
    fs::create_symlink("a", at("link"));
    fs::create_hard_link(at("a"), at("hard"));
    fs::create_symlink("new", at("dangling"));
    fs::create_directory_symlink("folder", at("folder_link"));
  }
  std::string at(const std::string& name) const { return scratch_.file(name); }
  bool same(const std::string& a, const std::string& b) const {
    return file_identity(at(a)) == file_identity(at(b));
  }

  ScratchDirectory scratch_;
};

TEST_F(SameFile, IsSeenThroughLinksAndSpellings) {
  for (const char* name : {"link", "hard", "./a", "folder/../a", ".//a"}) {
    EXPECT_TRUE(same("a", name)) << name;
  }
  EXPECT_FALSE(same("a", "folder"));
}

TEST_F(SameFile, IsSeenBeforeItExists) {
  for (const char* name : {"./new", "folder/../new", "dangling"}) {
    EXPECT_TRUE(same("new", name)) << name;
  }
  EXPECT_TRUE(same("folder/new", "folder_link/new"));
  EXPECT_FALSE(same("new", "folder/new"));
  EXPECT_FALSE(same("new", "newer"));
  EXPECT_TRUE(same("nowhere/new", "nowhere/new"));
}

TEST_F(SameFile, DevicesMayBeWrittenTwice) {
  EXPECT_EQ(file_identity("/dev/null"), std::nullopt);
  EXPECT_NO_THROW(check_apart({{"--in", "/dev/null"}}, {{"--a", "/dev/null"}, {"", "/dev/null"}}));
}

TEST_F(SameFile, WhatIsReadIsNotWritten) {
  EXPECT_NO_THROW(check_apart({{"--in", at("a")}, {"--too", at("a")}}, {{"--out", at("new")}}));
  const std::string line = message_of<UsageError>([&] {
    check_apart({{"--in", at("a")}}, {{"--out", at("hard")}});
  });
  EXPECT_THAT(line, HasSubstr("--out: '" + at("hard") + "' is the file that --in reads; allowed"));
  const std::string other = message_of<UsageError>([&] {
    check_apart({{"", at("a")}}, {{"--out", at("link")}});
  });
  EXPECT_THAT(other, HasSubstr("is the file that is read, " + at("a")));
}

TEST_F(SameFile, NothingIsWrittenTwice) {
  const std::string line = message_of<UsageError>([&] {
    check_apart({}, {{"--out", at("new")}, {"--save", at("dangling")}});
  });
  EXPECT_THAT(line, HasSubstr("is the file that --out writes"));
}

TEST_F(SameFile, StdoutInAFileIsOneOfTheOutputs) {
  const int before = dup(STDOUT_FILENO);
  ASSERT_NE(freopen(at("out").c_str(), "w", stdout), nullptr);
  std::string read;
  std::string written;
  try {
    check_apart({{"--in", at("out")}}, {});
  } catch (const UsageError& error) {
    read = error.what();
  }
  try {
    check_apart({}, {{"--out", at("./out")}});
  } catch (const UsageError& error) {
    written = error.what();
  }
  const auto by_name = [] { check_apart({}, {{"--out", "/dev/stdout"}}); };
  EXPECT_NO_THROW(by_name());
  fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  EXPECT_THAT(read, HasSubstr("is read, and stdout is redirected into it"));
  EXPECT_THAT(written, HasSubstr("is where stdout goes"));
}

}  // namespace
}  // namespace headroom
