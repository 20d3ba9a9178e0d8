#include "bench/cell/as_new.h"

#include <ATen/Parallel.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/cuda/CUDAContextLight.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <sys/resource.h>

#include <fstream>
#include <optional>

#include "model/torch.h"

namespace headroom {
namespace {

namespace cuda = c10::cuda::CUDACachingAllocator;

// Bytes in use on the first card, with the CUDA context, which this call creates.
int64_t used_bytes() {
  const auto [free, total] = cuda::get()->getMemoryInfo(0);
  return static_cast<int64_t>(total) - static_cast<int64_t>(free);
}

void release_all() {
  at::cuda::clearCublasWorkspaces();
  at::autocast::clear_cache();
  cuda::emptyCache();
  cuda::resetPeakStats(0);
  at::getHostAllocator(at::kCUDA)->empty_cache();
  at::getHostAllocator(at::kCUDA)->reset_peak_stats();
}

}  // namespace

std::string begin_as_new() {
  std::ofstream("/proc/self/clear_refs") << 5;  // resets the peak of resident memory
  if (torch::cuda::device_count() == 0) return "";
  static std::optional<int64_t> at_first;
  if (!at_first) {
    at_first = used_bytes();
    return "";
  }
  release_all();
  const int64_t more = used_bytes() - *at_first;
  return more == 0 ? "" : std::to_string(more) + " B of the card are still in use";
}

int64_t max_resident_bytes() {
  std::ifstream file("/proc/self/status");
  for (std::string word; file >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmHWM:" && file >> kibibytes) return kibibytes * 1024;
  }
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return int64_t{usage.ru_maxrss} * 1024;
}

void set_threads(int64_t threads) {
  static const int libtorchs_choice = at::get_num_threads();
  at::set_num_threads(threads > 0 ? static_cast<int>(threads) : libtorchs_choice);
}

}  // namespace headroom
