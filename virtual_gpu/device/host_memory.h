// Host memory that CUDA knows: pinned (cudaHostAlloc), registered (cudaHostRegister) and managed
// (cudaMallocManaged). It is real memory; the books say which address is which.
//
// Note [Zeros without pages]
// Rationale: what a program moves off the card may be larger than this host's memory, and all of it
//   is zeros.
// Approach: pinned and managed memory has pages only where the host wrote. A copy from the card
//   gives the whole pages of its range back to the system, and they read as zero again; those it
//   covers in part are written. Memory that is not ours to give back (a program's own, registered
//   or not) is read first, and only what is not zero is written: reading takes no memory.
// Limits: a host that writes into its buffers pays for them. A request beyond the host's memory is
//   not refused, as it would be beside a card.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "virtual_gpu/device/status.h"

namespace virtual_gpu {

class Device;

class HostMemory {
 public:
  enum class Kind { kPinned, kRegistered, kManaged };
  struct Block {
    uint64_t address;
    uint64_t bytes;
    Kind kind;
    Device* device;  // managed: whose books it is on
  };

  // Zero, and without pages, until written to. kOutOfMemory when there are no addresses left.
  Status allocate(uint64_t bytes, Kind kind, Device* device, uint64_t* address);
  Status release(uint64_t address, Kind kind);
  Status add(uint64_t address, uint64_t bytes);  // cudaHostRegister
  Status remove(uint64_t address);
  std::optional<Block> find(uint64_t address) const;
  // Any host memory, known or not. Note [Zeros without pages]
  void set_zero(void* memory, uint64_t bytes) const;
  uint64_t peak_pinned_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  uint64_t pinned_ = 0;
  uint64_t peak_pinned_ = 0;
};

}  // namespace virtual_gpu
