#include "files/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <thread>

#include "files/mapped_file.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> lines_of(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  return lines;
}

TEST(LineReader, GivesEveryLineWithOrWithoutALastNewline) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("text");
  write_text(path, "");
  EXPECT_THAT(lines_of(path), IsEmpty());
  write_text(path, "a\n\nb\n");
  EXPECT_THAT(lines_of(path), ElementsAre("a", "", "b"));
  write_text(path, "a\nb");
  EXPECT_THAT(lines_of(path), ElementsAre("a", "b"));
}

TEST(LineReader, LinesLongerThanWhatIsReadAtOnceAreWhole) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("text");
  std::vector<std::string> expected;
  std::string text;
  for (const size_t size :
       {size_t{10}, size_t{3} << 20, size_t{1} << 20, size_t{0}, size_t{9} << 20}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    text += expected.back() + "\n";
  }
  write_text(path, text);
  EXPECT_EQ(lines_of(path), expected);
}

TEST(LineReader, ALineBeyondAllMeasureIsCutOffAndTheNextOneFollows) {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("text");
  {
    std::ofstream file(path, std::ios::binary);
    const std::string part(size_t{1} << 20, 'x');
    for (size_t i = 0; i < 70; ++i) file << part;
    file << "\nafter\n";
  }
  LineReader reader(path);
  std::string_view line;
  ASSERT_TRUE(reader.next(line));
  EXPECT_TRUE(reader.cut_off());
  EXPECT_EQ(line, "");
  ASSERT_TRUE(reader.next(line));
  EXPECT_FALSE(reader.cut_off());
  EXPECT_EQ(line, "after");
  EXPECT_EQ(reader.number(), 2);
  EXPECT_FALSE(reader.next(line));
}

TEST(LineReader, AFolderIsNotRead) {
  const ScratchDirectory scratch;
  EXPECT_THROW(LineReader reader(scratch.path()), ReadError);
  EXPECT_THROW(LineReader reader(scratch.file("none")), ReadError);
}

// /proc/self/mem opens but fails at the first byte, like a failing disk.
TEST(LineReader, AnErrorIsNoEndOfFile) {
  LineReader reader("/proc/self/mem");
  std::string_view line;
  EXPECT_THROW(reader.next(line), BrokenInput);
}

}  // namespace
}  // namespace headroom
