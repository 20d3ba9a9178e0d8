#include "profiling/attribution.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "profiling/saving.h"

namespace headroom {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
constexpr int64_t kBefore = -1;  // allocated before the recording

// One block from its allocation to its release, in event indices.
struct Lifetime {
  uint64_t address = 0;
  int64_t size = 0;
  int64_t allocated = kBefore;
  int64_t freed = kNever;
  Category category = Category::kTemporaries;

  // Events 0 .. index-1 have happened.
  bool live_after(int64_t index) const { return allocated < index && freed >= index; }
};

struct Lifetimes {
  std::vector<Lifetime> all;
  std::unordered_map<uint64_t, std::vector<size_t>> by_address;  // in order of allocation
};

Lifetimes lifetimes_of(const Recording& recording) {
  Lifetimes lifetimes;
  const auto add = [&](Lifetime lifetime) {
    lifetimes.by_address[lifetime.address].push_back(lifetimes.all.size());
    lifetimes.all.push_back(lifetime);
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
      const auto it = lifetimes.by_address.find(event.address);
      if (it != lifetimes.by_address.end()) lifetimes.all[it->second.back()].freed = index;
    }
  }
  return lifetimes;
}

void classify(Lifetime& lifetime, const Saving& saving) {
  if (lifetime.allocated == kBefore) {
    lifetime.category = Category::kOther;
    return;
  }
  const SavingSpan* span = saving.span_of(lifetime.allocated);
  if (span != nullptr && lifetime.live_after(span->cut)) lifetime.category = Category::kActivations;
}

void apply_owned(Lifetimes& lifetimes, const std::vector<Owned>& owned) {
  for (const Owned& claim : owned) {
    const auto it = lifetimes.by_address.find(claim.address);
    if (it == lifetimes.by_address.end()) continue;
    // At one address one lives at a time: the last that came before the claim, or none.
    const auto after = std::partition_point(it->second.begin(), it->second.end(), [&](size_t i) {
      return lifetimes.all[i].allocated < claim.event_index;
    });
    if (after == it->second.begin()) continue;
    Lifetime& lifetime = lifetimes.all[*std::prev(after)];
    if (lifetime.live_after(claim.event_index)) lifetime.category = claim.category;
  }
}

// One walk through time: the most bytes of all, and each category's own highest, whenever that was.
// Returns the number of events after which most bytes were live.
int64_t find_peaks(const Lifetimes& lifetimes, Attribution& result) {
  struct Change {
    int64_t index;
    int64_t bytes;
    Category category;
  };
  std::vector<Change> changes;
  for (const Lifetime& lifetime : lifetimes.all) {
    changes.push_back({lifetime.allocated, lifetime.size, lifetime.category});
    if (lifetime.freed != kNever) {
      changes.push_back({lifetime.freed, -lifetime.size, lifetime.category});
    }
  }
  std::stable_sort(changes.begin(), changes.end(),
                   [](const Change& a, const Change& b) { return a.index < b.index; });
  int64_t at_peak = 0;
  int64_t live = 0;
  std::map<Category, int64_t> live_of;
  std::map<Category, int64_t> highest;
  for (const Change& change : changes) {
    live += change.bytes;
    if (live > result.peak_bytes) {
      result.peak_bytes = live;
      at_peak = change.index + 1;
    }
    const int64_t bytes = live_of[change.category] += change.bytes;
    highest[change.category] = std::max(highest[change.category], bytes);
  }
  for (const auto& [category, bytes] : highest) result.category_peaks[to_string(category)] = bytes;
  return at_peak;
}

int64_t live_bytes(const Lifetimes& lifetimes, Category category, int64_t index) {
  int64_t bytes = 0;
  for (const Lifetime& lifetime : lifetimes.all) {
    if (lifetime.category == category && lifetime.live_after(index)) bytes += lifetime.size;
  }
  return bytes;
}

BlockResidual residual_of(const BlockRun& run, const Lifetimes& lifetimes) {
  BlockResidual residual{.index = run.index};
  for (const Lifetime& lifetime : lifetimes.all) {
    if (lifetime.category != Category::kActivations || lifetime.allocated < run.begin ||
        lifetime.allocated >= run.end || !lifetime.live_after(run.cut)) {
      continue;
    }
    residual.bytes += lifetime.size;
    residual.tensors += 1;
  }
  return residual;
}

void sum_saved(const Lifetimes& lifetimes, const Saving& saving, Attribution& result) {
  if (saving.spans.empty()) return;
  int64_t fullest = 0;
  int64_t seen = -1;
  for (const SavingSpan& span : saving.spans) {
    if (span.cut == seen) continue;
    seen = span.cut;
    const int64_t bytes = live_bytes(lifetimes, Category::kActivations, span.cut);
    if (bytes < result.activation_bytes) continue;
    result.activation_bytes = bytes;
    fullest = span.cut;
  }
  result.cast_cache_bytes = live_bytes(lifetimes, Category::kCastCache, fullest);
  std::vector<BlockRun> forward;
  for (const BlockRun& run : saving.blocks) {
    if (run.cut != fullest) continue;
    if (!forward.empty() && run.index <= forward.back().index) forward.clear();  // the next one
    forward.push_back(run);
  }
  for (const BlockRun& run : forward) result.blocks.push_back(residual_of(run, lifetimes));
}

}  // namespace

Attribution attribute(const Recording& recording, const std::vector<Owned>& owned) {
  Lifetimes lifetimes = lifetimes_of(recording);
  const Saving saving = saving_of(recording.marks);
  for (Lifetime& lifetime : lifetimes.all) classify(lifetime, saving);
  apply_owned(lifetimes, owned);

  Attribution result;
  for (const auto& [category, word, meaning] : words_of(Category{})) {
    result.categories[word] = 0;
    result.category_peaks[word] = 0;
  }
  const int64_t at_peak = find_peaks(lifetimes, result);
  for (const Lifetime& lifetime : lifetimes.all) {
    if (lifetime.live_after(at_peak)) {
      result.categories[to_string(lifetime.category)] += lifetime.size;
    }
  }
  sum_saved(lifetimes, saving, result);
  return result;
}

}  // namespace headroom
