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
// Limits: the slot of a virtual function depends on the version, so versions other than the one it
//   was built for are not read. A program that resets its peaks hides the earlier ones.
#include <c10/cuda/CUDACachingAllocator.h>
#include <dlfcn.h>
#include <link.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>

// The libtorch that this library was compiled for: "2.11". Python's hook asks (headroom_built.py).
extern "C" const char* headroom_observed_torch() {
  return C10_STRINGIZE(TORCH_VERSION_MAJOR) "." C10_STRINGIZE(TORCH_VERSION_MINOR);
}

namespace {

using Allocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
using c10::CachingDeviceAllocator::DeviceStats;

constexpr int kMostDevices = 64;

struct Wanted {
  std::string name;  // "/libc10_cuda.so"
  std::string path;
};

int find_library(dl_phdr_info* library, size_t, void* data) {
  auto* wanted = static_cast<Wanted*>(data);
  const std::string path = library->dlpi_name;
  if (path.find(wanted->name) == std::string::npos) return 0;
  wanted->path = path;
  return 1;
}

// The program's own copy first (a program that refers to a library's variable holds it); otherwise
// the library's, however it was loaded: Python's libraries are not in the global scope.
template <typename T>
T* symbol(const char* library, const char* name) {
  if (void* found = dlsym(RTLD_DEFAULT, name)) return reinterpret_cast<T*>(found);
  Wanted wanted{library, ""};
  dl_iterate_phdr(find_library, &wanted);
  if (wanted.path.empty()) return nullptr;
  void* scope = dlopen(wanted.path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return scope == nullptr ? nullptr : reinterpret_cast<T*>(dlsym(scope, name));
}

// "2.11.0", from libtorch's stable C interface; "" before it existed (2.9).
std::string libtorch_version() {
  auto* version = symbol<uint64_t()>("/libtorch_cpu.so", "aoti_torch_abi_version");
  if (version == nullptr) return "";
  const uint64_t packed = version();
  const auto part = [&](int shift) { return std::to_string((packed >> shift) & 0xff); };
  return part(56) + "." + part(48) + "." + part(40);
}

bool is_known(const std::string& version) {
  const std::string known = std::string(headroom_observed_torch()) + ".";
  return version.compare(0, known.size(), known) == 0;
}

void add_device(std::FILE* file, int ordinal, const DeviceStats& stats) {
  constexpr auto kAll = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto add = [&](const char* key, int64_t value) {
    std::fprintf(file, ",\"%s\":%lld", key, static_cast<long long>(value));
  };
  std::fprintf(file, "%s{\"ordinal\":%d", ordinal == 0 ? "" : ",", ordinal);
  add("peak_allocated_bytes", stats.allocated_bytes[kAll].peak);
  add("peak_reserved_bytes", stats.reserved_bytes[kAll].peak);
  add("peak_requested_bytes", stats.requested_bytes[kAll].peak);
  add("allocated_bytes", stats.allocated_bytes[kAll].current);
  add("reserved_bytes", stats.reserved_bytes[kAll].current);
  add("segments", stats.segment[kAll].current);
  add("retries", stats.num_alloc_retries);
  add("out_of_memory", stats.num_ooms);
  std::fputs("}", file);
}

// Stops when one throws: there are no more, or the allocator was never started.
void add_devices(std::FILE* file, Allocator& allocator) {
  for (int i = 0; i < kMostDevices; ++i) {
    try {
      add_device(file, i, allocator.getDeviceStats(static_cast<c10::DeviceIndex>(i)));
    } catch (...) {
      return;
    }
  }
}

void write(const std::string& path) {
  auto* variable = symbol<std::atomic<Allocator*>>("/libc10_cuda.so",
                                                   "_ZN3c104cuda20CUDACachingAllocator9allocatorE");
  // No libtorch, or without CUDA, or its CUDA was never used.
  if (variable == nullptr || variable->load() == nullptr) return;
  const std::string version = libtorch_version();
  const std::string temporary = path + ".tmp";
  std::FILE* file = std::fopen(temporary.c_str(), "w");
  if (file == nullptr) return;
  std::fprintf(file, "{\"pid\":%d,\"torch\":\"%s\",\"devices\":[", static_cast<int>(getpid()),
               version.c_str());
  if (is_known(version)) add_devices(file, *variable->load());
  std::fprintf(file, "],\"readable\":%s}\n", is_known(version) ? "true" : "false");
  std::fclose(file);
  std::rename(temporary.c_str(), path.c_str());
}

}  // namespace

extern "C" void headroom_observe(const char* stem) {
  const std::string path = std::string(stem) + ".torch.json";
  // The Python hook has already written a fuller report, or this is the second call.
  if (access(path.c_str(), F_OK) != 0) write(path);
}
