#include "virtual_gpu/device/host_memory.h"

#include <sys/mman.h>

#include <algorithm>

#include "virtual_gpu/device/device.h"

namespace virtual_gpu {

Status HostMemory::allocate(uint64_t bytes, Kind kind, Device* device, uint64_t* address) {
  *address = 0;
  if (bytes == 0) return kind == Kind::kManaged ? Status::kInvalidValue : Status::kOk;
  // Managed memory may be larger than the host: pages exist only when touched.
  const int reserve = kind == Kind::kManaged ? MAP_NORESERVE : 0;
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | reserve, -1, 0);
  if (memory == MAP_FAILED) return Status::kOutOfMemory;
  *address = reinterpret_cast<uint64_t>(memory);
  const std::lock_guard lock(mutex_);
  blocks_[*address] = {.address = *address, .bytes = bytes, .kind = kind, .device = device};
  if (kind == Kind::kPinned) {
    pinned_ += bytes;
    peak_pinned_ = std::max(peak_pinned_, pinned_);
  }
  return Status::kOk;
}

Status HostMemory::release(uint64_t address, Kind kind) {
  if (address == 0) return Status::kOk;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.kind != kind) return Status::kInvalidValue;
  if (kind == Kind::kPinned) pinned_ -= found->second.bytes;
  munmap(reinterpret_cast<void*>(address), found->second.bytes);
  blocks_.erase(found);
  return Status::kOk;
}

Status HostMemory::add(uint64_t address, uint64_t bytes) {
  if (address == 0 || bytes == 0) return Status::kInvalidValue;
  const std::lock_guard lock(mutex_);
  const bool added = blocks_
                         .try_emplace(address, Block{.address = address,
                                                     .bytes = bytes,
                                                     .kind = Kind::kRegistered,
                                                     .device = nullptr})
                         .second;
  return added ? Status::kOk : Status::kIllegalState;
}

Status HostMemory::remove(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  if (found == blocks_.end() || found->second.kind != Kind::kRegistered) {
    return Status::kInvalidValue;
  }
  blocks_.erase(found);
  return Status::kOk;
}

std::optional<HostMemory::Block> HostMemory::find(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const auto after = blocks_.upper_bound(address);
  if (after == blocks_.begin()) return std::nullopt;
  const Block& block = std::prev(after)->second;
  if (address >= block.address + block.bytes) return std::nullopt;
  return block;
}

uint64_t HostMemory::peak_pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_pinned_;
}

}  // namespace virtual_gpu
