#include "train/offload/disk/disk_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <future>
#include <stdexcept>

#include "files/mapped_file.h"
#include "files/replace_file.h"
#include "tests/files/scratch_directory.h"
#include "tests/train/offload/disk/faulty_queue.h"
#include "tests/train/offload/disk/known_states.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

bool exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

class DiskStatesTest : public testing::TestWithParam<DiskEngine> {
 protected:
  DiskStatesOptions options() const {
    return {.directory = folder_.path(),
            .identity = "tiny, seed 1",
            .block_bytes = kKnownBlockBytes,
            .buffers = 4,
            .engine = GetParam()};
  }
  DiskStatesOptions kept() const {
    DiskStatesOptions options = this->options();
    options.keep = true;
    return options;
  }
  // Leaves kept states of that step.
  void leave(int64_t step) const {
    DiskStates states(kept(), known_regions());
    known_fill(states);
    while (states.steps_done() < step) ASSERT_EQ(known_step(states), 0);
  }
  // The files of a process killed while writing step 3.
  void leave_torn() const {
    leave(2);
    const std::string torn = file(exists(file("a")) ? "b" : "a");
    std::string whole = read_text(file(exists(file("a")) ? "a" : "b"));
    whole.replace(whole.find("step 2"), 6, "step 3");
    write_text(torn, whole.substr(0, whole.size() / 2));
  }
  std::string file(const std::string& name) const {
    return folder_.file("headroom-states." + name);
  }
  bool is_empty() const {
    return !exists(file("a")) && !exists(file("b")) && !exists(file("json"));
  }

  ScratchDirectory folder_;
};

TEST_P(DiskStatesTest, StepsInTheOrderOfBackwardChangeEveryNumberOnce) {
  DiskStates states(options(), known_regions());
  EXPECT_EQ(states.steps_done(), -1);
  known_fill(states);
  for (int64_t step = 1; step <= 5; ++step) {
    EXPECT_EQ(known_step(states), 0);
    EXPECT_EQ(states.steps_done(), step);
    EXPECT_EQ(count_unknown_on_disk(states), 0);
  }
}

TEST_P(DiskStatesTest, AStepMovesTheStatesOnceEachWay) {
  DiskStates states(options(), known_regions());
  known_fill(states);
  EXPECT_EQ(states.disk().read, 0);
  EXPECT_EQ(states.disk().written, states.layout().state_bytes());
  known_step(states);
  EXPECT_EQ(states.disk().read, states.layout().state_bytes());
  EXPECT_EQ(states.disk().written, 2 * states.layout().state_bytes());
  struct stat a {};
  struct stat b {};
  ASSERT_EQ(stat(file("a").c_str(), &a), 0);
  ASSERT_EQ(stat(file("b").c_str(), &b), 0);
  EXPECT_EQ(a.st_size + b.st_size, states.disk().files);
  EXPECT_EQ(states.disk().buffers, 4 * states.layout().block_bytes());
}

TEST_P(DiskStatesTest, WhileABlockIsUpdatedOthersAreReadAndWritten) {
  int reads = 0;  // started
  int writes = 0;
  DiskStatesOptions options = this->options();
  options.around_queue = with_fault([&](int, const Transfer& transfer) {
    ++(transfer.writes ? writes : reads);
    return transfer.bytes;
  });
  DiskStates states(options, known_regions());
  known_fill(states);
  writes = 0;
  int visit = 0;
  int most_ahead = 0;
  states.step(backward_order(), [&](const StatesInMemory& block) {
    // Blocks before this one are being written, blocks after it are being read.
    EXPECT_EQ(writes, visit++);
    most_ahead = std::max(most_ahead, reads - visit);
    write_known(block, 1);
  });
  EXPECT_GE(most_ahead, 2);
  EXPECT_EQ(reads, visit);
  EXPECT_EQ(count_unknown_on_disk(states), 0);
}

TEST_P(DiskStatesTest, WhatAnUpdateLeavesAloneIsCarriedOver) {
  DiskStates states(options(), known_regions());
  known_fill(states);
  states.step(backward_order(), [](const StatesInMemory&) {});
  int64_t wrong = 0;
  states.read([&](const StatesInMemory& block) { wrong += count_unknown(block, 0); });
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(states.steps_done(), 1);
}

