// Storage of data that a step owns while nothing computes with it. No torch here.
#pragma once

#include <string>
#include <string_view>

#include "train/settings/memory_space.h"

namespace headroom {

// Values of an offload flag: "none" (stays on the device), "cpu", "nvme".
const EnumWords<MemorySpace>& offload_words();

// The setting: "none", "cpu", "nvme:DIR[,keep]".
struct Offload {
  MemorySpace space = MemorySpace::kDevice;  // kDevice: nothing is offloaded
  bool keep = false;                         // keep the files after the run
  std::string directory;                     // of the files, if on a disk

  bool any() const { return space != MemorySpace::kDevice; }
  bool operator==(const Offload&) const = default;
};
std::string to_string(const Offload& offload);

// Throws UsageError on any other text. Does not check that the directory exists.
Offload parse_offload(const std::string& flag, std::string_view typed);

}  // namespace headroom
