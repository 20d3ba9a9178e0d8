#include "virtual_gpu/cudart/launch/kernels.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <vector>

namespace virtual_gpu {
namespace {

// The layout of a fat binary, as cuobjdump shows it: a wrapper that points to a header, followed by
// entries. Kind 1 is PTX, kind 2 machine code.
struct Wrapper {
  uint32_t magic;
  uint32_t version;
  const char* data;
};
constexpr uint32_t kWrapperMagic = 0x466243b1;
constexpr uint32_t kHeaderMagic = 0xba55ed50;
constexpr uint16_t kPtx = 1;
constexpr uint16_t kMachineCode = 2;

struct Header {
  uint32_t magic;
  uint16_t version;
  uint16_t header_bytes;
  uint64_t bytes;
};

struct Entry {
  uint16_t kind;
  uint16_t unused;
  uint32_t header_bytes;
  uint64_t bytes;
  uint32_t compressed_bytes;
  uint32_t options;
  uint16_t minor;
  uint16_t major;
  uint32_t architecture;  // 90 for sm_90
};

struct Registered {
  const void* function;
  void** fat_binary;
  const char* name;
  bool operator<(const Registered& other) const { return function < other.function; }
};

struct Kernels {
  std::mutex mutex;
  std::vector<Registered> registered;
  bool sorted = true;
};

// Constructors of other libraries register kernels, maybe before ours have run.
Kernels& kernels() {
  static auto* all = new Kernels();
  return *all;
}

KernelCode best_code(const void* fat_binary, int major, int minor) {
  const auto* wrapper = static_cast<const Wrapper*>(fat_binary);
  if (wrapper == nullptr || wrapper->magic != kWrapperMagic) return {};
  Header header;
  std::memcpy(&header, wrapper->data, sizeof header);
  if (header.magic != kHeaderMagic) return {};
  const int card = major * 10 + minor;
  int machine_code = 0;
  int ptx = 0;
  const char* at = wrapper->data + header.header_bytes;
  const char* end = at + header.bytes;
  while (at + sizeof(Entry) <= end) {
    Entry entry;
    std::memcpy(&entry, at, sizeof entry);
    const int architecture = static_cast<int>(entry.architecture);
    // Machine code runs on later minors of its major; PTX on every later architecture.
    if (entry.kind == kMachineCode && architecture <= card && architecture / 10 == major) {
      machine_code = std::max(machine_code, architecture);
    }
    if (entry.kind == kPtx && architecture <= card) ptx = std::max(ptx, architecture);
    at += entry.header_bytes + entry.bytes;
  }
  if (machine_code > 0) return {.ptx_version = machine_code, .binary_version = machine_code};
  if (ptx > 0) return {.ptx_version = ptx, .binary_version = card};
  return {};
}

std::optional<Registered> find(const void* function) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  if (!all.sorted) std::sort(all.registered.begin(), all.registered.end());
  all.sorted = true;
  const Registered wanted{.function = function, .fat_binary = nullptr, .name = nullptr};
  const auto found = std::lower_bound(all.registered.begin(), all.registered.end(), wanted);
  if (found == all.registered.end() || found->function != function) return std::nullopt;
  return *found;
}

}  // namespace

void register_kernel(const void* function, void** fat_binary, const char* name) {
  Kernels& all = kernels();
  const std::lock_guard lock(all.mutex);
  all.registered.push_back({.function = function, .fat_binary = fat_binary, .name = name});
  all.sorted = false;
}

// The handle is the address of the pointer to the wrapper; nothing else is read from it.
void** register_fat_binary(const void* wrapper) { return new void*(const_cast<void*>(wrapper)); }

KernelCode code_for(const void* function, int major, int minor) {
  const std::optional<Registered> found = find(function);
  return found ? best_code(*found->fat_binary, major, minor) : KernelCode{};
}

const char* kernel_name(const void* function) {
  const std::optional<Registered> found = find(function);
  return found ? found->name : nullptr;
}

}  // namespace virtual_gpu
