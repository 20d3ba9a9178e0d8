#include "files/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

class MappedFiles : public testing::Test {
 protected:
  std::string refusal(const std::string& path) const {
    try {
      const MappedFile file(path);
    } catch (const ReadError& error) {
      EXPECT_EQ(error.what(), "cannot read " + path + ": " + error.reason());
      return error.reason();
    }
    return "it was taken";
  }

  ScratchDirectory scratch_;
};

TEST_F(MappedFiles, TheBytesAreThoseOfTheFile) {
  const std::string text("some\0bytes\n", 11);
  EXPECT_EQ(MappedFile(scratch_.write("a", text)).bytes(), text);
}

TEST_F(MappedFiles, AnEmptyFileHasNoBytes) {
  EXPECT_TRUE(MappedFile(scratch_.write("empty", "")).bytes().empty());
}

TEST_F(MappedFiles, TheBytesOutliveTheNameOfTheFile) {
  const std::string path = scratch_.write("a", "kept");
  const MappedFile file(path);
  std::remove(path.c_str());
  EXPECT_EQ(file.bytes(), "kept");
}

TEST_F(MappedFiles, WhatCannotBeReadIsRefusedWithTheReason) {
  EXPECT_EQ(refusal(scratch_.file("missing")), "No such file or directory");
  EXPECT_EQ(refusal(""), "No such file or directory");
  EXPECT_EQ(refusal(scratch_.write("a", "a") + "/b"), "Not a directory");
  EXPECT_EQ(refusal(scratch_.path()), "not a regular file");
  EXPECT_EQ(refusal("/dev/zero"), "not a regular file");
}

TEST_F(MappedFiles, APipeWithoutAWriterIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo(scratch_.file("pipe").c_str(), 0600), 0);
  EXPECT_EQ(refusal(scratch_.file("pipe")), "not a regular file");
}

TEST_F(MappedFiles, NeitherMappingsNorDescriptorsAreLeftBehind) {
  const std::string path = scratch_.write("a", std::string(10000, 'a'));
  const std::string name = path.substr(path.rfind("headroom"));  // the rest depends on the kernel
  const auto uses = [&] {
    std::ifstream maps("/proc/self/maps");
    int count = 0;
    for (std::string line; std::getline(maps, line);) count += line.ends_with(name) ? 1 : 0;
    return count;
  };
  {
    const MappedFile file(path);
    EXPECT_EQ(uses(), 1);
  }
  EXPECT_EQ(uses(), 0);
  for (int i = 0; i < 5000; ++i) const MappedFile file(path);  // more than the descriptor limit
}

}  // namespace
}  // namespace headroom
