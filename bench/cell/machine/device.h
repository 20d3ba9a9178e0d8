// The device of a RunSpec to a torch device, and what differs from device to device.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "model/torch.h"
#include "profiling/tracker/memory_tracker.h"
#include "train/device/device.h"
#include "train/device/real_device.h"

namespace headroom {

// The device asked for is not on this machine. what() is one line that says what to use instead.
class UnsupportedDevice : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// "cpu", "cuda", "cuda:1"; "auto" is the first CUDA device when there is one, else the CPU;
// "virtual:..." is the first CUDA device of a process under the stand-in
// (bench/process/virtual_card.h).
torch::Device resolve_device(const Device& asked);

// What "auto" became, for whoever asks the spec.
Device settled(const Device& asked, torch::Device resolved);

// Waits until the device has done everything asked of it. The CPU always has.
void synchronize(torch::Device device);

// The tracker of the device's memory. The limit is of host allocations; 0 = none.
std::unique_ptr<MemoryTracker> make_tracker(torch::Device device, int64_t host_memory_bytes);

// The memories that a run on the device uses: the device's, and beside that of a card the host's,
// ordinary and pinned under one limit.
Memories track_memories(torch::Device device, int64_t host_memory_bytes);

// The same for a run that begins: what one before it in the same process left cached, and its
// peaks, are gone. `refused` gets the last allocation that was; it lives as long as any is made.
Memories open_memories(torch::Device device, int64_t host_memory_bytes,
                       std::optional<OutOfMemory>& refused);

}  // namespace headroom
