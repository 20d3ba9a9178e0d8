// Checks, before anything is built, what a card of known size can hold. No torch here.
#pragma once

#include <cstdint>

#include "train/ppo/setup/setup.h"

namespace headroom {

struct CardBytes {
  int64_t total = 0;
  int64_t context = 0;  // of total, CUDA's memory before the first tensor; 0 if unknown
};

// Note [The share of generation]
// Rationale: inference engines get the share of the card that they may fill (gpu_memory_utilization
//   of vLLM), and existing set-ups use it.
// Approach: the cache gets the share of the whole card, minus the CUDA context and the actor's
//   weights, in whole blocks or sequences (kv_cache_shape).
// Limits: an engine also subtracts the workspace of its largest pass, measured in a trial run; here
//   that is outside the share. Other roles' memory on the card is not counted either: --swap-phases
//   moves it away.
//
// Converts --gpu-memory-utilization, if given, to --kv-cache-tokens, at most what the batch needs.
// Throws UsageError if not even one sequence fits, or if one role's weights exceed the card.
void settle_on(const CardBytes& card, RunSpec& shared, const PpoSetup& setup);

}  // namespace headroom
