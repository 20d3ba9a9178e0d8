// Maps a RunSpec's device to a torch device, and handles the differences between devices.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "model/torch.h"
#include "profiling/tracker/memory_tracker.h"
#include "train/settings/device/device.h"
#include "train/settings/device/real_device.h"

namespace headroom {

// The requested device is not on this machine. what() is one line with an alternative.
class UnsupportedDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "cpu", "cuda", "cuda:1"; "auto" is the first CUDA device if there is one, otherwise the CPU;
// "virtual:..." is the first CUDA device of a process under the stand-in
// (bench/process/virtual_card.h).
torch::Device resolve_device(const Device& asked);

// Replaces "auto" by the device that it resolved to.
Device settled(const Device& asked, torch::Device resolved);

// Waits until the device has finished all work. Does nothing for the CPU.
void synchronize(torch::Device device);

// The tracker of the device's memory. The limit applies to host allocations; 0 = none.
std::unique_ptr<MemoryTracker> make_tracker(torch::Device device, int64_t host_memory_bytes);

// The memories that a run on the device uses: the device's own and, for a card, also the host's:
// ordinary and pinned, under one limit.
Memories track_memories(torch::Device device, int64_t host_memory_bytes);

// The same for a new run: drops an earlier run's cached memory and peaks in the same process.
// `refused` receives the last refused allocation and must outlive all allocations.
Memories open_memories(torch::Device device, int64_t host_memory_bytes,
                       std::optional<OutOfMemory>& refused);

}  // namespace headroom
