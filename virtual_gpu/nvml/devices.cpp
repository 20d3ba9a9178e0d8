// NVML: the cards, their identity and their memory.
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "virtual_gpu/device/visible.h"
#include "virtual_gpu/nvml/host.h"

using namespace virtual_gpu;
using namespace virtual_gpu::nvml;

namespace {

// Calls fill() if the library is initialized, the card exists and there is a place for the answer.
template <typename Fill>
Result answer(DeviceHandle device, const void* to, const Fill& fill) {
  if (const Result result = check(device); result != kSuccess) return result;
  if (to == nullptr) return kInvalidArgument;
  fill();
  return kSuccess;
}

Result find(int ordinal, DeviceHandle* device) {
  if (!is_initialized()) return kUninitialized;
  if (device == nullptr) return kInvalidArgument;
  *device = handle_of(ordinal);
  return *device == nullptr ? kInvalidArgument : kSuccess;
}

Result find_by_bus(const char* text, DeviceHandle* device) {
  unsigned domain = 0;
  unsigned bus = 0;
  if (text == nullptr || std::sscanf(text, "%x:%x", &domain, &bus) != 2) return kInvalidArgument;
  for (int i = 0; i < card_count(); ++i) {
    if (pci_bus_of(i) == static_cast<int>(bus)) return find(i, device);
  }
  return is_initialized() ? kNotFound : kUninitialized;
}

// Processes on a card: this one, where it uses CUDA. Other processes have cards of their own here.
template <typename Info>
Result list_processes(DeviceHandle device, unsigned* count, Info* infos) {
  if (const Result result = check(device); result != kSuccess) return result;
  if (count == nullptr) return kInvalidArgument;
  const uint64_t used = used_here(device->card);
  const unsigned room = *count;
  *count = used > 0 ? 1 : 0;
  if (*count == 0) return kSuccess;
  if (room == 0 || infos == nullptr) return kInsufficientSize;
  *infos = {};
  infos->pid = static_cast<uint32_t>(getpid());
  infos->used_bytes = used;
  return kSuccess;
}

}  // namespace

