#include "files/first_byte.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <string>

namespace headroom {
namespace {

TEST(FirstByte, OfAFile) {
  const std::string path = testing::TempDir() + "first_byte";
  std::ofstream(path) << "\x80\x04";
  EXPECT_EQ(first_byte(path), '\x80');
  std::ofstream(path, std::ios::trunc).flush();
  EXPECT_EQ(first_byte(path), std::nullopt);
  EXPECT_EQ(first_byte(path + "_missing"), std::nullopt);
  EXPECT_EQ(first_byte(testing::TempDir()), std::nullopt);
}

TEST(FirstByte, OfAPipeStaysInIt) {
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe(pipe_ends.data()), 0);
  ASSERT_EQ(write(pipe_ends[1], "{}", 2), 2);
  EXPECT_EQ(first_byte("/dev/fd/" + std::to_string(pipe_ends[0])), '{');
  std::array<char, 2> bytes{};
  EXPECT_EQ(read(pipe_ends[0], bytes.data(), 2), 2);
  EXPECT_EQ(std::string(bytes.data(), 2), "{}");
  close(pipe_ends[1]);
  EXPECT_EQ(first_byte("/dev/fd/" + std::to_string(pipe_ends[0])), std::nullopt);
  close(pipe_ends[0]);
}

// Opened twice, it would lose its writer in between; opened without a writer, it would wait.
TEST(FirstByte, OfANamedPipeIsNotRead) {
  const std::string path = testing::TempDir() + "first_byte_pipe";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(first_byte(path), std::nullopt);
  unlink(path.c_str());
}

}  // namespace
}  // namespace headroom
