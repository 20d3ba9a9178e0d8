// Whose bytes were live at the peak, from a Recording. No torch here.
//
// Note [Attribution]
// Rationale: an allocator knows addresses and sizes; what a block is for its maker says, and of
//   what nobody claims it shows only later, when it is freed.
// Approach: replay the events into lifetimes [allocated, freed). A lifetime is, in this order:
//   1. what somebody claimed it for while it lived (train/memory_claims.h), the last one;
//   2. saved for backward (profiling/saving.h), the logits included, which live as long;
//   3. live before the recording: other;
//   4. anything else: temporary.
// Limits: sizes are as requested; the allocator's rounding at the peak is the caller's to add.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/record.h"
#include "profiling/tracker/recording.h"
#include "train/memory_claims.h"

namespace headroom {

// What holds `address` when `event_index` events have happened is of this category.
struct Owned {
  Category category = Category::kOther;
  uint64_t address = 0;
  int64_t event_index = 0;
};

struct Attribution {
  int64_t peak_bytes = 0;                     // requested bytes live at the peak
  std::map<std::string, int64_t> categories;  // every category, zeros included; sums to peak_bytes
  std::map<std::string, int64_t> category_peaks;  // each category's own highest, at its own moment

  // At the cut (profiling/saving.h) where most is saved, the last of several alike.
  int64_t activation_bytes = 0;       // all that is saved then
  int64_t cast_cache_bytes = 0;       // copies of weights that live then
  std::vector<BlockResidual> blocks;  // of the last forward before it, in the order they ran
};

// `owned` in the order of the claims.
Attribution attribute(const Recording& recording, const std::vector<Owned>& owned);

}  // namespace headroom
