// The peak of a card's memory in a test, for any test framework. Needs libtorch and nothing of
// headroom.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

#include <cstdint>

namespace headroom {

// The allocated peak of one card since this object was made; what was live before counts too.
//
//   headroom::PeakMemory peak;
//   train_one_step();
//   EXPECT_LE(peak.bytes(), int64_t{12} << 30);
class PeakMemory {
 public:
  explicit PeakMemory(c10::DeviceIndex device = 0) : device_(device) {
    c10::cuda::CUDACachingAllocator::resetPeakStats(device_);
  }

  int64_t bytes() const {
    constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
    return c10::cuda::CUDACachingAllocator::getDeviceStats(device_).allocated_bytes[kAll].peak;
  }

 private:
  c10::DeviceIndex device_;
};

}  // namespace headroom
