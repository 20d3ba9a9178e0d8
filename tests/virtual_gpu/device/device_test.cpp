#include "virtual_gpu/device/device.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tests/virtual_gpu/device/test_card.h"
#include "virtual_gpu/device/memory/mapping.h"

namespace virtual_gpu {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;

TEST(Device, TheContextIsNobodysToAllocate) {
  Device device(test_card(), 0);
  EXPECT_EQ(device.free_bytes(), 96 * kMiB);
  uint64_t address = 0;
  EXPECT_EQ(device.allocate(97 * kMiB, &address), Status::kOutOfMemory);
  EXPECT_EQ(address, 0U);
  EXPECT_EQ(device.allocate(96 * kMiB, &address), Status::kOk);
  EXPECT_EQ(device.free_bytes(), 0U);
  uint64_t more = 0;
  EXPECT_EQ(device.allocate(512, &more), Status::kOutOfMemory);
  EXPECT_EQ(device.release(address), Status::kOk);
  EXPECT_EQ(device.peak_bytes(), 96 * kMiB);
  EXPECT_EQ(device.used_bytes(), 0U);
}

TEST(Device, AHugeRequestIsRefusedAndNoted) {
  Device device(test_card(), 0);
  uint64_t address = 0;
  EXPECT_EQ(device.allocate(uint64_t{200} << 30, &address), Status::kOutOfMemory);
  EXPECT_EQ(device.allocate(UINT64_MAX, &address), Status::kOutOfMemory);
  EXPECT_EQ(device.counters.refused_allocations, 2U);
  EXPECT_EQ(device.used_bytes(), 0U);
}

TEST(Device, ForeignAndDoubleFreesAreErrors) {
  Device device(test_card(), 0);
  uint64_t address = 0;
  ASSERT_EQ(device.allocate(8 * kMiB, &address), Status::kOk);
  EXPECT_EQ(device.release(address + 512), Status::kInvalidValue);
  EXPECT_EQ(device.release(12345), Status::kInvalidValue);
  EXPECT_EQ(device.release(address), Status::kOk);
  EXPECT_EQ(device.release(address), Status::kInvalidValue);
  EXPECT_EQ(device.release(0), Status::kOk);
  EXPECT_EQ(device.allocate(0, &address), Status::kOk);
  EXPECT_EQ(address, 0U);
}

TEST(Device, ThreadsShareOneCard) {
  Device device(test_card(), 0);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&device, t] {
      for (int i = 0; i < 2000; ++i) {
        uint64_t address = 0;
        const uint64_t bytes = i % 2 == 0 ? 2 * kMiB : 700 * static_cast<uint64_t>(t + 1);
        if (device.allocate(bytes, &address) == Status::kOk) device.release(address);
        device.counters.launches.fetch_add(1, std::memory_order_relaxed);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(device.used_bytes(), 0U);
  EXPECT_EQ(device.counters.launches, 8000U);
}

class MappingTest : public testing::Test {
 protected:
  Device device{test_card(), 0};
  Mappings mappings;

  uint64_t range(uint64_t bytes) {
    uint64_t address = 0;
    EXPECT_EQ(mappings.reserve(bytes, 0, &address), Status::kOk);
    return address;
  }
  uint64_t memory(uint64_t bytes) {
    uint64_t handle = 0;
    EXPECT_EQ(mappings.create(device, bytes, &handle), Status::kOk);
    return handle;
  }
};

TEST_F(MappingTest, OnlyPhysicalMemoryCountsAgainstTheCard) {
  const uint64_t start = range(uint64_t{64} << 30);
  EXPECT_EQ(device.used_bytes(), 0U);
  const uint64_t handle = memory(20 * kMiB);
  EXPECT_EQ(device.used_bytes(), 20 * kMiB);
  EXPECT_EQ(mappings.map(start, 20 * kMiB, 0, handle), Status::kOk);
  EXPECT_EQ(mappings.device_at(start + 1), &device);
  EXPECT_EQ(mappings.device_at(start + 20 * kMiB), nullptr);
  uint64_t too_much = 0;
  EXPECT_EQ(mappings.create(device, 78 * kMiB, &too_much), Status::kOutOfMemory);
}

TEST_F(MappingTest, MemoryLivesUntilItsLastReference) {
  const uint64_t start = range(64 * kMiB);
  const uint64_t handle = memory(2 * kMiB);
  ASSERT_EQ(mappings.map(start, 2 * kMiB, 0, handle), Status::kOk);
  EXPECT_EQ(mappings.release(handle), Status::kOk);
  EXPECT_EQ(device.used_bytes(), 2 * kMiB) << "still mapped";
  EXPECT_EQ(mappings.unmap(start, 2 * kMiB), Status::kOk);
  EXPECT_EQ(device.used_bytes(), 0U);
  EXPECT_EQ(mappings.release(handle), Status::kInvalidValue);
}

TEST_F(MappingTest, WrongRangesAreRefused) {
  const uint64_t start = range(8 * kMiB);
  const uint64_t handle = memory(4 * kMiB);
  EXPECT_EQ(mappings.map(start + 512, 4 * kMiB, 0, handle), Status::kInvalidValue);
  EXPECT_EQ(mappings.map(start, 2 * kMiB, 0, handle), Status::kInvalidValue) << "not its size";
  EXPECT_EQ(mappings.map(start + 6 * kMiB, 4 * kMiB, 0, handle), Status::kInvalidValue);
  EXPECT_EQ(mappings.map(start, 4 * kMiB, 0, 99), Status::kInvalidValue) << "no such handle";
  ASSERT_EQ(mappings.map(start + 2 * kMiB, 4 * kMiB, 0, handle), Status::kOk);
  EXPECT_EQ(mappings.map(start, 4 * kMiB, 0, handle), Status::kInvalidValue) << "overlaps";
  EXPECT_EQ(mappings.set_access(start, 4 * kMiB), Status::kInvalidValue) << "a hole";
  EXPECT_EQ(mappings.set_access(start + 2 * kMiB, 4 * kMiB), Status::kOk);
  EXPECT_EQ(mappings.release_range(start, 8 * kMiB), Status::kInvalidValue) << "still mapped";
  EXPECT_EQ(mappings.unmap(start + 2 * kMiB, 2 * kMiB), Status::kInvalidValue) << "half of one";
  EXPECT_EQ(mappings.unmap(start + 2 * kMiB, 4 * kMiB), Status::kOk);
  EXPECT_EQ(mappings.release_range(start, 8 * kMiB), Status::kOk);
  uint64_t odd = 0;
  EXPECT_EQ(mappings.create(device, 3 * kMiB, &odd), Status::kInvalidValue) << "not whole pages";
}

}  // namespace
}  // namespace virtual_gpu
