#include "virtual_gpu/device/memory/placement.h"

#include <algorithm>
#include <iterator>

namespace virtual_gpu {
namespace {

using Runs = std::map<uint32_t, uint32_t>;

constexpr uint32_t kHugePagePages = 1;  // the host's huge page, 2 MiB

// Returns the length of the joined run.
uint32_t join(Runs& runs, uint32_t first, uint32_t count) {
  auto after = runs.lower_bound(first);
  if (after != runs.end() && after->first == first + count) {
    count += after->second;
    after = runs.erase(after);
  }
  if (after != runs.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == first) return before->second += count;
  }
  runs[first] = count;
  return count;
}

}  // namespace

Placement::Placement(uint32_t pages, Gaps gaps) : gaps_(gaps) { unreserved_[0] = pages; }

Placement::Newest& Placement::shelf(const Region& region) {
  return shelves_[std::min(region.longest, kRegionPages)];
}

void Placement::file(Regions::iterator region, uint32_t longest) {
  shelf(region->second).erase(region->second.made);
  region->second.longest = longest;
  if (longest > 0) shelf(region->second)[region->second.made] = region->first;
}

// The first page of the newest region that may have such a hole.
std::optional<uint32_t> Placement::newest_with(uint32_t count) const {
  std::optional<uint32_t> found;
  uint64_t newest = 0;
  for (uint32_t length = std::min(count, kRegionPages); length <= kRegionPages; ++length) {
    for (const auto& [made, first] : shelves_[length]) {
      if (made < newest) break;
      if (regions_.at(first).longest < count) continue;  // only on the last shelf
      newest = made;
      found = first;
      break;
    }
  }
  return found;
}

// The shortest hole that fits, the lowest of equal ones. If there is none, refiles the region.
std::optional<uint32_t> Placement::take_hole(Regions::iterator region, uint32_t count) {
  Runs& holes = region->second.holes;
  auto best = holes.end();
  uint32_t longest = 0;
  for (auto hole = holes.begin(); hole != holes.end(); ++hole) {
    longest = std::max(longest, hole->second);
    if (hole->second < count || (best != holes.end() && hole->second >= best->second)) continue;
    best = hole;
    if (hole->second == count) break;
  }
  if (best == holes.end()) {
    file(region, longest);
    return std::nullopt;
  }
  const auto [first, length] = *best;
  holes.erase(best);
  if (length > count) holes[first + count] = length - count;
  region->second.used += count;
  if (holes.empty()) file(region, 0);
  return first;
}

std::optional<uint32_t> Placement::make_region(uint32_t count) {
  const uint32_t rounded = (count + kRegionPages - 1) / kRegionPages * kRegionPages;
  struct Attempt {
    uint32_t pages;   // of the region
    uint32_t needed;  // that must be free
  };
  const uint32_t more = gaps_ == Gaps::kLonger ? kHugePagePages : 0;
  for (const auto& [pages, needed] :
       {Attempt{rounded, rounded + more}, Attempt{rounded, rounded}, Attempt{count, count}}) {
    const auto run = std::find_if(unreserved_.rbegin(), unreserved_.rend(),
                                  [needed](const auto& free) { return free.second >= needed; });
    if (run == unreserved_.rend()) continue;
    run->second -= pages;
    const uint32_t first = run->first + run->second;
    if (run->second == 0) unreserved_.erase(first);
    const auto region = regions_.insert(
        {first, {.count = pages, .used = count, .made = ++made_, .longest = 0, .holes = {}}});
    if (pages > count) {
      region.first->second.holes[first + count] = pages - count;
      file(region.first, pages - count);
    }
    return first;
  }
  return std::nullopt;
}

std::optional<uint32_t> Placement::take(uint32_t count) {
  while (const auto newest = newest_with(count)) {
    if (const auto first = take_hole(regions_.find(*newest), count)) return first;
  }
  return make_region(count);
}

void Placement::give(uint32_t first, uint32_t count) {
  const auto region = std::prev(regions_.upper_bound(first));
  region->second.used -= count;
  if (region->second.used == 0) {
    file(region, 0);
    join(unreserved_, region->first, region->second.count);
    regions_.erase(region);
    return;
  }
  file(region, std::max(region->second.longest, join(region->second.holes, first, count)));
}

}  // namespace virtual_gpu
