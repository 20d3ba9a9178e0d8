// Sizes of blocks' parameters in a file, there and in host memory. No torch here.
#pragma once

#include <cstdint>

#include "train/offload/disk/disk_layout.h"
#include "train/settings/whole_units.h"

namespace headroom {

// One block is copied to the card, one is read, and the third's earlier copy need not be waited
// for.
inline constexpr int64_t kStagedBlocks = 3;

// Rounded up to whole pages, for O_DIRECT.
inline int64_t on_pages(int64_t bytes) { return whole_units(bytes, DiskLayout::kPage); }

}  // namespace headroom
