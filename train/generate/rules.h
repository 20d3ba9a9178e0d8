// What --profile-type generate asks for, and what contradicts it. No torch here.
#pragma once

#include "model/kv_cache_shape.h"
#include "train/spec.h"

namespace headroom {

int64_t prompt_tokens(const RunSpec& spec);    // of every prompt
int64_t response_tokens(const RunSpec& spec);  // of every sequence, at most
inline int64_t sequence_tokens(const RunSpec& spec) {
  return prompt_tokens(spec) + response_tokens(spec);
}

// The cache of the run. --kv-cache-tokens is rounded down to whole sequences where the cache is
// contiguous, to whole blocks where it is paged.
KvCacheShape kv_cache_shape(const RunSpec& spec);

// How often the model runs in one generation: chunks of prompts, then a token of each sequence at a
// time, of as many sequences as the cache holds; none of them ends early.
int64_t generation_passes(const RunSpec& spec);

// Note [Decodes that are run]
// Rationale: on a virtual card no time passes and no token has a value, and thousands of decodes
//   differ by one position each.
// Approach: the tensors of a decode grow with its position and with nothing else. In a step on a
//   virtual card that is not recorded the first decode, the last one, which is the largest, and
//   some between them, evenly apart, are run. The others only take their place in the cache. A
//   recorded step runs all of them.
// Limits: where a tensor of many MiB grows with every token, blocks of the sizes between are not
//   cached afterwards, and less may be reserved. What is allocated is the same.
// 0 = all.
int64_t decodes_run(const RunSpec& spec);

// The spec with the settings of generation at their defaults, as every other mode wants them.
RunSpec without_generation(RunSpec spec);

// Throws UsageError.
void check_generation(const RunSpec& spec);

}  // namespace headroom
