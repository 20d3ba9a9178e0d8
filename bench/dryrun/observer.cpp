// libheadroom_observer.so: reports the live memory of libtorch's allocator in a user's C++ program.
// Preloaded by `headroom dryrun`.
//
// Note [The observer]
// Rationale: the stand-in sees segments; the allocations inside them are known only to libtorch,
//   and a C++ program under dryrun has no hook to query it.
// Approach: compiled against libtorch's headers but not linked to it, because it is also loaded
//   into programs without libtorch. The allocator is a variable exported by libc10_cuda; one of
//   its virtual functions returns its statistics. The stand-in calls headroom_observe() when the
//   process ends (virtual_gpu/device/machine.h names it; neither includes the other). It is here
//   and not in virtual_gpu/, which has no torch.
//   The slot of a virtual function depends on the version. For versions other than the one it was
//   built for, the totals come from the reports that every allocator makes to libtorch's profiler
//   (Note [Blocks], bench/dryrun/breakdown/blocks.cpp): allocated and reserved bytes only.
//   They also keep the peaks that a program resets.
// Limits: requested bytes, retries and failures are known for the built version only.
#include <c10/core/Allocator.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <string>
#include <utility>

#include "bench/dryrun/loaded_symbol.h"

namespace {

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr int kMostDevices = 64;

// The totals of one device, from the events. The allocator writes them under its lock.
struct Totals {
  std::atomic<int64_t> allocated = 0;
  std::atomic<int64_t> reserved = 0;
  std::atomic<int64_t> peak_allocated = 0;
  std::atomic<int64_t> peak_reserved = 0;
  std::atomic<bool> is_used = false;
};
std::array<Totals, kMostDevices> totals;

void set_with_peak(std::atomic<int64_t>& value, std::atomic<int64_t>& peak, int64_t now) {
  value.store(now, std::memory_order_relaxed);
  if (now > peak.load(std::memory_order_relaxed)) peak.store(now, std::memory_order_relaxed);
}

void note_totals(int device, size_t allocated, size_t reserved) {
  if (device < 0 || device >= kMostDevices) return;
  Totals& of_device = totals[static_cast<size_t>(device)];
  set_with_peak(of_device.allocated, of_device.peak_allocated, static_cast<int64_t>(allocated));
  set_with_peak(of_device.reserved, of_device.peak_reserved, static_cast<int64_t>(reserved));
  of_device.is_used.store(true, std::memory_order_relaxed);
}

bool is_known(const std::string& version) {
  const std::string known =
      std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR) + ".";
  return version.compare(0, known.size(), known) == 0;
}

bool has_device = false;  // in the report
using Fields = std::initializer_list<std::pair<const char*, int64_t>>;

void add_device(std::FILE* file, int ordinal, Fields fields) {
  std::fprintf(file, "%s{\"ordinal\":%d", has_device ? "," : "", ordinal);
  has_device = true;
  for (const auto& [key, value] : fields) {
    std::fprintf(file, ",\"%s\":%lld", key, static_cast<long long>(value));
  }
  std::fputs("}", file);
}

// Stops when one throws: there are no more, or the allocator was never started.
void add_statistics(std::FILE* file, Allocator& allocator) {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  for (int i = 0; i < kMostDevices; ++i) {
    const Totals& known = totals[static_cast<size_t>(i)];
    try {
      const DeviceStats stats = allocator.getDeviceStats(static_cast<c10::DeviceIndex>(i));
      add_device(file, i,
                 {{"peak_allocated_bytes",
                   std::max<int64_t>(stats.allocated_bytes[kAll].peak, known.peak_allocated)},
                  {"peak_reserved_bytes",
                   std::max<int64_t>(stats.reserved_bytes[kAll].peak, known.peak_reserved)},
                  {"peak_requested_bytes", stats.requested_bytes[kAll].peak},
                  {"allocated_bytes", stats.allocated_bytes[kAll].current},
                  {"reserved_bytes", stats.reserved_bytes[kAll].current},
                  {"segments", stats.segment[kAll].current},
                  {"retries", stats.num_alloc_retries},
                  {"out_of_memory", stats.num_ooms}});
    } catch (...) {
      return;
    }
  }
}

// True if there was an event.
bool add_totals(std::FILE* file) {
  bool has_events = false;
  for (int i = 0; i < kMostDevices; ++i) {
    const Totals& known = totals[static_cast<size_t>(i)];
    if (!known.is_used) continue;
    has_events = true;
    add_device(file, i,
               {{"peak_allocated_bytes", known.peak_allocated},
                {"peak_reserved_bytes", known.peak_reserved},
                {"allocated_bytes", known.allocated},
                {"reserved_bytes", known.reserved}});
  }
  return has_events;
}

// The running allocator; null without libtorch or its CUDA, or if its CUDA was never used.
Allocator* running_allocator() {
  auto* variable = headroom::loaded_symbol<std::atomic<Allocator*>>(
      RTLD_DEFAULT, "/libc10_cuda.so", "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
  return variable == nullptr ? nullptr : variable->load();
}

// A text of libheadroom_blocks.so, which is loaded with --breakdown or --snapshot; "" without it.
std::string text_of(const char* function) {
  const auto call = reinterpret_cast<const char* (*)()>(dlsym(RTLD_DEFAULT, function));
  const char* const text = call == nullptr ? nullptr : call();
  return text == nullptr ? "" : text;
}

// `fields`: more of the report, each after a comma.
void write(const std::string& path, Allocator& allocator, const std::string& fields) {
  const std::string version = headroom::libtorch_version();
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "{\"pid\":%d,\"torch\":\"%s\",\"devices\":[", static_cast<int>(getpid()),
               version.c_str());
  bool is_readable = is_known(version);
  has_device = false;
  if (is_readable) {
    add_statistics(file, allocator);
  } else {
    is_readable = add_totals(file);
  }
  std::fprintf(file, "],\"readable\":%s%s}\n", is_readable ? "true" : "false", fields.c_str());
  std::fclose(file);
  std::rename(temporary.c_str(), path.c_str());
}

void write_all(const std::string& path) {
  Allocator* const allocator = running_allocator();
  if (allocator == nullptr) return;
  const std::string uses = text_of("headroom_program_breakdown");
  const std::string fields = uses.empty() ? "" : ",\"breakdown\":" + uses;
  write(path, *allocator, fields);
  // Afterwards, because it takes longer and the process may be killed before its end.
  const std::string snapshot = text_of("headroom_program_snapshot");
  if (snapshot.empty()) return;
  write(path, *allocator, fields + "," + snapshot.substr(1, snapshot.size() - 2));
}

}  // namespace

namespace c10 {

__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(
    void* ptr, int64_t alloc_size, size_t total_allocated, size_t total_reserved, Device device) {
  if (device.is_cuda()) note_totals(device.index(), total_allocated, total_reserved);
  using Report = void(void*, int64_t, size_t, size_t, Device);
  static Report* const own = headroom::loaded_symbol<Report>(
      RTLD_NEXT, "/libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
  if (own != nullptr) own(ptr, alloc_size, total_allocated, total_reserved, device);
}

}  // namespace c10

extern "C" void headroom_observe(const char* stem) {
  const std::string path = std::string(stem) + ".torch.json";
  // The Python hook has already written a fuller report, or this is the second call.
  if (access(path.c_str(), F_OK) != 0) write_all(path);
}
