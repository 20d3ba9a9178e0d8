// Responses to prompts, sampled from the actor.
#pragma once

#include <functional>

#include "model/torch.h"
#include "train/generate/generator.h"
#include "train/ppo/phases/experience.h"
#include "train/ppo/setup/spec.h"
#include "train/step.h"

namespace headroom {

// Each prompt `times` times, one behind the other: the groups of GRPO.
Prompts repeated(const Prompts& prompts, int64_t times);

// Samples one response to each prompt: at most spec.response_length tokens, at spec.temperature, up
// to spec.end_token. The same seed, weights and device give the same responses.
using Generate = std::function<Experience(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                          uint64_t seed)>;

// By a forward of all tokens for each new one: no cache. What the other is held against.
Experience generate_by_full_forward(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                    uint64_t seed);

// With a cache of keys and values (train/generate): of the given form, type and model; its tokens
// are those of the longest prompt and a response, its sequences all where it says 0.
Generate generate_with_cache(const KvCacheShape& cache);
// The same with what else a generation may be: chunks of the prefill, cuts of the draw, a graph.
Generate generate_with(const Generation& how);

}  // namespace headroom