TEST_P(DiskStatesTest, AnOrderThatMissesARegionIsRefused) {
  DiskStates states(options(), known_regions());
  known_fill(states);
  const std::vector<int> twice = {0, 1, 2, 3, 4, 4};
  EXPECT_THROW(states.step(twice, [](const StatesInMemory&) {}), std::logic_error);
}

TEST_P(DiskStatesTest, ShortAndInterruptedTransfersAreGoneOnWith) {
  DiskStatesOptions options = this->options();
  options.around_queue = with_fault([](int number, const Transfer& transfer) -> int64_t {
    if (number % 5 == 1) return -EINTR;
    if (number % 5 == 2) return -EAGAIN;
    if (number % 5 == 3) return std::min<int64_t>(transfer.bytes, 4096 * (1 + number % 3) + 512);
    return transfer.bytes;
  });
  DiskStates states(options, known_regions());
  known_fill(states);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(known_step(states), 0);
  EXPECT_EQ(count_unknown_on_disk(states), 0);
}

TEST_P(DiskStatesTest, ADiskThatFailsInAStepLeavesTheStatesOfBeforeIt) {
  for (const int error : {EIO, ENOSPC}) {
    for (const bool in_write : {false, true}) {
      bool failing = false;
      int transfers = 0;
      DiskStatesOptions options = this->options();
      options.around_queue = with_fault([&](int, const Transfer& transfer) -> int64_t {
        const bool hit = failing && transfer.writes == in_write && ++transfers == 8;
        return hit ? -error : transfer.bytes;
      });
      DiskStates states(options, known_regions());
      known_fill(states);
      known_step(states);
      failing = true;
      const std::string path = file(in_write ? "a" : "b");
      const std::string line =
          std::string(in_write ? "cannot write " : "cannot read ") + path + ": " + strerror(error);
      EXPECT_EQ(message_of<std::runtime_error>([&] { known_step(states); }), line);
      EXPECT_EQ(states.steps_done(), 1);
      failing = false;
      EXPECT_EQ(count_unknown_on_disk(states), 0);
      EXPECT_EQ(known_step(states), 0);  // repeats the step
      EXPECT_EQ(count_unknown_on_disk(states), 0);
    }
  }
  EXPECT_TRUE(is_empty());
}

TEST_P(DiskStatesTest, ALimitOnFileSizesInTheMiddleOfAStepIsOneLine) {
  DiskStates states(options(), known_regions());
  known_fill(states);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  const rlimit half{static_cast<rlim_t>(states.layout().file_bytes() / 2), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &half), 0);
  const std::string line = message_of<WriteError>([&] { known_step(states); });
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(line, "cannot write " + file("b") + ": File too large");
  EXPECT_EQ(count_unknown_on_disk(states), 0);
  EXPECT_EQ(known_step(states), 0);
}

TEST_P(DiskStatesTest, ATransferThatNeverMovesAnythingFails) {
  DiskStatesOptions options = this->options();
  options.around_queue = with_fault([](int number, const Transfer& transfer) -> int64_t {
    return number < 4 ? transfer.bytes : 0;
  });
  DiskStates states(options, known_regions());
  EXPECT_THAT(message_of<WriteError>([&] { known_fill(states); }), HasSubstr("Input/output error"));
}

TEST_P(DiskStatesTest, AnUpdateThatThrowsLeavesTheStatesOfBeforeTheStep) {
  DiskStates states(options(), known_regions());
  known_fill(states);
  int visit = 0;
  EXPECT_THROW(states.step(backward_order(),
                           [&](const StatesInMemory& block) {
                             write_known(block, 9);
                             if (++visit == 10) throw std::domain_error("no gradient");
                           }),
               std::domain_error);
  EXPECT_EQ(count_unknown_on_disk(states), 0);
  EXPECT_EQ(known_step(states), 0);
}

TEST_P(DiskStatesTest, ARunLeavesNothingBehind) {
  {
    DiskStates states(options(), known_regions());
    known_fill(states);
    known_step(states);
  }
  EXPECT_TRUE(is_empty());
  EXPECT_EQ(rmdir(folder_.path().c_str()), 0);  // nor under other names
}

