// Every block of a recording: allocation, release, category. No torch here.
//
// Note [Attribution]
// Rationale: an allocator has addresses and sizes only. The maker of a block tags its purpose; the
//   purpose of an untagged block shows only when it is freed.
// Approach: replay the events into lifetimes [allocated, freed). The first rule that applies
//   decides:
//   1. the last tag during its life (train/hooks/memory_tags.h);
//   2. saved for backward (profiling/saving.h), with the logits, which live as long;
//   3. live before the recording: other;
//   4. anything else: temporary.
// Limits: sizes are as requested; the caller adds the allocator's rounding at the peak.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "profiling/tracker/recording.h"
#include "train/hooks/memory_tags.h"

namespace headroom {

// A tag: after `event_index` events the block at `address` is of this category.
struct Owned {
  Category category = Category::kOther;
  uint64_t address = 0;
  int64_t event_index = 0;
  std::string name;  // of the tensor; "" = none given
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

// Blocks from before the recording, then in the order of allocation. `owned` in the order of the
// tags.
std::vector<Lifetime> lifetimes_of(const Recording& recording, const std::vector<Owned>& owned);

}  // namespace headroom
