#include "virtual_gpu/device/memory/host_memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <vector>

namespace virtual_gpu {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kBytes = 40 * kPage + 100;  // the last page is not whole

class HostMemoryTest : public testing::Test {
 protected:
  uint8_t* pinned(uint64_t bytes = kBytes) {
    uint64_t address = 0;
    EXPECT_EQ(host.allocate(bytes, HostMemory::Kind::kPinned, nullptr, &address), Status::kOk);
    return reinterpret_cast<uint8_t*>(address);
  }
  // Fills with ones, zeroes a part, and checks that only that part has changed.
  void expect_zero_there_alone(uint8_t* memory, uint64_t first, uint64_t bytes) {
    std::fill_n(memory, kBytes, uint8_t{1});
    host.set_zero(memory + first, bytes);
    EXPECT_EQ(std::count(memory, memory + kBytes, 0), static_cast<int64_t>(bytes));
    EXPECT_EQ(std::count(memory + first, memory + first + bytes, 0), static_cast<int64_t>(bytes));
  }
  void expect_zero_wherever_asked(uint8_t* memory) {
    for (const uint64_t first : {uint64_t{0}, uint64_t{1}, kPage - 1, kPage, kPage + 17}) {
      for (const uint64_t bytes :
           {uint64_t{0}, uint64_t{1}, kPage, 16 * kPage, 20 * kPage + 33, kBytes - first}) {
        SCOPED_TRACE(std::to_string(first) + " " + std::to_string(bytes));
        expect_zero_there_alone(memory, first, bytes);
      }
    }
  }
  HostMemory host;
};

TEST_F(HostMemoryTest, PinnedMemoryIsZeroWhereAsked) { expect_zero_wherever_asked(pinned()); }

TEST_F(HostMemoryTest, MemoryThatCudaDoesNotKnowIsZeroWhereAsked) {
  std::vector<uint8_t> memory(kBytes);
  expect_zero_wherever_asked(memory.data());
}

TEST_F(HostMemoryTest, RegisteredMemoryIsZeroAndKeepsItsPages) {
  // A shared mapping: its pages must not be released.
  void* shared = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  ASSERT_EQ(host.add(reinterpret_cast<uint64_t>(shared), kBytes), Status::kOk);
  expect_zero_wherever_asked(static_cast<uint8_t*>(shared));
  munmap(shared, kBytes);
}

TEST_F(HostMemoryTest, LockedMemoryIsZeroToo) {
  uint8_t* memory = pinned();
  if (mlock(memory, kBytes) != 0) GTEST_SKIP() << "nothing may be locked here";
  expect_zero_wherever_asked(memory);
}

TEST_F(HostMemoryTest, AddressesBehindABlockAreNotItsPages) {
  // Linux assigns addresses downwards: once no hole is left, a block is placed right before the
  // previous mapping.
  uint8_t* memory = nullptr;
  void* behind = nullptr;
  for (int i = 0; i < 100 && (memory == nullptr || behind != memory + 128 * kPage); ++i) {
    behind = mmap(nullptr, 64 * kPage, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memory = pinned(128 * kPage);
  }
  if (behind != memory + 128 * kPage) GTEST_SKIP() << "it did not";
  std::fill_n(memory, 192 * kPage, uint8_t{1});
  host.set_zero(memory, 192 * kPage);
  EXPECT_EQ(std::count(memory, memory + 192 * kPage, 0), static_cast<int64_t>(192 * kPage));
  munmap(behind, 64 * kPage);
}

}  // namespace
}  // namespace virtual_gpu
