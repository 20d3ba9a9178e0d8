#include "bench/cell/machine/device.h"

#include "train/settings/device/address_limit.h"

namespace headroom {

torch::Device resolve_device(const Device& asked) {
  // torch::cuda::is_available() would warn on stderr with a toolkit but no driver.
  const auto count = static_cast<int>(torch::cuda::device_count());
  const torch::Device first(torch::kCUDA, 0);
  const auto refuse = [&](const std::string& problem) -> torch::Device {
    throw UnsupportedDevice("--device: '" + to_string(asked) + "' " + problem);
  };
  switch (asked.kind) {
    case DeviceKind::kAuto:
      return count > 0 ? first : torch::Device(torch::kCPU);
    case DeviceKind::kCpu:
      return {torch::kCPU};
    case DeviceKind::kVirtual:
      if (count > 0 && !is_real(first)) return first;
      if (const std::string limit = address_limit_in_words();
          under_virtual_card() && !limit.empty()) {
        return refuse("cannot reserve its addresses, about four times its memory: " + limit +
                      " (allowed: unlimited, or a smaller card)");
      }
      return refuse(
          "needs the virtual GPU preloaded into this program; start the program with headroom "
          "(example: headroom profile --model-size small --device virtual:h200)");
    case DeviceKind::kCuda:
      break;
  }
  const int index = asked.ordinal.value_or(0);
  if (index < count) return {torch::kCUDA, static_cast<c10::DeviceIndex>(index)};
  if (count == 0) {
    return refuse(
        "needs an NVIDIA card and its driver, and this machine has none; a virtual card has no "
        "times (headroom cards lists the cards), --device cpu has times "
        "(example: headroom profile --model-size small --device virtual:h200)");
  }
  return refuse("is not on this machine; allowed: cuda:0 to cuda:" + std::to_string(count - 1) +
                ", cpu, virtual:h200 (example: --device cuda:0)");
}

Device settled(const Device& asked, torch::Device resolved) {
  if (asked.kind != DeviceKind::kAuto) return asked;
  if (!resolved.is_cuda()) return {.kind = DeviceKind::kCpu};
  return {.kind = DeviceKind::kCuda, .ordinal = resolved.index()};
}

void synchronize(torch::Device device) {
  if (device.is_cuda()) torch::cuda::synchronize(device.index());
}

std::unique_ptr<MemoryTracker> make_tracker(torch::Device device, int64_t host_memory_bytes) {
  return device.is_cuda() ? make_cuda_tracker(device.index())
                          : make_host_tracker(host_memory_bytes);
}

Memories track_memories(torch::Device device, int64_t host_memory_bytes) {
  const MemorySpace space = device.is_cuda() ? MemorySpace::kDevice : MemorySpace::kHost;
  Memories memories;
  const auto add = [&](const std::string& name, MemorySpace of,
                       std::unique_ptr<MemoryTracker> tracker) {
    memories.push_back({name, of, std::move(tracker)});
  };
  add(to_string(space), space, make_tracker(device, host_memory_bytes));
  if (!device.is_cuda()) return memories;
  add("host", MemorySpace::kHost, make_host_tracker(host_memory_bytes));
  add("host_pinned", MemorySpace::kHost, make_pinned_tracker());
  return memories;
}

Memories open_memories(torch::Device device, int64_t host_memory_bytes,
                       std::optional<OutOfMemory>& refused) {
  Memories memories = track_memories(device, host_memory_bytes);
  for (const TrackedMemory& memory : memories) {
    memory.tracker->on_refusal([&refused, name = memory.name](const Refusal& refusal) {
      refused = OutOfMemory{.memory = name, .refusal = refusal};
    });
  }
  MemoryTracker& first = *memories.front().tracker;
  first.release_cached();
  first.reset_peak();
  return memories;
}

}  // namespace headroom
