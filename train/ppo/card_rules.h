// What a card of a known size cannot hold, told before anything is built. No torch here.
#pragma once

#include <cstdint>

#include "train/ppo/setup.h"

namespace headroom {

struct CardBytes {
  int64_t total = 0;
  int64_t context = 0;  // of it, what CUDA takes before the first tensor; 0 where nobody knows
};

// What of a role's weights is on the card while it computes: all of them, or what is outside of the
// blocks where these come and go.
int64_t weight_bytes(const RunSpec& shared, const PpoSetup& setup, Role role);

// Throws UsageError where the weights of one role alone are more than the card has.
void check_weights_fit(const RunSpec& shared, const PpoSetup& setup, const CardBytes& card);

// Note [The share of generation]
// Rationale: inference engines are told which share of the card they may fill
//   (gpu_memory_utilization of vLLM), and the set-ups that people have say it so.
// Approach: the share of the whole card, less the CUDA context, less the actor's weights, is the
//   cache's, in whole blocks or sequences (kv_cache_shape).
// Limits: an engine also takes away what its largest pass computes in, which it finds by a trial
//   run; here it is beside the share. What other roles have on the card is not looked at either:
//   --swap-phases takes it away.
//
// --gpu-memory-utilization as a value of --kv-cache-tokens, never more than the batch needs. 0 =
// the set-up says no share. Throws UsageError where not one sequence has room.
int64_t tokens_of_share(const RunSpec& shared, const PpoSetup& setup, const CardBytes& card);

}  // namespace headroom
