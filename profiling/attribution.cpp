#include "profiling/attribution.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

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
  Hint hint = Hint::kNone;
  Category category = Category::kTemporaries;

  // Events 0 .. index-1 have happened.
  bool live_after(int64_t index) const { return allocated < index && freed >= index; }
};

// Forward (and loss) of one step: what is allocated in [begin, cut) and alive at cut is saved.
struct ForwardWindow {
  int64_t begin = 0;
  int64_t cut = 0;
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
    const auto& [event, hint] = recording.events[i];
    const auto index = static_cast<int64_t>(i);
    if (event.action == TraceAction::kAlloc) {
      add({.address = event.address, .size = event.size, .allocated = index, .hint = hint});
    } else if (event.action == TraceAction::kFreeCompleted) {
      const auto it = lifetimes.by_address.find(event.address);
      if (it != lifetimes.by_address.end()) lifetimes.all[it->second.back()].freed = index;
    }
  }
  return lifetimes;
}

std::vector<ForwardWindow> forward_windows(const std::vector<Mark>& marks) {
  std::vector<ForwardWindow> windows;
  for (const Mark& mark : marks) {
    if (mark.name == "forward" && mark.is_start) {
      windows.push_back({mark.event_index, mark.event_index});
    }
    const bool moves_cut =
        (mark.name == "forward" && !mark.is_start) || (mark.name == "backward" && mark.is_start);
    if (moves_cut && !windows.empty()) windows.back().cut = mark.event_index;
  }
  return windows;
}

void classify(Lifetime& lifetime, const std::vector<ForwardWindow>& windows) {
  if (lifetime.hint == Hint::kCastOfParameter) {
    lifetime.category = Category::kCastCache;
    return;
  }
  if (lifetime.allocated == kBefore) {
    lifetime.category = Category::kOther;
    return;
  }
  for (const ForwardWindow& window : windows) {
    if (lifetime.allocated >= window.begin && lifetime.live_after(window.cut)) {
      lifetime.category = Category::kActivations;
      return;
    }
  }
}

void apply_owned(Lifetimes& lifetimes, const std::vector<Owned>& owned) {
  for (const Owned& claim : owned) {
    const auto it = lifetimes.by_address.find(claim.address);
    if (it == lifetimes.by_address.end()) continue;
    for (const size_t index : it->second) {
      Lifetime& lifetime = lifetimes.all[index];
      if (lifetime.live_after(claim.event_index)) lifetime.category = claim.category;
    }
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
  for (const Change& change : changes) {
    live += change.bytes;
    if (live > result.peak_bytes) {
      result.peak_bytes = live;
      at_peak = change.index + 1;
    }
    const int64_t bytes = live_of[change.category] += change.bytes;
    int64_t& highest = result.category_peaks[to_string(change.category)];
    highest = std::max(highest, bytes);
  }
  return at_peak;
}

void sum_last_step(const Recording& recording, const Lifetimes& lifetimes,
                   const std::vector<ForwardWindow>& windows, Attribution& result) {
  if (windows.empty()) return;
  const ForwardWindow last = windows.back();
  for (const Mark& mark : recording.marks) {
    if (mark.name != "block" || mark.event_index < last.begin || mark.event_index > last.cut) {
      continue;
    }
    if (mark.is_start) {
      result.blocks.push_back({mark.event_index, 0});  // holds the start until the end is met
      continue;
    }
    if (result.blocks.empty()) continue;
    const int64_t begin = result.blocks.back().bytes;
    result.blocks.back() = {};
    for (const Lifetime& lifetime : lifetimes.all) {
      if (lifetime.category != Category::kActivations || lifetime.allocated < begin ||
          lifetime.allocated >= mark.event_index || !lifetime.live_after(last.cut)) {
        continue;
      }
      result.blocks.back().bytes += lifetime.size;
      result.blocks.back().tensors += 1;
    }
  }
  for (const Lifetime& lifetime : lifetimes.all) {
    if (lifetime.allocated < last.begin || !lifetime.live_after(last.cut)) continue;
    if (lifetime.category == Category::kActivations) result.activation_bytes += lifetime.size;
    if (lifetime.category == Category::kCastCache) result.cast_cache_bytes += lifetime.size;
  }
}

}  // namespace

std::string to_string(Category category) {
  switch (category) {
    case Category::kParameters:
      return "parameters";
    case Category::kGradients:
      return "gradients";
    case Category::kOptimizerState:
      return "optimizer_state";
    case Category::kActivations:
      return "activations";
    case Category::kCastCache:
      return "cast_cache";
    case Category::kWorkspaces:
      return "workspaces";
    case Category::kTemporaries:
      return "temporaries";
    case Category::kOther:
      break;
  }
  return "other";
}

Attribution attribute(const Recording& recording, const std::vector<Owned>& owned,
                      bool keeps_activations) {
  Lifetimes lifetimes = lifetimes_of(recording);
  const std::vector<ForwardWindow> windows =
      keeps_activations ? forward_windows(recording.marks) : std::vector<ForwardWindow>{};
  for (Lifetime& lifetime : lifetimes.all) classify(lifetime, windows);
  apply_owned(lifetimes, owned);

  Attribution result;
  for (int c = 0; c <= static_cast<int>(Category::kOther); ++c) {
    result.categories[to_string(static_cast<Category>(c))] = 0;
    result.category_peaks[to_string(static_cast<Category>(c))] = 0;
  }
  const int64_t at_peak = find_peaks(lifetimes, result);
  for (const Lifetime& lifetime : lifetimes.all) {
    if (lifetime.live_after(at_peak)) {
      result.categories[to_string(lifetime.category)] += lifetime.size;
    }
  }
  sum_last_step(recording, lifetimes, windows, result);
  return result;
}

}  // namespace headroom
