// Finds the largest batch or length of a fine-tuning that fits, or a change that makes it fit, by
// runs.
// No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "plan/fit/vary.h"
#include "plan/recipes/fine_tuning.h"

namespace headroom {

using RunTuning =
    std::function<ProgramRun(const FineTuning& tuning, const std::string& alloc_conf)>;

// A size of a fine-tuning that the search may change.
struct TuningSize {
  std::string flag;  // "batch" or "length"
  int64_t FineTuning::*value;
  Range range;
};

struct LargestSize {
  int64_t value = 0;
  ProgramRun at;
  std::optional<ProgramRun> beyond;  // one stride further; none at the end of the range
  std::string failure;               // a run that failed for another reason than memory
};

// `first` is the run of `tuning` itself, which fits. A second run shows how memory grows with the
// size. The search begins at the size that would then take `capacity` bytes, and moves away from it
// in growing steps.
LargestSize largest_size(FineTuning tuning, const TuningSize& size, const ProgramRun& first,
                         int64_t capacity, const RunTuning& run);

struct TuningChange {
  FineTuning tuning;
  std::string alloc_conf;  // PYTORCH_CUDA_ALLOC_CONF; "" = unchanged
  ProgramRun run;
};

// The flags of `to` that differ, and the allocator's setting: "--checkpointing --batch 1".
std::string changed_flags(const FineTuning& from, const FineTuning& to,
                          const std::string& alloc_conf);

// For a fine-tuning that does not fit: changes in the order of their cost in time and in results,
// each alone, then the first ones together. The first that fits, or none.
std::optional<TuningChange> change_that_fits(const FineTuning& tuning, const RunTuning& run);

}  // namespace headroom
