#include "files/lock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

// A process that holds the lock of a file until it is told to end, or is killed.
class Holder {
 public:
  explicit Holder(const std::string& path) {
    EXPECT_EQ(pipe(said_.data()), 0);
    EXPECT_EQ(pipe(told_.data()), 0);
    process_ = fork();
    if (process_ == 0) hold(path);
    char byte = 0;
    EXPECT_EQ(read(said_[0], &byte, 1), 1) << "it has the lock";
  }
  ~Holder() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
    for (const int end : {said_[0], said_[1], told_[0], told_[1]}) close(end);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;

  void let_go() { EXPECT_EQ(write(told_[1], "x", 1), 1); }

 private:
  [[noreturn]] void hold(const std::string& path) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    if (flock(file, LOCK_EX) != 0 || write(said_[1], "x", 1) != 1) _exit(1);
    char byte = 0;
    if (read(told_[0], &byte, 1) == 1) usleep(300'000);  // as freeing memory takes time
    _exit(0);
  }
  std::array<int, 2> said_ = {};
  std::array<int, 2> told_ = {};
  pid_t process_ = 0;
};

TEST(Lock, WhatAnEndingProcessHasIsWaitedFor) {
  const ScratchDirectory directory;
  Holder holder(directory.file("lock"));
  const int file = open(directory.file("lock").c_str(), O_RDWR);
  holder.let_go();
  EXPECT_EQ(lock_file(file), 0);
  close(file);
}

TEST(Lock, WhatAnotherProcessKeepsIsRefused) {
  const ScratchDirectory directory;
  const Holder holder(directory.file("lock"));
  const int file = open(directory.file("lock").c_str(), O_RDWR);
  EXPECT_EQ(lock_file(file), EWOULDBLOCK);
  close(file);
}

}  // namespace
}  // namespace headroom
