#include "profiling/attribution.h"

#include <algorithm>
#include <span>

#include "profiling/lifetimes.h"
#include "profiling/saving.h"

namespace headroom {
namespace {

// Walks through time and finds the peak of all bytes and the peak of each category.
// Returns the number of events before the instant with the most live bytes.
int64_t find_peaks(const std::vector<Lifetime>& lifetimes, Attribution& result) {
  struct Change {
    int64_t index;
    int64_t bytes;
    Category category;
  };
  std::vector<Change> changes;
  for (const Lifetime& lifetime : lifetimes) {
    changes.push_back({lifetime.allocated, lifetime.size, lifetime.category});
    if (lifetime.freed != Lifetime::kNever) {
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

int64_t live_bytes(const std::vector<Lifetime>& lifetimes, Category category, int64_t index) {
  int64_t bytes = 0;
  for (const Lifetime& lifetime : lifetimes) {
    if (lifetime.category == category && lifetime.live_after(index)) bytes += lifetime.size;
  }
  return bytes;
}

// Lifetimes allocated in events [begin, end). Lifetimes are in the order of allocation.
std::span<const Lifetime> made_in(const std::vector<Lifetime>& lifetimes, int64_t begin,
                                  int64_t end) {
  const auto at = [&](int64_t event) {
    return std::partition_point(
        lifetimes.begin(), lifetimes.end(),
        [event](const Lifetime& lifetime) { return lifetime.allocated < event; });
  };
  const auto first = at(begin);
  return {first, std::max(first, at(end))};
}

BlockResidual residual_of(const BlockRun& run, const std::vector<Lifetime>& lifetimes) {
  BlockResidual residual{.index = run.index};
  for (const Lifetime& lifetime : made_in(lifetimes, run.begin, run.end)) {
    if (lifetime.category != Category::kActivations || !lifetime.live_after(run.cut)) continue;
    residual.bytes += lifetime.size;
    residual.tensors += 1;
  }
  return residual;
}

int64_t largest_recomputation(const std::vector<Lifetime>& lifetimes, const Saving& saving) {
  int64_t largest = 0;
  for (const Recomputation& one : saving.recomputations) {
    int64_t bytes = 0;
    for (const Lifetime& lifetime : made_in(lifetimes, one.begin, one.end)) {
      const bool is_of_it = lifetime.category == Category::kTemporaries;
      if (is_of_it && lifetime.live_after(one.end)) bytes += lifetime.size;
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

void find_phase_ends(const Recording& recording, const std::vector<Lifetime>& lifetimes,
                     Attribution& result) {
  std::map<std::string, int64_t> ends;
  for (const Mark& mark : recording.marks) {
    if (mark.scope.is_phase() && !mark.begins) ends[mark.scope.name] = mark.event_index;
  }
  for (const auto& [phase, end] : ends) {
    std::map<std::string, int64_t>& live = result.phase_ends[phase];
    for (const Lifetime& lifetime : lifetimes) {
      if (lifetime.live_after(end)) live[to_string(lifetime.category)] += lifetime.size;
    }
  }
}

void sum_saved(const std::vector<Lifetime>& lifetimes, const Saving& saving, Attribution& result) {
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
    if (!forward.empty() && run.index <= forward.back().index) forward.clear();  // a new forward
    forward.push_back(run);
  }
  for (const BlockRun& run : forward) result.blocks.push_back(residual_of(run, lifetimes));
}

}  // namespace

Attribution attribute(const Recording& recording, const std::vector<Owned>& owned) {
  const std::vector<Lifetime> lifetimes = lifetimes_of(recording, owned);
  const Saving saving = saving_of(recording.marks);

  Attribution result;
  for (const auto& [category, word, meaning] : words_of(Category{})) {
    if (category == Category::kMasterWeights || category == Category::kKvCache) {
      continue;  // listed only if the run has them
    }
    result.categories[word] = 0;
    result.category_peaks[word] = 0;
  }
  const int64_t at_peak = find_peaks(lifetimes, result);
  for (const Lifetime& lifetime : lifetimes) {
    if (lifetime.live_after(at_peak)) {
      result.categories[to_string(lifetime.category)] += lifetime.size;
    }
  }
  find_phase_ends(recording, lifetimes, result);
  sum_saved(lifetimes, saving, result);
  result.recomputed_bytes = largest_recomputation(lifetimes, saving);
  return result;
}

}  // namespace headroom