TEST_P(DiskStatesTest, KeptStatesAreOneFileThatTheNextRunGoesOnFrom) {
  leave(3);
  EXPECT_NE(exists(file("a")), exists(file("b")));
  {
    DiskStates states(kept(), known_regions());
    EXPECT_EQ(states.steps_done(), 3);
    EXPECT_THAT(states.notes(), Contains(HasSubstr("resuming from step 3")));
    EXPECT_THAT(states.notes(), Not(Contains(HasSubstr("interrupted"))));
    EXPECT_EQ(count_unknown_on_disk(states), 0);
    EXPECT_EQ(known_step(states), 0);
  }
  // A run without `keep` does not remove kept states.
  { EXPECT_EQ(DiskStates(options(), known_regions()).steps_done(), 4); }
  DiskStates states(options(), known_regions());
  EXPECT_EQ(states.steps_done(), 4);
  EXPECT_EQ(count_unknown_on_disk(states), 0);
}

TEST_P(DiskStatesTest, ABitThatTheDiskHasChangedIsRefusedWithFileAndBlock) {
  leave(2);
  const std::string path = file(exists(file("a")) ? "a" : "b");
  const std::string whole = read_text(path);
  const std::string list = read_text(file("json"));
  const DiskLayout layout(known_regions(), kKnownBlockBytes);
  const size_t count = layout.blocks().size();
  for (size_t i = 0; i < count; ++i) {
    const StateBlock& block = layout.blocks()[i];
    std::string damaged = whole;
    damaged[static_cast<size_t>(block.offset + block.bytes * static_cast<int64_t>(i) /
                                                   static_cast<int64_t>(count))] ^= 1 << (i % 8);
    write_text(path, damaged);
    DiskStates states(kept(), known_regions());
    const std::string line = message_of<ReadError>([&] { known_step(states); });
    EXPECT_THAT(line, HasSubstr("cannot read " + path + ": block " + std::to_string(i + 1) +
                                " of " + std::to_string(count) + " "));
    EXPECT_EQ(line, message_of<ReadError>([&] { count_unknown_on_disk(states); }));
  }
  write_text(path, whole);
  for (size_t at = 0; at < list.size(); at += 37) {
    std::string damaged = list;
    damaged[at] ^= 1 << (at % 7);
    write_text(file("json"), damaged);
    EXPECT_THROW(DiskStates(kept(), known_regions()), ReadError) << damaged;
  }
  write_text(file("json"), list);
  DiskStates states(kept(), known_regions());
  EXPECT_EQ(known_step(states), 0);
}

TEST_P(DiskStatesTest, ATornStepIsFoundAndTheLastWholeOneUsed) {
  leave_torn();
  DiskStates states(options(), known_regions());
  EXPECT_THAT(states.notes(), Contains(HasSubstr("step 3 was interrupted")));
  EXPECT_EQ(states.steps_done(), 2);
  EXPECT_EQ(count_unknown_on_disk(states), 0);
  EXPECT_EQ(known_step(states), 0);
}

TEST_P(DiskStatesTest, AFirstFillingThatWasCutOffIsRemovedAndSaid) {
  write_text(file("a"), "half of the first states");
  write_text(file("json.Xyz123.tmp"), "{");
  {
    DiskStates states(options(), known_regions());
    EXPECT_EQ(states.steps_done(), -1);
    EXPECT_THAT(states.notes(), Contains(HasSubstr("before its first states were complete")));
    known_fill(states);
    EXPECT_EQ(count_unknown_on_disk(states), 0);
  }
  EXPECT_TRUE(is_empty());
  EXPECT_FALSE(exists(file("json.Xyz123.tmp")));
}

TEST_P(DiskStatesTest, AnotherRunsStatesAreRefusedAndLeftAsTheyAre) {
  leave(1);
  DiskStatesOptions other = options();
  other.identity = "tiny, seed 2";
  EXPECT_THAT(message_of<UsageError>([&] { DiskStates(other, known_regions()); }),
              AllOf(HasSubstr("--optimizer-offload: 'nvme:" + folder_.path() +
                              "' contains the states of another run (tiny, seed 1, step 1)"),
                    HasSubstr("this one is tiny, seed 2"), Not(HasSubstr("\n"))));
  std::vector<StateRegion> fewer = known_regions();
  fewer.pop_back();
  EXPECT_THROW(DiskStates(options(), fewer), UsageError);
  DiskStates states(options(), known_regions());
  EXPECT_EQ(count_unknown_on_disk(states), 0);
}

