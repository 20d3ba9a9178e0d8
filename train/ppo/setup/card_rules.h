// What a card of a known size cannot hold, told before anything is built. No torch here.
#pragma once

#include <cstdint>

#include "train/ppo/setup/setup.h"

namespace headroom {

struct CardBytes {
  int64_t total = 0;
  int64_t context = 0;  // of it, what CUDA takes before the first tensor; 0 where nobody knows
};

// Note [The share of generation]
// Rationale: inference engines are told which share of the card they may fill
//   (gpu_memory_utilization of vLLM), and the set-ups that people have say it so.
// Approach: the share of the whole card, less the CUDA context, less the actor's weights, is the
//   cache's, in whole blocks or sequences (kv_cache_shape).
// Limits: an engine also takes away what its largest pass computes in, which it finds by a trial
//   run; here it is beside the share. What other roles have on the card is not looked at either:
//   --swap-phases takes it away.
//
// Makes --gpu-memory-utilization, where it is given, a value of --kv-cache-tokens, never more than
// the batch needs. Throws UsageError where not one sequence has room, or where the weights of one
// role alone are more than the card has.
void settle_on(const CardBytes& card, RunSpec& shared, const PpoSetup& setup);

}  // namespace headroom
