#include "plan/fit/questions/cells_ahead.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <latch>
#include <set>
#include <string>
#include <thread>

#include "tests/plan/fit/fake_card.h"

namespace headroom {
namespace {

RunSpec batch(int64_t size) {
  RunSpec spec = fake_run();
  spec.batch_size = size;
  return spec;
}

RememberedCell cell_of(const RunSpec& spec) {
  RememberedCell cell;
  cell.record.spec = spec;
  return cell;
}

// A thread that requests a cell, and detects when it waits for it.
class Asking {
 public:
  explicit Asking(std::function<void()> ask)
      : thread_([this, ask = std::move(ask)] {
          thread_id_ = gettid();
          ask();
        }) {}

  // Returns after the thread was asleep at ten checks in a row.
  void sleeps() const {
    for (int times = 0; times < 10; std::this_thread::sleep_for(std::chrono::milliseconds(1))) {
      times = state() == 'S' ? times + 1 : 0;
    }
  }
  void ends() { thread_.join(); }

 private:
  char state() const {
    std::ifstream stat("/proc/self/task/" + std::to_string(thread_id_) + "/stat");
    const std::string text{std::istreambuf_iterator<char>(stat), {}};
    const size_t name_ends = text.rfind(") ");
    return name_ends == std::string::npos ? '?' : text[name_ends + 2];
  }

  std::atomic<pid_t> thread_id_ = 0;
  std::thread thread_;
};

TEST(CellsAhead, EachCellIsRunOnceHoweverOftenItIsSpokenOf) {
  std::atomic<int> runs = 0;
  CellsAhead cells(
      [&](const RunSpec& spec) {
        ++runs;
        return cell_of(spec);
      },
      2);
  cells.prefetch({batch(1), batch(2), batch(1)});
  for (const int64_t size : {2, 1, 2, 3}) {
    EXPECT_EQ(cells.get(batch(size)).record.spec.batch_size, size);
    cells.prefetch({batch(1), batch(2)});
  }
  EXPECT_EQ(runs, 3);
}

TEST(CellsAhead, TwoRunBesideEachOther) {
  std::latch both(2);  // a single one waits forever
  CellsAhead cells(
      [&](const RunSpec& spec) {
        both.arrive_and_wait();
        return cell_of(spec);
      },
      2);
  cells.prefetch({batch(1), batch(2)});
  EXPECT_EQ(cells.get(batch(1)).record.spec.batch_size, 1);
}

TEST(CellsAhead, WhatIsAskedForComesBeforeWhatWasOnlySpokenOf) {
  std::vector<int64_t> order;
  std::latch go(1);
  CellsAhead cells(
      [&](const RunSpec& spec) {
        go.wait();
        order.push_back(spec.batch_size);
        return cell_of(spec);
      },
      1);
  cells.prefetch({batch(1), batch(2), batch(3)});
  Asking asks([&] { cells.get(batch(4)); });
  asks.sleeps();
  go.count_down();
  asks.ends();
  for (const int64_t size : {1, 2, 3}) cells.get(batch(size));  // afterwards nothing runs
  const auto place = [&](int64_t size) { return std::find(order.begin(), order.end(), size); };
  EXPECT_LT(place(4), place(2)) << "the first may have begun before";
}

TEST(CellsAhead, WhatIsNoLongerForetoldIsNotRun) {
  std::latch go(1);
  std::set<int64_t> ran;
  {
    CellsAhead cells(
        [&](const RunSpec& spec) {
          go.wait();
          ran.insert(spec.batch_size);
          return cell_of(spec);
        },
        1);
    std::thread asks([&] { cells.get(batch(1)); });
    cells.prefetch({batch(2), batch(3)});
    cells.prefetch({});
    go.count_down();
    asks.join();
  }
  EXPECT_EQ(ran.count(3), 0U);
}

TEST(CellsAhead, WhatSomebodyWaitsForIsRunWhateverIsForetoldMeanwhile) {
  std::latch go(1);
  CellsAhead cells(
      [&](const RunSpec& spec) {
        go.wait();
        return cell_of(spec);
      },
      1);
  cells.prefetch({batch(2)});  // occupies the only thread
  int64_t got = 0;
  Asking asks([&] { got = cells.get(batch(1)).record.spec.batch_size; });
  asks.sleeps();
  cells.prefetch({});
  go.count_down();
  asks.ends();
  EXPECT_EQ(got, 1);
}

TEST(CellsAhead, AnErrorIsThrownWhereItsCellIsAskedFor) {
  CellsAhead cells(
      [](const RunSpec& spec) {
        if (spec.batch_size == 2) throw std::runtime_error("disk full");
        return cell_of(spec);
      },
      2);
  cells.prefetch({batch(2), batch(1)});
  EXPECT_EQ(cells.get(batch(1)).record.spec.batch_size, 1);
  EXPECT_THROW(cells.get(batch(2)), std::runtime_error);
}

TEST(CellsAhead, WithoutAThreadItIsRunWhereItIsAskedFor) {
  CellsAhead cells([](const RunSpec& spec) { return cell_of(spec); }, 0);
  cells.prefetch({batch(1)});
  EXPECT_EQ(cells.get(batch(2)).record.spec.batch_size, 2);
}

}  // namespace
}  // namespace headroom
