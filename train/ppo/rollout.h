// Responses to prompts, sampled from the actor.
#pragma once

#include <torch/torch.h>

#include <functional>

#include "train/ppo/experience.h"
#include "train/ppo/spec.h"
#include "train/step.h"

namespace headroom {

struct Prompts {
  torch::Tensor tokens_BP;  // int64 on the actor's device; a prompt, then anything
  Indices lengths;          // tokens of each, at least 1
};

// Each prompt `times` times, one behind the other: the groups of GRPO.
Prompts repeated(const Prompts& prompts, int64_t times);

// Samples one response to each prompt: at most spec.response_length tokens, at spec.temperature, up
// to spec.end_token. The same seed, weights and device give the same responses.
using Generate = std::function<Experience(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                          uint64_t seed)>;

// By a forward of all tokens for each new one: no cache.
Experience generate_by_full_forward(Step& actor, const Prompts& prompts, const PpoSpec& spec,
                                    uint64_t seed);

}  // namespace headroom
