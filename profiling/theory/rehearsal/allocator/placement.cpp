#include "profiling/theory/rehearsal/allocator/placement.h"

#include <algorithm>
#include <iterator>
#include <utility>

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

void SegmentAddresses::measure_holes(size_t region) {
  longest_hole_[region] = 0;
  for (const auto& [first, length] : regions_[region].holes) {
    longest_hole_[region] = std::max(longest_hole_[region], length);
  }
}

// Into the shortest hole of the newest region that has one, else into a region of its own at the
// upper end of the highest free addresses that are longer than the region.
int64_t SegmentAddresses::take(int64_t bytes) {
  const auto newest = std::find_if(longest_hole_.rbegin(), longest_hole_.rend(),
                                   [&](int64_t longest) { return longest >= bytes; });
  if (newest != longest_hole_.rend()) {
    const size_t place = static_cast<size_t>(longest_hole_.rend() - newest) - 1;
    Runs& holes = regions_[place].holes;
    auto best = holes.end();
    for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
      if (hole->second < bytes) continue;
      if (best == holes.end() || hole->second < best->second) best = hole;
    }
    const auto [first, length] = *best;
    holes.erase(best);
    if (length > bytes) holes[first + bytes] = length - bytes;
    regions_[place].used += bytes;
    measure_holes(place);
    return first;
  }
  const int64_t length = whole_units(bytes, kRegion);
  const auto run = std::find_if(free_.rbegin(), free_.rend(), [&](const auto& free) {
    return free.second >= length + kHugePage;
  });
  run->second -= length;
  const int64_t first = run->first + run->second;
  if (run->second == 0) free_.erase(first);
  made_at_[first] = regions_.size();
  Region made = {.first = first, .length = length, .used = bytes, .holes = {}};
  if (length > bytes) made.holes[first + bytes] = length - bytes;
  longest_hole_.push_back(length - bytes);
  regions_.push_back(std::move(made));
  return first;
}

// A region without a segment goes.
void SegmentAddresses::give(int64_t address, int64_t bytes) {
  const auto at = std::prev(made_at_.upper_bound(address));
  const size_t place = at->second;
  Region& region = regions_[place];
  region.used -= bytes;
  if (region.used > 0) {
    join(region.holes, address, bytes);
  } else {
    join(free_, region.first, region.length);
    region.holes.clear();
    made_at_.erase(at);
  }
  measure_holes(place);
}

}  // namespace headroom
