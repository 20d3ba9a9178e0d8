#include "profiling/theory/least_times.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cards/cards.h"
#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/offloaded.h"
#include "tests/files/scratch_directory.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr MemorySpace kDisk = MemorySpace::kDisk;

RunSpec spec_with(MemorySpace states, MemorySpace weights) {
  RunSpec spec{.model_size = "small", .batch_size = 1, .profile_type = Mode::kTraining};
  spec.device = parse_device("virtual:rtx4090");
  spec.optimizer_offload = {.space = states, .directory = states == kDisk ? "." : ""};
  spec.param_offload = {.space = weights, .directory = weights == kDisk ? "." : ""};
  return spec;
}

LeastTimes times_of(const RunSpec& spec, const DiskRate& rate = {}) {
  const HostTraffic traffic = host_traffic(theory_rows(spec), spec);
  return least_times(spec, traffic, disk_figures(spec), rate).value();
}

TEST(DiskRate, IsBytesReadAndWrittenInASecond) {
  const auto rate_of = [](std::string_view text) { return parse_disk_rate("--disk-rate", text); };
  EXPECT_EQ(rate_of("7GB/s").bytes_per_second, 7e9);
  EXPECT_EQ(rate_of("1MiB/s").bytes_per_second, 1048576);
  EXPECT_EQ(rate_of("2GB/s").seconds(3e9, 1e9), 2);
  EXPECT_EQ(rate_of("2GB/s").in_words(), "2.00 GB/s read and written");
  for (const char* text : {"7GB", "7", "0GB/s", "fast", "/s", "-1GB/s", ""}) {
    EXPECT_THAT(message_of<UsageError>([&] { rate_of(text); }),
                AllOf(HasSubstr("--disk-rate"), HasSubstr("example: ")))
        << text;
  }
}

TEST(DiskRate, OfALinkIsEachWaysAndBothGoAtOnce) {
  const DiskRate bound;
  EXPECT_NEAR(kDiskLink, 7.877e9, 1e6);
  EXPECT_EQ(bound.seconds(kDiskLink, kDiskLink), 1);
  EXPECT_EQ(bound.seconds(2 * kDiskLink, kDiskLink), 2);
  EXPECT_EQ(bound.in_words(), "PCIe 4.0 x4, 7.88 GB/s each way");
}

TEST(LeastTimes, StatesMoveWhenBackwardHasEnded) {
  const RunSpec spec = spec_with(kDisk, MemorySpace::kDevice);
  const DiskFigures disk = disk_figures(spec);
  const Transfers bound = times_of(spec).disk;
  EXPECT_EQ(bound.beside_s, 0);
  EXPECT_EQ(bound.alone_s, static_cast<double>(disk.read) / kDiskLink) << "read as much as written";
  const Transfers typed = times_of(spec, {.bytes_per_second = 1e9}).disk;
  EXPECT_EQ(typed.alone_s, static_cast<double>(disk.read + disk.written) / 1e9);
}

TEST(LeastTimes, WeightsAreReadBesideTheArithmeticAndWrittenBehindIt) {
  const RunSpec spec = spec_with(MemorySpace::kHost, kDisk);
  const DiskFigures disk = disk_figures(spec);
  const Transfers times = times_of(spec, {.bytes_per_second = 1e9}).disk;
  EXPECT_EQ(times.beside_s, static_cast<double>(disk.read) / 1e9);
  EXPECT_EQ(times.alone_s, static_cast<double>(disk.written) / 1e9);
}

TEST(LeastTimes, AStepIsWhatTakesLongestAndThenWhatComesAlone) {
  const LeastTimes times{.arithmetic_s = 2,
                         .link = {.beside_s = 3, .alone_s = 1},
                         .disk = {.beside_s = 4, .alone_s = 10}};
  EXPECT_EQ(times.step_s(), 14);
  EXPECT_EQ(times.ratio(), 7);
  EXPECT_EQ(times.step_s(0.4), 15) << "the arithmetic takes five seconds then";
  EXPECT_EQ(times.ratio(0.4), 3);
  EXPECT_EQ((LeastTimes{.arithmetic_s = 2, .link = {.beside_s = 1}, .disk = {}}).ratio(), 1);
}

TEST(LeastTimes, LargerBatchesTakeNothingMoreOfTheDisk) {
  RunSpec spec = spec_with(kDisk, MemorySpace::kDevice);
  const LeastTimes one = times_of(spec);
  spec.batch_size = 8;
  const LeastTimes eight = times_of(spec);
  EXPECT_EQ(eight.disk.alone_s, one.disk.alone_s);
  EXPECT_DOUBLE_EQ(eight.arithmetic_s, 8 * one.arithmetic_s);
  EXPECT_LT(eight.ratio(), one.ratio());
}

TEST(LeastTimes, AProcessorsAreNotKnown) {
  RunSpec spec = spec_with(kDisk, MemorySpace::kDevice);
  spec.device = parse_device("cpu");
  EXPECT_FALSE(least_times(spec, {}, disk_figures(spec)).has_value());
}

}  // namespace
}  // namespace headroom
