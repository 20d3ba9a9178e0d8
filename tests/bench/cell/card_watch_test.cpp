#include "bench/cell/machine/card_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace headroom {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kBus = "00000000:3B:00.0";

// Queries the stub's card three times.
Record watched(const std::string& pids) {
  setenv("STUB_NVML_PIDS", pids.c_str(), 1);
  CardWatch watch(kBus, STUB_NVML);
  for (int i = 0; i < 3; ++i) watch.look();
  Record record;
  watch.fill(record);
  return record;
}

// First in the file: the stub's clock falls with every query.
TEST(CardWatch, WritesWhatTheDriverSaysOverAllLooks) {
  const Record record = watched("self");
  const json& nvml = record.environment.at("nvml");
  EXPECT_EQ(nvml.at("driver_version"), "580.65.06");
  EXPECT_EQ(nvml.at("looks"), 3);
  EXPECT_EQ(nvml.at("sm_clock_mhz"), json({{"lowest", 1920}, {"highest", 1980}}));
  EXPECT_EQ(nvml.at("memory_clock_mhz"), json({{"lowest", 2619}, {"highest", 2619}}));
  EXPECT_EQ(nvml.at("highest_sm_clock_mhz"), 1980);
  EXPECT_EQ(nvml.at("clock_limited_by"), json({"idle", "power cap", "hardware thermal slowdown"}));
  EXPECT_FALSE(nvml.contains("power_milliwatts")) << "this driver does not say it";
  EXPECT_FALSE(nvml.contains("temperature_celsius")) << "this library has no such function";
  EXPECT_THAT(record.notes, Contains(HasSubstr("lowered between timed steps: power cap, "
                                               "hardware thermal slowdown")));
  EXPECT_THAT(nvml.at("other_processes"), IsEmpty());
}

TEST(CardWatch, NamesOtherProcessesAndNotThisOne) {
  const Record record = watched("self,4711,4712");
  const json others = record.environment.at("nvml").at("other_processes");
  EXPECT_EQ(others, json({{{"pid", 4711}, {"used_bytes", int64_t{2} << 30}},
                          {{"pid", 4712}, {"used_bytes", nullptr}}}));
  EXPECT_THAT(
      record.notes,
      Contains(HasSubstr(
          "other processes used the card while steps were timed: pid 4711 (2.000 GiB), pid 4712")));
}

// The driver reports the host's pids, which do not include ours.
TEST(CardWatch, InAContainerOneOfTheProcessesIsThisOne) {
  EXPECT_THAT(watched("70001").environment.at("nvml").at("other_processes"), IsEmpty());
  EXPECT_EQ(watched("70001,70002").environment.at("nvml").at("other_processes").size(), 1U);
}

TEST(CardWatch, FindsMoreProcessesThanItExpected) {
  std::ostringstream many;
  many << "self";
  for (int pid = 100000; pid < 100100; ++pid) many << "," << pid;
  EXPECT_EQ(watched(many.str()).environment.at("nvml").at("other_processes").size(), 100U);
}

TEST(CardWatch, WithoutALibraryACardOrAnAnswerNothingIsSaid) {
  const auto nothing = [](CardWatch watch) {
    watch.look();
    Record record;
    watch.fill(record);
    return record.environment.empty() && record.notes.empty();
  };
  EXPECT_TRUE(nothing(CardWatch(kBus, "libnvidia-ml-that-is-not-there.so.1")));
  EXPECT_TRUE(nothing(CardWatch("00000000:01:00.0", STUB_NVML))) << "no such card";
  EXPECT_TRUE(nothing(CardWatch("", STUB_NVML))) << "the CPU, a virtual card";
  setenv("STUB_NVML_BROKEN", "1", 1);
  EXPECT_TRUE(nothing(CardWatch(kBus, STUB_NVML))) << "the driver is not loaded";
  unsetenv("STUB_NVML_BROKEN");
}

}  // namespace
}  // namespace headroom
