// One iteration of PPO or GRPO. Start here.
//
// Generation: the actor answers the prompts. Scoring: log-probabilities under actor and reference,
// values, scores, and from them rewards, advantages and returns. Training: epochs of shuffled
// minibatches, of the critic and then of the actor, which do not depend on each other; a minibatch
// is one update, its micro-batches are packed under a budget of tokens (Note [Packing]).
//
// Each of the three is a scope, and forward, loss, backward and optimizer are scopes inside them.
#pragma once

#include <functional>
#include <string>

#include "train/memory_tags.h"
#include "train/ppo/phases/experience.h"
#include "train/ppo/phases/rollout.h"
#include "train/ppo/phases/training.h"
#include "train/ppo/roles.h"
#include "train/ppo/setup/spec.h"
#include "train/scope.h"

namespace headroom {

struct IterationReport {
  double score = 0;            // mean over sequences
  double kl = 0;               // of actor to reference, nats a token, by k1; before the training
  double reward = 0;           // of a sequence, score less KL penalty: mean over sequences
  double response_length = 0;  // mean over sequences
  TrainingReport actor, critic;
};

struct IterationListener {
  ScopeListener* scopes = nullptr;  // of the three phases; a Step has its own for what is inside
  MemoryTags* tags = nullptr;       // of the experience
  // Before a phase begins: "generation", "scoring", "training"; who is on the card may change here.
  std::function<void(const std::string& phase)> before_phase;
};

// Throws UsageError where the roles are not those that the spec needs.
void validate_roles(const PpoSpec& spec, const Roles& roles);

// prompts: spec.prompts of them. number: of the iteration, from 0: with spec.seed it seeds sampling
// and shuffling. Throws UsageError where a sequence is longer than the budget of a micro-batch.
IterationReport run_iteration(const PpoSpec& spec, Roles& roles, const Prompts& prompts,
                              int64_t number, const Generate& generate = generate_by_full_forward,
                              const IterationListener& listener = {});

}  // namespace headroom
