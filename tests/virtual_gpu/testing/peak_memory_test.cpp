#include "virtual_gpu/testing/peak_memory.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

constexpr int64_t kMebi = 1 << 20;

TEST(PeakMemory, IsThatOfTheCodeAfterIt) {
  c10::cuda::CUDACachingAllocator::init(1);
  void* const kept = c10::cuda::CUDACachingAllocator::raw_alloc(8 * kMebi);
  c10::cuda::CUDACachingAllocator::raw_delete(
      c10::cuda::CUDACachingAllocator::raw_alloc(64 * kMebi));
  const PeakMemory peak;
  EXPECT_EQ(peak.bytes(), 8 * kMebi);
  c10::cuda::CUDACachingAllocator::raw_delete(
      c10::cuda::CUDACachingAllocator::raw_alloc(32 * kMebi));
  EXPECT_EQ(peak.bytes(), 40 * kMebi);
  c10::cuda::CUDACachingAllocator::raw_delete(kept);
}

}  // namespace
}  // namespace headroom
