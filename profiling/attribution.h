// Whose bytes were live at the peak, from a Recording. No torch here.
//
// Note [Attribution]
// Rationale: an allocator knows addresses and sizes; what a block is for shows only later, when it
//   is freed or turns up as somebody's gradient.
// Approach: replay the events into lifetimes [allocated, freed). A lifetime is, in this order:
//   1. what somebody said of its address at some moment (parameters, gradients, optimizer state,
//      workspaces: Owned);
//   2. a cast of a parameter, by its Hint: cast cache;
//   3. allocated in forward or loss and alive when backward begins (when forward ends, in a mode
//      without backward): saved for backward, the logits included, which live as long;
//   4. live before the recording: other (inputs, rotary tables);
//   5. anything else: temporary.
// Limits: sizes are as requested; the allocator's rounding at the peak is the caller's to add.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/tracker/recording.h"

namespace headroom {

enum class Category {
  kParameters,
  kGradients,
  kOptimizerState,
  kActivations,  // saved for backward
  kCastCache,
  kWorkspaces,
  kTemporaries,
  kOther,
};
std::string to_string(Category category);  // "parameters", "optimizer_state", ...

// The block that holds `address` when `event_index` events have happened is of this category.
struct Owned {
  Category category = Category::kOther;
  uint64_t address = 0;
  int64_t event_index = 0;
};

// What one run of a block left alive for backward.
struct BlockResidual {
  int64_t bytes = 0;
  int64_t tensors = 0;  // distinct storages
};

struct Attribution {
  int64_t peak_bytes = 0;                     // requested bytes live at the peak
  std::map<std::string, int64_t> categories;  // every category, zeros included; sums to peak_bytes
  std::map<std::string, int64_t> category_peaks;  // each category's own highest, at its own moment
  std::vector<BlockResidual> blocks;  // of the last step with activations, in the order they ran
  int64_t activation_bytes = 0;       // all that is saved when the last step's backward begins
  int64_t cast_cache_bytes = 0;       // likewise, copies of weights
};

// keeps_activations: false in a mode that saves nothing for backward (inference).
Attribution attribute(const Recording& recording, const std::vector<Owned>& owned,
                      bool keeps_activations);

}  // namespace headroom
