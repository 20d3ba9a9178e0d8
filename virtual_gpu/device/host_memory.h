// Host memory that CUDA knows: pinned (cudaHostAlloc), registered (cudaHostRegister) and managed
// (cudaMallocManaged). It is real memory; the books say which address is which.
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

  // Real pages, zero until written to. kOutOfMemory when the host has none.
  Status allocate(uint64_t bytes, Kind kind, Device* device, uint64_t* address);
  Status release(uint64_t address, Kind kind);
  Status add(uint64_t address, uint64_t bytes);  // cudaHostRegister
  Status remove(uint64_t address);
  std::optional<Block> find(uint64_t address) const;
  uint64_t peak_pinned_bytes() const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Block> blocks_;
  uint64_t pinned_ = 0;
  uint64_t peak_pinned_ = 0;
};

}  // namespace virtual_gpu
