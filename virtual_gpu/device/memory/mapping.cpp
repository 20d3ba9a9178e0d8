#include "virtual_gpu/device/memory/mapping.h"

#include <algorithm>
#include <iterator>

#include "virtual_gpu/device/device.h"

namespace virtual_gpu {
namespace {

bool is_whole(uint64_t bytes) { return bytes > 0 && bytes % Mappings::kGranularity == 0; }

}  // namespace

Status Mappings::reserve(uint64_t bytes, uint64_t alignment, uint64_t* address) {
  alignment = std::max(alignment, kGranularity);
  if (!is_whole(bytes) || (alignment & (alignment - 1)) != 0) return Status::kInvalidValue;
  const std::optional<uint64_t> start = reserve_addresses(bytes, alignment);
  if (!start) return Status::kOutOfMemory;
  ranges_[*start] = bytes;
  *address = *start;
  return Status::kOk;
}

Status Mappings::release_range(uint64_t address, uint64_t bytes) {
  const auto range = ranges_.find(address);
  if (range == ranges_.end() || range->second != bytes) return Status::kInvalidValue;
  const auto mapped = mappings_.lower_bound(address);
  if (mapped != mappings_.end() && mapped->first < address + bytes) return Status::kInvalidValue;
  release_addresses(address, bytes);
  ranges_.erase(range);
  return Status::kOk;
}

Status Mappings::create(Device& device, uint64_t bytes, uint64_t* handle) {
  if (!is_whole(bytes)) return Status::kInvalidValue;
  if (!device.take(bytes)) return Status::kOutOfMemory;
  *handle = next_handle_++;
  physical_[*handle] = {.device = &device, .bytes = bytes, .references = 1};
  return Status::kOk;
}

void Mappings::drop(uint64_t handle) {
  const auto found = physical_.find(handle);
  if (--found->second.references > 0) return;
  found->second.device->give(found->second.bytes);
  physical_.erase(found);
}

Status Mappings::release(uint64_t handle) {
  if (physical_.count(handle) == 0) return Status::kInvalidValue;
  drop(handle);
  return Status::kOk;
}

const Mappings::Physical* Mappings::find(uint64_t handle) const {
  const auto found = physical_.find(handle);
  return found == physical_.end() ? nullptr : &found->second;
}

std::map<uint64_t, Mappings::Mapping>::const_iterator Mappings::mapping_at(uint64_t address) const {
  auto after = mappings_.upper_bound(address);
  if (after == mappings_.begin()) return mappings_.end();
  const auto mapping = std::prev(after);
  return address < mapping->first + mapping->second.bytes ? mapping : mappings_.end();
}

Status Mappings::retain(uint64_t address, uint64_t* handle) {
  const auto mapping = mapping_at(address);
  if (mapping == mappings_.end()) return Status::kInvalidValue;
  *handle = mapping->second.handle;
  ++physical_.at(*handle).references;
  return Status::kOk;
}

Status Mappings::map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle) {
  const auto physical = physical_.find(handle);
  if (physical == physical_.end() || !is_whole(bytes) || address % kGranularity != 0 ||
      offset != 0 || bytes != physical->second.bytes) {
    return Status::kInvalidValue;
  }
  const auto start = range_start(address);
  if (!start || address + bytes > *start + ranges_.at(*start)) return Status::kInvalidValue;
  const auto next = mappings_.lower_bound(address);
  const bool overlaps = mapping_at(address) != mappings_.end() ||
                        (next != mappings_.end() && next->first < address + bytes);
  if (overlaps) return Status::kInvalidValue;
  mappings_[address] = {.bytes = bytes, .handle = handle};
  ++physical->second.references;
  return Status::kOk;
}

Status Mappings::unmap(uint64_t address, uint64_t bytes) {
  const auto first = mappings_.find(address);
  auto last = first;
  uint64_t end = address;
  while (last != mappings_.end() && last->first == end && end < address + bytes) {
    end += last->second.bytes;
    ++last;
  }
  if (bytes == 0 || end != address + bytes) return Status::kInvalidValue;
  for (auto mapping = first; mapping != last; ++mapping) drop(mapping->second.handle);
  mappings_.erase(first, last);
  return Status::kOk;
}

Status Mappings::set_access(uint64_t address, uint64_t bytes) const {
  for (uint64_t at = address; at < address + bytes;) {
    const auto mapping = mapping_at(at);
    if (mapping == mappings_.end()) return Status::kInvalidValue;
    at = mapping->first + mapping->second.bytes;
  }
  return bytes > 0 ? Status::kOk : Status::kInvalidValue;
}

std::optional<uint64_t> Mappings::range_start(uint64_t address) const {
  const auto after = ranges_.upper_bound(address);
  if (after == ranges_.begin()) return std::nullopt;
  const auto range = std::prev(after);
  if (address >= range->first + range->second) return std::nullopt;
  return range->first;
}

std::optional<std::pair<uint64_t, uint64_t>> Mappings::range_at(uint64_t address) const {
  const auto start = range_start(address);
  if (!start) return std::nullopt;
  return std::pair(*start, *start + ranges_.at(*start));
}

bool Mappings::contains(uint64_t address) const { return range_start(address).has_value(); }

std::optional<std::pair<uint64_t, uint64_t>> Mappings::mapping(uint64_t address) const {
  const auto found = mapping_at(address);
  if (found == mappings_.end()) return std::nullopt;
  return std::pair(found->first, found->second.bytes);
}

Device* Mappings::device_at(uint64_t address) const {
  const auto mapping = mapping_at(address);
  if (mapping == mappings_.end()) return nullptr;
  return physical_.at(mapping->second.handle).device;
}

}  // namespace virtual_gpu
