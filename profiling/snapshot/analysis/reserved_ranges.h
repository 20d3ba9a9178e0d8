// Address ranges that a device's allocator holds reserved. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

using ReservedRanges =
    std::map<uint64_t, int64_t>;  // bytes by first address; ranges do not overlap

// Removes the range, also from the middle of a longer one.
void remove_range(ReservedRanges& ranges, uint64_t begin, int64_t size);

// The ranges before the first event: the final segments with every event undone.
ReservedRanges reserved_before(const Snapshot& snapshot, size_t device);

}  // namespace headroom
