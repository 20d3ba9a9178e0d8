#include "files/whole_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "files/mapped_file.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

constexpr int64_t kMost = 1 << 20;

TEST(WholeFile, FilesAndPipesAreReadToTheirEnd) {
  const ScratchDirectory scratch;
  const std::string text(300000, 't');
  EXPECT_EQ(read_whole_file(scratch.write("a", text), kMost), text);
  EXPECT_EQ(read_whole_file(scratch.write("empty", ""), kMost), "");
  const std::string pipe = scratch.file("pipe");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  std::thread writer([&] { write_text(pipe, text); });
  EXPECT_EQ(read_whole_file(pipe, kMost), text);
  writer.join();
}

TEST(WholeFile, WhatHasNoEndIsRefused) {
  const ScratchDirectory scratch;
  const auto reason = [](const std::string& path) {
    try {
      read_whole_file(path, 5);
    } catch (const ReadError& error) {
      return error.reason();
    }
    return std::string("read");
  };
  EXPECT_EQ(reason("/dev/zero"), "it is neither a regular file nor a pipe");
  EXPECT_EQ(reason(scratch.path()), "Is a directory");
  EXPECT_EQ(reason(scratch.file("none")), "No such file or directory");
  EXPECT_EQ(reason(scratch.write("six", "123456")), "it is larger than 5 bytes");
  EXPECT_EQ(reason(scratch.write("five", "12345")), "read");
}

}  // namespace
}  // namespace headroom
