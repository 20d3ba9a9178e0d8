// Rules for --profile-type generate. No torch here.
#pragma once

#include "model/kv_cache/kv_cache_shape.h"
#include "train/settings/spec.h"

namespace headroom {

int64_t prompt_tokens(const RunSpec& spec);    // of every prompt
int64_t response_tokens(const RunSpec& spec);  // of every sequence, at most
inline int64_t sequence_tokens(const RunSpec& spec) {
  return prompt_tokens(spec) + response_tokens(spec);
}

// The run's cache. --kv-cache-tokens is rounded down to whole sequences (contiguous) or whole
// blocks (paged).
KvCacheShape kv_cache_shape(const RunSpec& spec);

// Number of forward passes in one generation: chunks of prompts, then one pass per token, for as
// many sequences as the cache holds; none of them ends early.
int64_t generation_passes(const RunSpec& spec);

// Note [Decodes that are run]
// Rationale: on a virtual card no time passes and tokens have no values, and thousands of decodes
//   differ only by one position each.
// Approach: a decode's tensors grow only with its position. An unrecorded step on a virtual card
//   runs the first decode, the last one, which is the largest, and some evenly spaced ones between.
//   The others only take their place in the cache. A recorded step runs all of them.
// Limits: if a tensor of many MiB grows with every token, blocks of the skipped sizes are not
//   cached afterwards, and less may be reserved. Allocated memory is the same.
// 0 = all decodes.
int64_t decodes_run(const RunSpec& spec);

// The spec with default generation settings, as every other mode requires.
RunSpec without_generation(RunSpec spec);

// Throws UsageError.
void check_generation(const RunSpec& spec);

}  // namespace headroom
