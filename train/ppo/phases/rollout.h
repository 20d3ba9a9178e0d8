// Responses to prompts, sampled from the actor.
#pragma once

#include <functional>

#include "model/torch.h"
#include "train/generate/generator.h"
#include "train/ppo/phases/experience.h"
#include "train/ppo/setup/spec.h"
#include "train/step.h"

namespace headroom {

// Each prompt `times` times in a row: the groups of GRPO.
Prompts repeated(const Prompts& prompts, int64_t times);

// Samples one response to each prompt: at most spec.response_length tokens, at spec.temperature, up
// to spec.end_token. Equal seed, weights and device give equal responses.
using Generate = std::function<Experience(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                          uint64_t seed)>;

// By a forward of all tokens for each new one: no cache. A reference for generate_with_cache().
Experience generate_by_full_forward(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                    uint64_t seed);

// With a key/value cache (train/generate) of this form, type and model. Its tokens are the longest
// prompt plus a response; with 0 sequences it holds all of them.
Generate generate_with_cache(const KvCacheShape& cache);
// With more options of generation: chunked prefill, top-k and top-p, a graph.
Generate generate_with(const Generation& how);

}  // namespace headroom
