// A whole program with a failing disk, with a refusing kernel, and killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <random>
#include <thread>

#include "tests/files/scratch_directory.h"
#include "tests/train/offload/disk/known_states.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Ended {
  int code = 0;
  std::string output;
};

Ended run(const std::string& command) {
  Ended ended;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("no shell");
  std::array<char, 4096> text{};
  while (fgets(text.data(), text.size(), pipe) != nullptr) ended.output += text.data();
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  return ended;
}

// The program with a fault of the preloaded library.
std::string preloaded(const std::string& fault) {
  return "env HEADROOM_DISK_FAULT=" + fault +
         " ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=" FAULTY_DISK " " DISK_STATES_PROGRAM
         " ";
}

std::string program() { return DISK_STATES_PROGRAM " "; }

class DiskFaults : public testing::Test {
 protected:
  // Checks that no file is left: rmdir refuses a directory that is not empty.
  bool leaves_nothing() const {
    const bool empty = rmdir(folder_.path().c_str()) == 0;
    if (empty) mkdir(folder_.path().c_str(), 0777);
    return empty;
  }
  std::string file(const std::string& name) const {
    return folder_.file("headroom-states." + name);
  }

  ScratchDirectory folder_;
};

TEST_F(DiskFaults, ThreadsGoOnWithShortReadsAndWrites) {
  for (const char* fault : {"pread:short:2", "pwrite:short:2", "pread:short:3", "pwrite:short:5"}) {
    const Ended ended = run(preloaded(fault) + folder_.path() + " 3 threads");
    EXPECT_EQ(ended.code, 0) << fault << ": " << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("step 3\n"));
  }
}

TEST_F(DiskFaults, AnErrorOfTheDiskIsOneLineAndLeavesNothing) {
  for (const char* fault : {"pread:eio:20", "pwrite:eio:60", "pwrite:eio:1", "fdatasync:eio:2"}) {
    const Ended ended = run(preloaded(fault) + folder_.path() + " 4 threads");
    EXPECT_EQ(ended.code, 5) << fault << ": " << ended.output;
    EXPECT_THAT(ended.output, AllOf(HasSubstr("error cannot "), HasSubstr("headroom-states."),
                                    testing::EndsWith(": Input/output error\n")))
        << fault;
    EXPECT_TRUE(leaves_nothing()) << fault;
  }
}

TEST_F(DiskFaults, KeptStatesOutliveAnErrorOfTheDisk) {
  EXPECT_EQ(run(program() + folder_.path() + " 2 threads keep").code, 0);
  const Ended ended = run(preloaded("pwrite:eio:20") + folder_.path() + " 2 threads keep");
  EXPECT_EQ(ended.code, 5) << ended.output;
  const Ended next = run(program() + folder_.path() + " 1 threads keep");
  EXPECT_EQ(next.code, 0) << next.output;
  EXPECT_THAT(next.output, HasSubstr("resuming from step 2,"));
}

TEST_F(DiskFaults, WhereTheKernelRefusesIoUringThreadsDoItAndItIsSaid) {
  const Ended ended = run(program() + folder_.path() + " 2 uring refused");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_THAT(ended.output,
              HasSubstr("note the kernel refuses io_uring (Operation not permitted): 4 threads "
                        "read and write\n"));
  EXPECT_THAT(ended.output, HasSubstr("step 2\n"));
}

TEST_F(DiskFaults, WhereBuffersMayNotBeRegisteredItIsSaid) {
  chmod(folder_.path().c_str(), 0777);
  // A user who may lock all memory may register all of it.
  const std::string nobody =
      getuid() == 0 ? "setpriv --reuid 65534 --regid 65534 --clear-groups " : "";
  if (run(nobody + "test -x " DISK_STATES_PROGRAM).code != 0) GTEST_SKIP() << "not for nobody";
  const Ended ended = run("ulimit -l 64; " + nobody + program() + folder_.path() + " 2 uring");
  EXPECT_EQ(ended.code, 0) << ended.output;
  if (ended.output.find("refuses io_uring") != std::string::npos) GTEST_SKIP() << ended.output;
  EXPECT_THAT(ended.output, AllOf(HasSubstr("ulimit -l"), HasSubstr("step 2\n")));
}

