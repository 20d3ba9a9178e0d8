// Where something that a step owns is kept while nothing computes with it. No torch here.
#pragma once

#include <string>
#include <string_view>

#include "train/memory_space.h"

namespace headroom {

// What a flag takes that offloads something: "none" (it stays on the device), "cpu", "nvme".
const EnumWords<MemorySpace>& offload_words();

// The setting: "none", "cpu", "nvme:DIR[,keep]".
struct Offload {
  MemorySpace space = MemorySpace::kDevice;  // kDevice: nothing is offloaded
  bool keep = false;                         // its files stay when the run ends
  std::string directory;                     // of the files, where they are on a disk

  bool any() const { return space != MemorySpace::kDevice; }
  bool operator==(const Offload&) const = default;
};
std::string to_string(const Offload& offload);

// Throws UsageError on what is no setting. Whether the directory is there nobody looks at here.
Offload parse_offload(const std::string& flag, std::string_view typed);

}  // namespace headroom
