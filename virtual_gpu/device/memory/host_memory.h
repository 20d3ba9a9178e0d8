// Host memory known to CUDA: pinned (cudaHostAlloc), registered (cudaHostRegister) and managed
// (cudaMallocManaged). It is real memory; this records its addresses.
//
// Note [Zeros without pages]
// Rationale: the data that a program moves off the card may exceed this host's memory, and all of
//   it is zeros.
// Approach: pinned and managed memory has pages only where the host wrote. A copy from the card
//   gives the whole pages of its range back to the system, and they read as zero again; partly
//   covered pages are written. Memory that cannot be given back (a program's own, registered or
//   not) is read first, and only nonzero bytes are written: reading allocates no memory.
// Limits: a host that writes into its buffers uses memory for them. Unlike beside a real card, a
//   request beyond the host's memory is not refused.
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
    Device* device;  // managed: the device that it is charged to
  };

  // Zero and without pages until written. kOutOfMemory if no addresses are left.
  Status allocate(uint64_t bytes, Kind kind, Device* device, uint64_t* address);
  Status release(uint64_t address, Kind kind);
  Status add(uint64_t address, uint64_t bytes);  // cudaHostRegister
  Status remove(uint64_t address);
  std::optional<Block> find(uint64_t address) const;
  // Works on any host memory. Note [Zeros without pages]
  void set_zero(void* memory, uint64_t bytes) const;
  uint64_t peak_pinned_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  uint64_t pinned_ = 0;
  uint64_t peak_pinned_ = 0;
};

}  // namespace virtual_gpu
