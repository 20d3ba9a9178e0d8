// What blocks' parameters in a file take, there and in host memory. No torch here.
#pragma once

#include <cstdint>

#include "train/offload/disk/disk_layout.h"
#include "train/whole_units.h"

namespace headroom {

// One is copied to the card, one is read, and the one whose copy came before need not be waited
// for.
inline constexpr int64_t kStagedBlocks = 3;

// Whole pages, as O_DIRECT moves them.
inline int64_t on_pages(int64_t bytes) { return whole_units(bytes, DiskLayout::kPage); }

}  // namespace headroom
