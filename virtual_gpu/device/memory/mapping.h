// The driver's virtual memory management: address ranges, physical handles, mappings between them.
// libtorch's expandable segments use these.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "virtual_gpu/device/status.h"

namespace virtual_gpu {

class Device;

// Mappings of one process. Ranges belong to no device until memory is mapped into them. Not
// synchronized: the caller holds the Machine's lock.
class Mappings {
 public:
  static constexpr uint64_t kGranularity = uint64_t{2} << 20;

  struct Physical {
    Device* device;
    uint64_t bytes;
    uint64_t references;  // the owner's and one per mapping
  };
  struct Mapping {
    uint64_t bytes;
    uint64_t handle;
  };

  Status reserve(uint64_t bytes, uint64_t alignment, uint64_t* address);
  Status release_range(uint64_t address, uint64_t bytes);

  Status create(Device& device, uint64_t bytes, uint64_t* handle);
  Status retain(uint64_t address, uint64_t* handle);  // adds a reference to the memory mapped there
  Status release(uint64_t handle);
  const Physical* find(uint64_t handle) const;

  Status map(uint64_t address, uint64_t bytes, uint64_t offset, uint64_t handle);
  Status unmap(uint64_t address, uint64_t bytes);
  Status set_access(uint64_t address, uint64_t bytes) const;  // the whole range must be mapped

  // The range that contains this address, and the device of the memory mapped there, or nullptr.
  bool contains(uint64_t address) const;
  std::optional<std::pair<uint64_t, uint64_t>> range_at(uint64_t address) const;  // begin, end
  Device* device_at(uint64_t address) const;
  std::optional<std::pair<uint64_t, uint64_t>> mapping(uint64_t address) const;  // begin, bytes

 private:
  void drop(uint64_t handle);
  std::optional<uint64_t> range_start(uint64_t address) const;
  std::map<uint64_t, Mapping>::const_iterator mapping_at(uint64_t address) const;

  std::map<uint64_t, uint64_t> ranges_;  // start -> bytes
  std::map<uint64_t, Mapping> mappings_;
  std::map<uint64_t, Physical> physical_;
  uint64_t next_handle_ = 1;
};

}  // namespace virtual_gpu
