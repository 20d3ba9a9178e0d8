#include "virtual_gpu/device/memory/host_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iterator>

#include "virtual_gpu/device/device.h"

namespace virtual_gpu {
namespace {

// Smaller ranges are faster to write than to give back and fault in again.
constexpr uint64_t kWorthLooking = uint64_t{64} << 10;

// Does not write what is zero already, so that untouched pages stay unallocated.
void write_zeros(char* begin, const char* end) {
  static constexpr std::array<char, 4096> kZeros{};
  while (begin < end) {
    const size_t bytes = std::min(kZeros.size(), static_cast<size_t>(end - begin));
    if (std::memcmp(begin, kZeros.data(), bytes) != 0) std::memset(begin, 0, bytes);
    begin += bytes;
  }
}

char* aligned_up(char* address, size_t unit) {
  return address + (unit - reinterpret_cast<uint64_t>(address) % unit) % unit;
}

// Zeroes our own memory up to the last whole page, and returns that end. The kernel refuses locked
// pages: then only the part before the first whole page has been zeroed.
char* give_back_pages(char* begin, const char* end) {
  static const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  char* const first = aligned_up(begin, page);
  if (first >= end) return begin;
  write_zeros(begin, first);
  const size_t whole = static_cast<size_t>(end - first) / page * page;
  return madvise(first, whole, MADV_DONTNEED) == 0 ? first + whole : first;
}

}  // namespace

Status HostMemory::allocate(uint64_t bytes, Kind kind, Device* device, uint64_t* address) {
  *address = 0;
  if (bytes == 0) return kind == Kind::kManaged ? Status::kInvalidValue : Status::kOk;
  // May exceed the host's memory: pages exist only once touched.
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
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

void HostMemory::set_zero(void* memory, uint64_t bytes) const {
  if (bytes < kWorthLooking) {
    std::memset(memory, 0, bytes);
    return;
  }
  auto* begin = static_cast<char*>(memory);
  char* const end = begin + bytes;
  const auto block = find(reinterpret_cast<uint64_t>(begin));
  if (block && block->kind != Kind::kRegistered) {
    char* const end_of_block =
        begin + (block->address + block->bytes - reinterpret_cast<uint64_t>(begin));
    begin = give_back_pages(begin, std::min(end, end_of_block));
  }
  write_zeros(begin, end);
}

uint64_t HostMemory::peak_pinned_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_pinned_;
}

}  // namespace virtual_gpu
