// The scoring phase, between generation and training: computes all data of the finished sequences
// before the first update.
#pragma once

#include "train/ppo/losses/token_log_probs.h"
#include "train/ppo/phases/experience.h"
#include "train/ppo/roles.h"
#include "train/ppo/setup/spec.h"

namespace headroom {

// Options for log-probabilities, in scoring and training alike.
LogProbOptions log_prob_options(const PpoSpec& spec, bool entropy);

// Scores, log-probabilities under actor and reference and, in PPO, values, by forwards without
// gradients; from them advantages and, in PPO, rewards and returns.
void score(Experience& experience, Roles& roles, const PpoSpec& spec);

}  // namespace headroom
