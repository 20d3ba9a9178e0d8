// The parts of NVML's binary interface that the stand-in answers: numbers and layouts as NVML 13
// has them. No header of NVML is needed to build.
#pragma once

#include <cstdint>

namespace virtual_gpu::nvml {

enum Result : int {
  kSuccess = 0,
  kUninitialized = 1,
  kInvalidArgument = 2,
  kNotSupported = 3,
  kNotFound = 6,
  kInsufficientSize = 7,
  kDriverNotLoaded = 9,
};

// nvmlClockType_t.
enum Clock : int { kGraphicsClock = 0, kSmClock = 1, kMemoryClock = 2 };

// One card of the host. NVML's handle is a pointer to it.
struct Handle {
  int card = 0;
};
using DeviceHandle = const Handle*;

struct MemoryInfo {  // bytes
  uint64_t total, free, used;
};

struct MemoryInfoV2 {
  uint32_t version;
  uint64_t total, reserved, free, used;
};

struct PciInfo {
  char legacy_bus_id[16];
  uint32_t domain, bus, device;
  uint32_t device_id, subsystem_id;
  char bus_id[32];
};

struct ProcessInfoV1 {
  uint32_t pid;
  uint64_t used_bytes;
};

// The layout of versions 2 and 3 of the query.
struct ProcessInfo {
  uint32_t pid;
  uint64_t used_bytes;
  uint32_t gpu_instance, compute_instance;  // of MIG
};

}  // namespace virtual_gpu::nvml