extern "C" {

Result nvmlDeviceGetCount_v2(unsigned* count) {
  if (!is_initialized()) return kUninitialized;
  if (count == nullptr) return kInvalidArgument;
  *count = static_cast<unsigned>(card_count());
  return kSuccess;
}

Result nvmlDeviceGetCount(unsigned* count) { return nvmlDeviceGetCount_v2(count); }

Result nvmlDeviceGetHandleByIndex_v2(unsigned index, DeviceHandle* device) {
  return find(static_cast<int>(index), device);
}

Result nvmlDeviceGetHandleByIndex(unsigned index, DeviceHandle* device) {
  return nvmlDeviceGetHandleByIndex_v2(index, device);
}

Result nvmlDeviceGetHandleByUUID(const char* uuid, DeviceHandle* device) {
  if (!is_initialized()) return kUninitialized;
  if (uuid == nullptr || device == nullptr) return kInvalidArgument;
  for (int i = 0; i < card_count(); ++i) {
    if (uuid_text(i) == uuid) return find(i, device);
  }
  return kNotFound;
}

Result nvmlDeviceGetHandleByPciBusId_v2(const char* text, DeviceHandle* device) {
  return find_by_bus(text, device);
}

Result nvmlDeviceGetHandleByPciBusId(const char* text, DeviceHandle* device) {
  return find_by_bus(text, device);
}

Result nvmlDeviceGetIndex(DeviceHandle device, unsigned* index) {
  return answer(device, index, [&] { *index = static_cast<unsigned>(device->card); });
}

Result nvmlDeviceGetMinorNumber(DeviceHandle device, unsigned* minor) {
  return nvmlDeviceGetIndex(device, minor);
}

Result nvmlDeviceGetName(DeviceHandle device, char* text, unsigned length) {
  const Result result = check(device);
  return result == kSuccess ? copy_text(card().name, text, length) : result;
}

Result nvmlDeviceGetUUID(DeviceHandle device, char* text, unsigned length) {
  const Result result = check(device);
  return result == kSuccess ? copy_text(uuid_text(device->card), text, length) : result;
}

Result nvmlDeviceGetCudaComputeCapability(DeviceHandle device, int* major, int* minor) {
  if (minor == nullptr) return kInvalidArgument;
  return answer(device, major, [&] {
    *major = card().major;
    *minor = card().minor;
  });
}

Result nvmlDeviceGetMaxClockInfo(DeviceHandle device, int clock, unsigned* megahertz) {
  const bool is_known = clock >= kGraphicsClock && clock <= kMemoryClock;
  if (!is_known) return kNotSupported;
  return answer(device, megahertz, [&] {
    const int kilohertz = clock == kMemoryClock ? card().memory_clock_khz : card().clock_khz;
    *megahertz = static_cast<unsigned>(kilohertz / 1000);
  });
}

Result nvmlDeviceGetPciInfo_v3(DeviceHandle device, PciInfo* info) {
  return answer(device, info, [&] {
    const auto bus = static_cast<uint32_t>(pci_bus_of(device->card));
    std::memset(info, 0, sizeof *info);
    info->bus = bus;
    std::snprintf(info->legacy_bus_id, sizeof info->legacy_bus_id, "0000:%02X:00.0", bus);
    std::snprintf(info->bus_id, sizeof info->bus_id, "00000000:%02X:00.0", bus);
  });
}

Result nvmlDeviceGetPciInfo_v2(DeviceHandle device, PciInfo* info) {
  return nvmlDeviceGetPciInfo_v3(device, info);
}

// CUDA's total: the memory that a driver reserves for itself is not known here.
Result nvmlDeviceGetMemoryInfo(DeviceHandle device, MemoryInfo* info) {
  return answer(device, info, [&] {
    const uint64_t used = used_here(device->card);
    *info = {card().total_bytes, card().total_bytes - used, used};
  });
}

Result nvmlDeviceGetMemoryInfo_v2(DeviceHandle device, MemoryInfoV2* info) {
  return answer(device, info, [&] {
    const uint64_t used = used_here(device->card);
    *info = {info->version, card().total_bytes, 0, card().total_bytes - used, used};
  });
}

Result nvmlDeviceGetMemoryBusWidth(DeviceHandle device, unsigned* bits) {
  return answer(device, bits, [&] { *bits = static_cast<unsigned>(card().memory_bus_bits); });
}

Result nvmlDeviceGetComputeRunningProcesses_v3(DeviceHandle device, unsigned* count,
                                               ProcessInfo* infos) {
  return list_processes(device, count, infos);
}

Result nvmlDeviceGetComputeRunningProcesses_v2(DeviceHandle device, unsigned* count,
                                               ProcessInfo* infos) {
  return list_processes(device, count, infos);
}

// libtorch asks this one when memory runs out.
Result nvmlDeviceGetComputeRunningProcesses(DeviceHandle device, unsigned* count,
                                            ProcessInfoV1* infos) {
  return list_processes(device, count, infos);
}

Result nvmlDeviceGetGraphicsRunningProcesses_v3(DeviceHandle device, unsigned* count, void*) {
  return answer(device, count, [&] { *count = 0; });
}

// The default: any number of processes.
Result nvmlDeviceGetComputeMode(DeviceHandle device, int* mode) {
  return answer(device, mode, [&] { *mode = 0; });
}

Result nvmlDeviceGetPersistenceMode(DeviceHandle device, int* mode) {
  return answer(device, mode, [&] { *mode = 1; });
}

// 5 is Volta, 6 Turing, 7 Ampere, 8 Ada, 9 Hopper, 10 Blackwell.
Result nvmlDeviceGetArchitecture(DeviceHandle device, unsigned* architecture) {
  return answer(device, architecture, [&] {
    const int capability = 10 * card().major + card().minor;
    *architecture = capability >= 100  ? 10
                    : capability >= 90 ? 9
                    : capability == 89 ? 8
                    : capability >= 80 ? 7
                    : capability >= 75 ? 6
                                       : 5;
  });
}

}  // extern "C"
