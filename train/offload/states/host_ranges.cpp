#include "train/offload/states/host_ranges.h"

#include <algorithm>
#include <iterator>

#include "train/settings/whole_units.h"

namespace headroom {

std::vector<HostRanges::Range> HostRanges::take(int64_t bytes,
                                                const std::function<void()>& add_slab) {
  std::vector<Range> taken;
  for (int64_t left = whole_units(bytes, kUnit); left > 0;) {
    if (free_.empty()) {
      try {
        add_slab();
      } catch (...) {
        give_back(taken);
        throw;
      }
      give_back(Range{slabs_ * kSlab, (slabs_ + 1) * kSlab});
      ++slabs_;
    }
    const auto [first, end] = *free_.begin();
    const int64_t slab_end = (first / kSlab + 1) * kSlab;
    const int64_t stop = std::min({end, slab_end, first + left});
    free_.erase(free_.begin());
    if (stop < end) free_.emplace(stop, end);
    taken.push_back({first, stop});
    left -= stop - first;
  }
  return taken;
}

void HostRanges::give_back(const std::vector<Range>& ranges) {
  for (const Range& range : ranges) give_back(range);
}

void HostRanges::give_back(Range range) {
  const auto after = free_.find(range.end);
  if (after != free_.end()) {
    range.end = after->second;
    free_.erase(after);
  }
  const auto next = free_.lower_bound(range.first);
  if (next != free_.begin() && std::prev(next)->second == range.first) {
    std::prev(next)->second = range.end;
    return;
  }
  free_.emplace(range.first, range.end);
}

}  // namespace headroom
