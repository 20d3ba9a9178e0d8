// NVML: the ways between cards of one host, and from a card to the processors.
#include "virtual_gpu/nvml/host.h"

using namespace virtual_gpu::nvml;

namespace {

bool has_nvlink() { return card().nvlink_channels > 0 && card_count() > 1; }

// Links of a card: 6 of Volta, 12 of an A100, 18 of Hopper and Blackwell.
unsigned link_count() {
  if (!has_nvlink()) return 0;
  constexpr unsigned kVolta = 6, kAmpere = 12, kHopper = 18;
  return card().major >= 9 ? kHopper : card().major == 8 ? kAmpere : kVolta;
}

}  // namespace

extern "C" {

// index: 0 reads, 1 writes, 2 NVLink, 3 atomics, 4 PCI. Status: 0 yes, 5 not supported.
Result nvmlDeviceGetP2PStatus(DeviceHandle device, DeviceHandle peer, int index, int* status) {
  if (const Result result = check(device); result != kSuccess) return result;
  if (const Result result = check(peer); result != kSuccess) return result;
  constexpr int kNvlink = 2, kAtomics = 3, kOk = 0, kNo = 5;
  if (status == nullptr || index < 0 || device == peer) return kInvalidArgument;
  const bool needs_nvlink = index == kNvlink || index == kAtomics;
  *status = needs_nvlink && !has_nvlink() ? kNo : kOk;
  return kSuccess;
}

Result nvmlDeviceGetNvLinkState(DeviceHandle device, unsigned link, int* is_active) {
  if (const Result result = check(device); result != kSuccess) return result;
  if (link_count() == 0) return kNotSupported;
  if (is_active == nullptr || link >= link_count()) return kInvalidArgument;
  *is_active = 1;
  return kSuccess;
}

// 40 is "one NUMA node": cards of one host.
Result nvmlDeviceGetTopologyCommonAncestor(DeviceHandle device, DeviceHandle peer, int* level) {
  if (const Result result = check(device); result != kSuccess) return result;
  if (const Result result = check(peer); result != kSuccess) return result;
  constexpr int kNode = 40;
  if (level == nullptr) return kInvalidArgument;
  *level = kNode;
  return kSuccess;
}

// All processors of the host.
Result nvmlDeviceGetCpuAffinity(DeviceHandle device, unsigned words, unsigned long* set) {
  if (const Result result = check(device); result != kSuccess) return result;
  if (set == nullptr) return kInvalidArgument;
  for (unsigned i = 0; i < words; ++i) set[i] = ~0UL;
  return kSuccess;
}

}  // extern "C"
