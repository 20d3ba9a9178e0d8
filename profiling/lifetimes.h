// Every block of a recording, from its allocation to its release, and what it was for. No torch
// here.
//
// Note [Attribution]
// Rationale: an allocator knows addresses and sizes; what a block is for its maker says, and of
//   what nobody tags it shows only later, when it is freed.
// Approach: replay the events into lifetimes [allocated, freed). A lifetime is, in this order:
//   1. what somebody tagged it for while it lived (train/memory_tags.h), the last one;
//   2. saved for backward (profiling/saving.h), the logits included, which live as long;
//   3. live before the recording: other;
//   4. anything else: temporary.
// Limits: sizes are as requested; the allocator's rounding at the peak is the caller's to add.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "profiling/tracker/recording.h"
#include "train/memory_tags.h"

namespace headroom {

// What holds `address` when `event_index` events have happened is of this category.
struct Owned {
  Category category = Category::kOther;
  uint64_t address = 0;
  int64_t event_index = 0;
  std::string name;  // of the tensor; "" where its tagger gave none
};

// All times are event indices.
struct Lifetime {
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  static constexpr int64_t kBefore = -1;  // allocated before the recording

  uint64_t address = 0;
  int64_t size = 0;
  int64_t allocated = kBefore;
  int64_t freed = kNever;
  Category category = Category::kTemporaries;
  std::string name;  // as tagged

  // Events 0 .. index-1 have happened.
  bool live_after(int64_t index) const { return allocated < index && freed >= index; }
};

// What lived before first, then in the order of allocation. `owned` in the order of the tags.
std::vector<Lifetime> lifetimes_of(const Recording& recording, const std::vector<Owned>& owned);

}  // namespace headroom
