#include "virtual_gpu/device/streams/watchdog.h"

#include <pthread.h>

#include <array>
#include <string_view>
#include <thread>

namespace virtual_gpu {
namespace {

// A look is a query for each collective, one after the other.
constexpr std::chrono::milliseconds kLook{2};

// In torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, of all versions from 2.4 on.
bool is_watchdog() {
  std::array<char, 16> name{};
  if (pthread_getname_np(pthread_self(), name.data(), name.size()) != 0) return false;
  return std::string_view(name.data()) == "pt_nccl_watchdg";
}

}  // namespace

void Watchdog::query() {
  static thread_local const bool looks = is_watchdog();
  if (!looks) return;
  const std::lock_guard lock(mutex_);
  seen_ = issued_.load(std::memory_order_relaxed);
  looked_.notify_all();
}

void Watchdog::host_wait(bool is_late) {
  {
    std::unique_lock lock(mutex_);
    const uint64_t issued = issued_.load(std::memory_order_relaxed);
    if (in_vain_ >= kMostInVain || issued == (is_late ? ended_ : seen_)) return;
    const uint64_t wanted = is_late ? ended_ : issued;
    const bool came = looked_.wait_for(lock, longest_, [&] { return seen_ >= wanted; });
    in_vain_ = came ? 0 : in_vain_ + 1;
    if (is_late) {
      seen_ = 0;
      ended_ = issued;
    }
  }
  std::this_thread::sleep_for(kLook);
}

}  // namespace virtual_gpu
