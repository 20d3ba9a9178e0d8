#include "profiling/lifetimes.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "profiling/saving.h"

namespace headroom {
namespace {

// Indices of lifetimes by address, in order of allocation.
using ByAddress = std::unordered_map<uint64_t, std::vector<size_t>>;

std::vector<Lifetime> replay(const Recording& recording, ByAddress& by_address) {
  std::vector<Lifetime> lifetimes;
  const auto add = [&](Lifetime lifetime) {
    by_address[lifetime.address].push_back(lifetimes.size());
    lifetimes.push_back(std::move(lifetime));
  };
  for (const LiveBlock& block : recording.live_at_start) {
    add({.address = block.address, .size = block.size});
  }
  for (size_t i = 0; i < recording.events.size(); ++i) {
    const TraceEvent& event = recording.events[i];
    const auto index = static_cast<int64_t>(i);
    if (event.action == TraceAction::kAlloc) {
      add({.address = event.address, .size = event.size, .allocated = index});
    } else if (event.action == TraceAction::kFreeCompleted) {
      const auto it = by_address.find(event.address);
      if (it != by_address.end()) lifetimes[it->second.back()].freed = index;
    }
  }
  return lifetimes;
}

void classify(Lifetime& lifetime, const Saving& saving) {
  if (lifetime.allocated == Lifetime::kBefore) {
    lifetime.category = Category::kOther;
    return;
  }
  const SavingSpan* span = saving.span_of(lifetime.allocated);
  if (span != nullptr && lifetime.live_after(span->cut)) lifetime.category = Category::kActivations;
}

void apply(const Owned& tag, const ByAddress& by_address, std::vector<Lifetime>& lifetimes) {
  const auto it = by_address.find(tag.address);
  if (it == by_address.end()) return;
  // An address holds one block at a time: the last one allocated before the tag.
  const auto after = std::partition_point(it->second.begin(), it->second.end(), [&](size_t i) {
    return lifetimes[i].allocated < tag.event_index;
  });
  if (after == it->second.begin()) return;
  Lifetime& lifetime = lifetimes[*std::prev(after)];
  if (!lifetime.live_after(tag.event_index)) return;
  lifetime.category = tag.category;
  lifetime.name = tag.name;
}

}  // namespace

std::vector<Lifetime> lifetimes_of(const Recording& recording, const std::vector<Owned>& owned) {
  ByAddress by_address;
  std::vector<Lifetime> lifetimes = replay(recording, by_address);
  const Saving saving = saving_of(recording.marks);
  for (Lifetime& lifetime : lifetimes) classify(lifetime, saving);
  for (const Owned& tag : owned) apply(tag, by_address, lifetimes);
  return lifetimes;
}

}  // namespace headroom