TEST_F(DiskFaults, TmpfsIsSaid) {
  struct statfs system {};
  if (statfs("/dev/shm", &system) != 0 || system.f_type != TMPFS_MAGIC) GTEST_SKIP();
  char directory[] = "/dev/shm/headroom.XXXXXX";
  if (mkdtemp(directory) == nullptr) GTEST_SKIP() << "not writable";
  for (const char* engine : {"uring", "threads"}) {
    const Ended ended = run(program() + directory + " 2 " + engine);
    EXPECT_EQ(ended.code, 0) << ended.output;
    EXPECT_THAT(ended.output,
                HasSubstr(std::string("note ") + directory + " is on tmpfs, in memory"));
  }
  EXPECT_EQ(rmdir(directory), 0);
}

// The program on its own disk of a given size.
class SmallDisk : public DiskFaults {
 protected:
  std::string on_disk_of(const std::string& size) const {
    return "unshare -rm sh -c 'mount -t tmpfs -o size=" + size + " none " + folder_.path() +
           " || exit 77; \"$@\"; code=$?; ls -A " + folder_.path() + "; exit $code' sh ";
  }
  void SetUp() override {
    if (run(on_disk_of("1m") + "true").code != 0) GTEST_SKIP() << "nothing may be mounted here";
  }
};

TEST_F(SmallDisk, ThatIsTooSmallIsFoundBeforeTheFirstStep) {
  const Ended ended = run(on_disk_of("1500k") + program() + folder_.path() + " 2 uring");
  EXPECT_EQ(ended.code, 5) << ended.output;
  const int64_t bytes = DiskLayout(known_regions(), kKnownBlockBytes).file_bytes();
  EXPECT_THAT(ended.output,
              testing::EndsWith("No space left on device; the states take two files of " +
                                format_bytes(bytes) + "\n"));  // and no file is left
}

TEST_F(SmallDisk, ThatIsFullInTheMiddleOfAStepIsOneLineAndLeavesNothing) {
  for (const char* engine : {"uring", "threads"}) {
    const Ended ended = run(on_disk_of("1500k") + preloaded("fallocate:unsupported:0") +
                            folder_.path() + " 2 " + engine);
    EXPECT_EQ(ended.code, 5) << ended.output;
    EXPECT_THAT(ended.output, HasSubstr("a full disk is noticed in the middle of a step only\n"));
    EXPECT_THAT(ended.output, testing::EndsWith("error cannot write " + file("b") +
                                                ": No space left on device\n"));
  }
}

// Starts it, and kills it `microseconds` after its first step.
void kill_in_a_step(const std::string& directory, const char* engine, int microseconds) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    execl(DISK_STATES_PROGRAM, DISK_STATES_PROGRAM, directory.c_str(), "-1", engine, nullptr);
    _exit(127);
  }
  close(ends[1]);
  std::string said;
  char text[512];
  while (("\n" + said).find("\nstep ") == std::string::npos) {
    const ssize_t got = read(ends[0], text, sizeof text);
    if (got <= 0) break;
    said.append(text, static_cast<size_t>(got));
  }
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  EXPECT_EQ(kill(child, SIGKILL), 0);
  int status = 0;
  waitpid(child, &status, 0);
  close(ends[0]);
  EXPECT_TRUE(WIFSIGNALED(status)) << said << " exit " << WEXITSTATUS(status);
}

TEST_F(DiskFaults, KilledAtAnyPointTheLastWholeStatesAreThereBitForBit) {
  std::mt19937 random(13);
  int64_t last = 0;
  int torn = 0;
  for (int draw = 0; draw < 20; ++draw) {
    const char* engine = draw % 2 == 0 ? "uring" : "threads";
    kill_in_a_step(folder_.path(), engine, static_cast<int>(random() % 40000));
    DiskStates states({.directory = folder_.path(),
                       .identity = "tiny, seed 1",
                       .keep = true,
                       .block_bytes = kKnownBlockBytes},
                      known_regions());
    for (const std::string& note : states.notes())
      torn += note.find("was interrupted") != std::string::npos;
    EXPECT_GT(states.steps_done(), last);  // it printed the first step before it was killed
    EXPECT_EQ(count_unknown_on_disk(states), 0) << "draw " << draw;
    last = states.steps_done();
  }
  EXPECT_GT(torn, 0) << "not one was killed in the middle of a step";
}

}  // namespace
}  // namespace headroom
