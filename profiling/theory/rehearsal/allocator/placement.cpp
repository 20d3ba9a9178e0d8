#include "profiling/theory/rehearsal/allocator/placement.h"

#include <algorithm>
#include <iterator>

#include "train/settings/whole_units.h"

namespace headroom {
namespace {

constexpr int64_t kRegion = 32 << 20;
constexpr int64_t kHugePage = 2 << 20;  // of the host

using Runs = std::map<int64_t, int64_t>;

void join(Runs& runs, int64_t first, int64_t length) {
  auto behind = runs.lower_bound(first);
  if (behind != runs.end() && behind->first == first + length) {
    length += behind->second;
    behind = runs.erase(behind);
  }
  if (behind != runs.begin()) {
    const auto before = std::prev(behind);
    if (before->first + before->second == first) {
      before->second += length;
      return;
    }
  }
  runs[first] = length;
}

}  // namespace

// Into the shortest hole of the newest region that has one, else into a region of its own at the
// upper end of the highest free addresses that are longer than the region.
int64_t SegmentAddresses::take(int64_t bytes) {
  for (auto region = regions_.rbegin(); region != regions_.rend(); ++region) {
    Runs& holes = region->second.holes;
    auto best = holes.end();
    for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
      if (hole->second < bytes) continue;
      if (best == holes.end() || hole->second < best->second) best = hole;
    }
    if (best == holes.end()) continue;
    const auto [first, length] = *best;
    holes.erase(best);
    if (length > bytes) holes[first + bytes] = length - bytes;
    region->second.used += bytes;
    return first;
  }
  const int64_t length = whole_units(bytes, kRegion);
  const auto run = std::find_if(free_.rbegin(), free_.rend(), [&](const auto& free) {
    return free.second >= length + kHugePage;
  });
  run->second -= length;
  const int64_t first = run->first + run->second;
  if (run->second == 0) free_.erase(first);
  Region& made = regions_[++made_];
  made = {.first = first, .length = length, .used = bytes, .holes = {}};
  if (length > bytes) made.holes[first + bytes] = length - bytes;
  made_at_[first] = made_;
  return first;
}

// A region without a segment goes.
void SegmentAddresses::give(int64_t address, int64_t bytes) {
  const auto at = std::prev(made_at_.upper_bound(address));
  Region& region = regions_[at->second];
  region.used -= bytes;
  if (region.used > 0) return join(region.holes, address, bytes);
  join(free_, region.first, region.length);
  regions_.erase(at->second);
  made_at_.erase(at);
}

}  // namespace headroom
