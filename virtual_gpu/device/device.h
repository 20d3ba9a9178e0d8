// One card: its used memory and the counts of its calls. It computes nothing.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <optional>

#include "virtual_gpu/device/call_stack.h"
#include "virtual_gpu/device/card.h"
#include "virtual_gpu/device/memory/address_space.h"
#include "virtual_gpu/device/status.h"

namespace virtual_gpu {

// Unreadable host addresses, aligned; nullopt if the process has no room left.
std::optional<uint64_t> reserve_addresses(uint64_t bytes, uint64_t alignment);
void release_addresses(uint64_t address, uint64_t bytes);

// Counts of one device's calls, for the report. Bytes and calls since the process began.
struct Counters {
  std::atomic<uint64_t> launches{0};
  std::atomic<uint64_t> graph_launches{0};
  std::atomic<uint64_t> matrix_products{0};
  std::atomic<uint64_t> matrix_product_flops{0};
  std::atomic<uint64_t> allocations{0};  // driver calls: cudaMalloc, cuMemCreate, pools
  std::atomic<uint64_t> frees{0};
  std::atomic<uint64_t> refused_allocations{0};  // out of memory
  std::atomic<uint64_t> bytes_to_device{0};
  std::atomic<uint64_t> bytes_to_host{0};
  std::atomic<uint64_t> copies_to_host{0};
  std::atomic<uint64_t> synchronizations{0};
};

class Device {
 public:
  // Throws std::bad_alloc if the process has no address space left.
  Device(const Card& card, int ordinal);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  // cudaMalloc and cudaFree. Zero bytes return kOk and a null address.
  Status allocate(uint64_t bytes, uint64_t* address);
  Status release(uint64_t address);
  std::optional<AddressSpace::Block> find(uint64_t address) const;
  bool contains(uint64_t address) const {
    return space_.contains(address) || pool_space_.contains(address);
  }

  // Addresses of a pool whose memory was taken with take(): they use no memory themselves.
  Status place(uint64_t bytes, uint64_t* address);
  Status unplace(uint64_t address);

  // Physical memory without an address here: cuMemCreate, managed memory, pools.
  bool take(uint64_t bytes);
  void give(uint64_t bytes);

  uint64_t used_bytes() const;  // without the context
  uint64_t peak_bytes() const;
  uint64_t free_bytes() const { return card_.total_bytes - card_.context_bytes - used_bytes(); }
  uint64_t refused_bytes() const;  // the largest request that was refused
  CallStack refused_at() const;    // the call stack of the last refused request

  // True once anything has used the device.
  bool has_context() const { return has_context_.load(std::memory_order_relaxed); }
  void make_context() { has_context_.store(true, std::memory_order_relaxed); }

  const Card& card() const { return card_; }
  int ordinal() const { return ordinal_; }
  Counters counters;

 private:
  bool fits(uint64_t bytes) const;
  void note_use();
  Status refuse(uint64_t bytes);

  const Card card_;
  const int ordinal_;
  std::atomic<bool> has_context_{false};
  mutable std::mutex mutex_;
  AddressSpace space_;
  AddressSpace pool_space_;
  uint64_t taken_bytes_ = 0;
  uint64_t peak_bytes_ = 0;
  uint64_t refused_bytes_ = 0;
  CallStack refused_at_;
};

}  // namespace virtual_gpu
