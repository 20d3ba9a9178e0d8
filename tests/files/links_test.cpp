#include "files/links.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "files/atomic_file.h"
#include "files/replace_file.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

class Links : public testing::Test {
 protected:
  std::string link(const std::string& target, const std::string& name) const {
    std::filesystem::create_symlink(target, scratch_.file(name));
    return scratch_.file(name);
  }

  ScratchDirectory scratch_;
};

TEST_F(Links, AreFollowedToWhatNeedNotExist) {
  const std::string first = link("second", "first");
  link(scratch_.file("missing/file"), "second");
  EXPECT_EQ(follow_links(first), scratch_.file("missing/file"));
  EXPECT_EQ(with_link_target(first), first + " (a link to " + scratch_.file("missing/file") + ")");
  EXPECT_EQ(follow_links("plain"), "plain");
  EXPECT_EQ(with_link_target("plain"), "plain");
  EXPECT_NO_THROW(follow_links(link("loop", "loop")));
}

TEST_F(Links, OpenStreamsAreKnownByAllTheirNames) {
  EXPECT_EQ(named_descriptor("/dev/stdin"), 0);
  EXPECT_EQ(named_descriptor("/dev/stdout"), 1);
  EXPECT_EQ(named_descriptor("/dev/fd/2"), 2);
  EXPECT_EQ(named_descriptor("/proc/self/fd/1"), 1);
  EXPECT_EQ(named_descriptor("/proc/" + std::to_string(getpid()) + "/fd/1"), 1);
  EXPECT_EQ(named_descriptor(link("/dev/stdout", "out")), 1);
  for (const char* none : {"/dev/null", "/dev/fd/x", "/dev/fd/", "/dev/fd/999", "stdout", ""}) {
    EXPECT_EQ(named_descriptor(none), std::nullopt) << none;
  }
}

// The paths that a program sees for `>(command)` and `/dev/stdout > file`.
TEST_F(Links, AStreamIsWrittenWhereItStandsAndNeverReplaced) {
  const std::string path = scratch_.write("log", "before\n");
  const int file = open(path.c_str(), O_WRONLY | O_APPEND);
  const std::string name = "/dev/fd/" + std::to_string(file);
  EXPECT_NO_THROW(check_writable(name));
  write_file_atomically(name, "written\n");
  ASSERT_EQ(write(file, "after\n", 6), 6);
  close(file);
  EXPECT_EQ(read_text(path), "before\nwritten\nafter\n");

  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  write_file_atomically("/dev/fd/" + std::to_string(ends[1]), "through");
  char text[16] = {};
  EXPECT_EQ(read(ends[0], text, sizeof(text)), 7);
  EXPECT_STREQ(text, "through");
  EXPECT_THROW(write_file_atomically("/dev/fd/" + std::to_string(ends[0]), "x"), WriteError)
      << "the end for reading";
  close(ends[0]);
  close(ends[1]);
}

}  // namespace
}  // namespace headroom
