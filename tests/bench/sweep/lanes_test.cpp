#include "bench/sweep/lanes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/process/cores.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::UnorderedElementsAre;

std::vector<RunSpec> on_devices(const std::vector<std::string>& devices) {
  std::vector<RunSpec> specs;
  for (const std::string& device : devices) specs.push_back({.device = parse_device(device)});
  return specs;
}

std::vector<Stage> planned(const std::vector<RunSpec>& specs, size_t jobs) {
  std::vector<const RunSpec*> cells;
  for (const RunSpec& spec : specs) cells.push_back(&spec);
  return plan_lanes(cells, jobs);
}

const auto never = [] { return false; };

TEST(Lanes, VirtualCellsUseAllCoresRealCardsOneCellEachAndTheCpuIsAlone) {
  const auto stages = planned(
      on_devices({"cpu", "virtual:h200", "cuda:0", "cuda:1", "cuda:0", "virtual:a10", "cpu"}), 0);
  ASSERT_EQ(stages.size(), 3U);
  ASSERT_EQ(stages[0].size(), 1U);
  EXPECT_THAT(stages[0][0].cells, ElementsAre(1, 5));
  EXPECT_EQ(stages[0][0].at_once, std::min<size_t>(2, cores()));
  ASSERT_EQ(stages[1].size(), 2U);
  EXPECT_THAT(stages[1][0].cells, ElementsAre(2, 4));
  EXPECT_EQ(stages[1][0].at_once, 1U);
  EXPECT_THAT(stages[1][1].cells, ElementsAre(3));
  EXPECT_THAT(stages[2][0].cells, ElementsAre(0, 6));
  EXPECT_EQ(stages[2][0].at_once, 1U);
}

TEST(Lanes, OneJobKeepsTheOrderOfTheGrid) {
  const auto stages = planned(on_devices({"cpu", "virtual:h200", "cuda:0"}), 1);
  ASSERT_EQ(stages.size(), 1U);
  EXPECT_THAT(stages[0].front().cells, ElementsAre(0, 1, 2));
  EXPECT_EQ(most_at_once(stages), 1U);
}

TEST(Lanes, JobsAreCellsAtOnceAndARealCardStillRunsOne) {
  const auto stages = planned(on_devices({"cuda:0", "cuda:1", "cuda:2", "cpu", "cpu", "cpu"}), 2);
  ASSERT_EQ(stages.size(), 3U);
  EXPECT_EQ(stages[0].size(), 2U);
  EXPECT_EQ(stages[1].size(), 1U);
  EXPECT_EQ(stages[2].front().at_once, 2U);
}

TEST(Lanes, AMeshRunsAlone) {
  std::vector<RunSpec> specs = on_devices({"virtual:h200", "virtual:h200"});
  specs[1].mesh = parse_mesh("--mesh", "dp=2");
  const auto stages = planned(specs, 0);
  ASSERT_EQ(stages.size(), 2U);
  EXPECT_THAT(stages[1].front().cells, ElementsAre(1));
}

TEST(Lanes, EveryCellRunsOnceAndTwoOfThemAtOnce) {
  std::mutex mutex;
  std::multiset<size_t> ran;
  std::latch both(2);  // opens only when two cells run concurrently
  run_stages(
      {{{.cells = {0, 1, 2}, .at_once = 2}}},
      [&](size_t cell) {
        if (cell < 2) both.arrive_and_wait();
        const std::lock_guard lock(mutex);
        ran.insert(cell);
      },
      never);
  EXPECT_THAT(ran, UnorderedElementsAre(0, 1, 2));
}

TEST(Lanes, AfterAFailureNoMoreCellsBeginAndItIsThrown) {
  std::vector<size_t> ran;
  const auto run = [&](size_t cell) {
    ran.push_back(cell);
    if (cell == 1) throw std::runtime_error("no space left");
  };
  EXPECT_THROW(run_stages({{{.cells = {0, 1, 2}}}, {{.cells = {3}}}}, run, never),
               std::runtime_error);
  EXPECT_THAT(ran, ElementsAre(0, 1));
}

TEST(Lanes, AnInterruptEndsTheHandout) {
  std::vector<size_t> ran;
  run_stages(
      {{{.cells = {0, 1, 2}}}}, [&](size_t cell) { ran.push_back(cell); },
      [&] { return ran.size() == 2; });
  EXPECT_THAT(ran, ElementsAre(0, 1));
}

}  // namespace
}  // namespace headroom
