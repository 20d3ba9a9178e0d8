#include "bench/cell/device.h"

#include <cstdlib>

#include "train/spec.h"

namespace headroom {

torch::Device resolve_device(const std::string& name) {
  // Not torch::cuda::is_available(): it warns on stderr when there is a toolkit but no driver.
  const auto count = static_cast<int>(torch::cuda::device_count());
  if (name == "cpu") return {torch::kCPU};
  if (name == "auto")
    return count > 0 ? torch::Device(torch::kCUDA, 0) : torch::Device(torch::kCPU);
  if (name.starts_with(kVirtualPrefix)) {
    const torch::Device first(torch::kCUDA, 0);
    if (count > 0 && !is_real(first)) return first;
    throw UnsupportedDevice("--device: '" + name +
                            "' needs the stand-in under this program; start it with headroom "
                            "(example: headroom profile --device virtual:h200)");
  }
  const int index = name == "cuda" ? 0 : std::stoi(name.substr(5));
  if (index < count) return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
  if (count == 0) {
    throw UnsupportedDevice("--device: '" + name +
                            "' needs an NVIDIA card and its driver, and this machine has none; "
                            "use --device cpu (example: --device cpu)");
  }
  throw UnsupportedDevice(
      "--device: '" + name +
      "' is not on this machine; allowed: cuda:0 to cuda:" + std::to_string(count - 1) + ", cpu");
}

bool is_real(torch::Device device) {
  return !device.is_cuda() || std::getenv("HEADROOM_VIRTUAL_CARD") == nullptr;
}

void synchronize(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

std::unique_ptr<MemoryTracker> make_tracker(torch::Device device, int64_t host_memory_bytes) {
  return device.is_cuda() ? make_cuda_tracker(device.index())
                          : make_host_tracker(host_memory_bytes);
}

}  // namespace headroom