TEST_P(DiskStatesTest, DamagedStatesAreRefusedInOneLineAndLeftAsTheyAre) {
  leave(1);
  const std::string whole = file(exists(file("a")) ? "a" : "b");
  const std::string list = read_text(file("json"));
  write_text(file("json"), "{\"schema_version\": 1");
  EXPECT_THAT(message_of<ReadError>([&] { DiskStates(options(), known_regions()); }),
              HasSubstr(file("json") + ": no list of states"));
  write_text(file("json"), list);
  struct stat status {};
  ASSERT_EQ(stat(whole.c_str(), &status), 0);
  ASSERT_EQ(truncate(whole.c_str(), status.st_size - 1), 0);
  EXPECT_THAT(message_of<ReadError>([&] { DiskStates(options(), known_regions()); }),
              HasSubstr("cannot read " + whole + ": it differs from"));
  EXPECT_TRUE(exists(whole) && exists(file("json")));
}

TEST_P(DiskStatesTest, ASecondRunInTheDirectoryIsRefused) {
  DiskStates states(options(), known_regions());
  known_fill(states);
  const std::string line =
      "cannot write " + folder_.path() + ": another run keeps its states there";
  // Each waits for some seconds (files/lock.h), all three at once.
  const auto message = [](auto call) {
    return std::async(std::launch::async, [call] { return message_of<WriteError>(call); });
  };
  auto made = message([&] { DiskStates(options(), known_regions()); });
  auto checked = message([&] { StateDirectory::check(folder_.path()); });
  auto removed = message([&] { StateDirectory::remove(folder_.path()); });
  EXPECT_EQ(made.get(), line);
  EXPECT_EQ(checked.get(), line);
  EXPECT_EQ(removed.get(), line);
  EXPECT_EQ(known_step(states), 0);
}

TEST_P(DiskStatesTest, ADirectoryThatIsMissingOrNotWritableIsRefused) {
  DiskStatesOptions missing = options();
  missing.directory = folder_.file("missing");
  const std::string line = "cannot write " + missing.directory + ": No such file or directory";
  EXPECT_EQ(message_of<WriteError>([&] { DiskStates(missing, known_regions()); }), line);
  EXPECT_EQ(message_of<WriteError>([&] { StateDirectory::check(missing.directory); }), line);
  missing.directory = "/sys/kernel";  // for root too
  EXPECT_THAT(message_of<WriteError>([&] { DiskStates(missing, known_regions()); }),
              HasSubstr("cannot write /sys/kernel/headroom-states."));
  EXPECT_THAT(message_of<WriteError>([&] { StateDirectory::check(missing.directory); }),
              HasSubstr("cannot write /sys/kernel/headroom-states."));
  missing.directory = folder_.write("file", "");
  EXPECT_THAT(message_of<WriteError>([&] { DiskStates(missing, known_regions()); }),
              HasSubstr("Not a directory"));
}

TEST_P(DiskStatesTest, WhatAKilledRunLeftIsRemovedWhenAsked) {
  leave_torn();
  const std::string list = folder_.file("headroom-states.json");
  std::string text = read_text(list);
  const size_t keep = text.find("\"keep\":true");
  ASSERT_NE(keep, std::string::npos) << text;
  write_text(list, text.replace(keep, 11, "\"keep\":false"));
  write_text(folder_.file("notes.txt"), "mine");
  StateDirectory::remove(folder_.path());
  EXPECT_TRUE(is_empty());
  EXPECT_TRUE(exists(folder_.file("notes.txt")));
}

TEST_P(DiskStatesTest, StatesThatAreToBeKeptAreNotRemovedButForWhatIsTorn) {
  leave_torn();
  StateDirectory::remove(folder_.path());
  EXPECT_TRUE(exists(folder_.file("headroom-states.json")));
  EXPECT_NE(exists(folder_.file("headroom-states.a")), exists(folder_.file("headroom-states.b")));
}

INSTANTIATE_TEST_SUITE_P(Engines, DiskStatesTest,
                         testing::Values(DiskEngine::kUringOrThreads, DiskEngine::kThreads),
                         [](const auto& info) {
                           return info.param == DiskEngine::kThreads ? "threads" : "uring";
                         });

}  // namespace
}  // namespace headroom
