#include "virtual_gpu/device/device.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace virtual_gpu {
namespace {

constexpr uint64_t kRegionBytes = Placement::kRegionPages * AddressSpace::kPageBytes;

// Twice the room for all pages: regions are rounded up, and a block must find a run of addresses
// even if freed ones are scattered. On a card addresses are as plentiful.
uint64_t address_bytes(const Card& card) {
  return (card.total_bytes / kRegionBytes + 1) * kRegionBytes * 2;
}

Gaps gaps_of(const Card& card) {
  return card.fills_gaps_exactly == 0 ? Gaps::kLonger : Gaps::kExact;
}

uint64_t must_reserve(uint64_t bytes) {
  const auto base = reserve_addresses(bytes, kRegionBytes);
  if (!base) throw std::bad_alloc();
  return *base;
}

}  // namespace

std::optional<uint64_t> reserve_addresses(uint64_t bytes, uint64_t alignment) {
  if (bytes + alignment < bytes) return std::nullopt;
  void* start = mmap(nullptr, bytes + alignment, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return std::nullopt;
  const auto address = reinterpret_cast<uint64_t>(start);
  const uint64_t aligned = (address + alignment - 1) / alignment * alignment;
  if (aligned > address) munmap(start, aligned - address);
  const uint64_t tail = address + alignment - aligned;
  if (tail > 0) munmap(reinterpret_cast<void*>(aligned + bytes), tail);
  // Exclude the range from core dumps: it holds nothing.
  madvise(reinterpret_cast<void*>(aligned), bytes, MADV_DONTDUMP);
  return aligned;
}

void release_addresses(uint64_t address, uint64_t bytes) {
  munmap(reinterpret_cast<void*>(address), bytes);
}

Device::Device(const Card& card, int ordinal)
    : card_(card),
      ordinal_(ordinal),
      space_(must_reserve(address_bytes(card)), address_bytes(card), gaps_of(card)),
      pool_space_(must_reserve(address_bytes(card)), address_bytes(card), gaps_of(card)) {}

Device::~Device() {
  release_addresses(space_.base(), address_bytes(card_));
  release_addresses(pool_space_.base(), address_bytes(card_));
}

bool Device::fits(uint64_t bytes) const {
  const uint64_t used = space_.used_bytes() + taken_bytes_;
  const uint64_t usable = card_.total_bytes - card_.context_bytes;
  return used <= usable && bytes <= usable - used;
}

void Device::note_use() { peak_bytes_ = std::max(peak_bytes_, space_.used_bytes() + taken_bytes_); }

Status Device::refuse(uint64_t bytes) {
  counters.refused_allocations.fetch_add(1, std::memory_order_relaxed);
  refused_bytes_ = std::max(refused_bytes_, bytes);
  refused_at_ = call_stack();
  return Status::kOutOfMemory;
}

Status Device::allocate(uint64_t bytes, uint64_t* address) {
  *address = 0;
  if (bytes == 0) return Status::kOk;
  make_context();
  const std::lock_guard lock(mutex_);
  // Check before placing: a request far beyond the card must cost nothing.
  if (bytes >= AddressSpace::kSharedPageLimit && !fits(bytes)) return refuse(bytes);
  const auto placed = space_.allocate(bytes);
  if (!placed) return refuse(bytes);
  if (!fits(0)) {
    space_.release(*placed);
    return refuse(bytes);
  }
  note_use();
  counters.allocations.fetch_add(1, std::memory_order_relaxed);
  *address = *placed;
  return Status::kOk;
}

Status Device::release(uint64_t address) {
  if (address == 0) return Status::kOk;
  const std::lock_guard lock(mutex_);
  if (!space_.release(address)) return Status::kInvalidValue;
  counters.frees.fetch_add(1, std::memory_order_relaxed);
  return Status::kOk;
}

std::optional<AddressSpace::Block> Device::find(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  return space_.contains(address) ? space_.find(address) : pool_space_.find(address);
}

Status Device::place(uint64_t bytes, uint64_t* address) {
  const std::lock_guard lock(mutex_);
  const auto placed = pool_space_.allocate(bytes);
  if (!placed) return Status::kOutOfMemory;
  *address = *placed;
  return Status::kOk;
}

Status Device::unplace(uint64_t address) {
  const std::lock_guard lock(mutex_);
  return pool_space_.release(address) ? Status::kOk : Status::kInvalidValue;
}

bool Device::take(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!fits(bytes)) {
    refuse(bytes);
    return false;
  }
  taken_bytes_ += bytes;
  note_use();
  counters.allocations.fetch_add(1, std::memory_order_relaxed);
  return true;
}

void Device::give(uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  taken_bytes_ -= bytes;
  counters.frees.fetch_add(1, std::memory_order_relaxed);
}

uint64_t Device::used_bytes() const {
  const std::lock_guard lock(mutex_);
  return space_.used_bytes() + taken_bytes_;
}

uint64_t Device::peak_bytes() const {
  const std::lock_guard lock(mutex_);
  return peak_bytes_;
}

uint64_t Device::refused_bytes() const {
  const std::lock_guard lock(mutex_);
  return refused_bytes_;
}

CallStack Device::refused_at() const {
  const std::lock_guard lock(mutex_);
  return refused_at_;
}

}  // namespace virtual_gpu
