// The simulated card, as the environment describes it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace virtual_gpu {

// Properties that a program can query. Set by the parent process from cards.json.
struct Card {
  std::string name;  // the driver's name: "NVIDIA H200"
  int major = 0;     // compute capability
  int minor = 0;
  int multiprocessors = 0;
  uint64_t total_bytes = 0;    // as reported by the driver
  uint64_t context_bytes = 0;  // taken by the CUDA context; not allocatable
  int threads_per_multiprocessor = 2048;
  int blocks_per_multiprocessor = 32;
  uint64_t shared_memory_per_block = 49152;
  uint64_t shared_memory_per_block_optin = 49152;
  uint64_t shared_memory_per_multiprocessor = 65536;
  uint64_t reserved_shared_memory_per_block = 1024;
  int registers_per_multiprocessor = 65536;
  uint64_t l2_bytes = 0;
  int memory_bus_bits = 0;
  int memory_clock_khz = 0;
  int clock_khz = 0;
  int fills_gaps_exactly = 0;  // 1: the host's Linux is older than 6.7 (Note [Placement])
  int nvlink_channels = 0;     // between such cards of one host, for NCCL; 0 = PCIe
};

// "name=NVIDIA H200;compute_capability=9.0;multiprocessors=132;total_bytes=...", by the members'
// names. Throws std::invalid_argument with one line that names the key.
Card parse_card(std::string_view text);

}  // namespace virtual_gpu
