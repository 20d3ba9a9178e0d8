// One iteration of PPO or GRPO. Start here.
//
// Generation: the actor answers the prompts. Scoring: log-probabilities under actor and reference,
// values, scores, and from them rewards, advantages and returns. Training: epochs of shuffled
// minibatches, first of the critic, then of the actor, which are independent. A minibatch is one
// update; its micro-batches are packed under a token budget (Note [Packing]).
//
// Each of the three is a scope with forward, loss, backward and optimizer scopes inside.
#pragma once

#include <functional>
#include <string>

#include "train/hooks/memory_tags.h"
#include "train/hooks/scope.h"
#include "train/ppo/phases/experience.h"
#include "train/ppo/phases/rollout.h"
#include "train/ppo/phases/training.h"
#include "train/ppo/roles.h"
#include "train/ppo/setup/spec.h"

namespace headroom {

struct IterationReport {
  double score = 0;            // mean over sequences
  double kl = 0;               // from actor to reference, nats per token, by k1; before training
  double reward = 0;           // of a sequence, score minus KL penalty: mean over sequences
  double response_length = 0;  // mean over sequences
  TrainingReport actor, critic;
};

struct IterationListener {
  ScopeListener* scopes = nullptr;  // for the three phases; a Step has its own for inner scopes
  MemoryTags* tags = nullptr;       // for the experience
  // Called before each phase, "generation", "scoring", "training"; may move models off the card.
  std::function<void(const std::string& phase)> before_phase;
};

// Throws UsageError if the roles do not match the spec.
void validate_roles(const PpoSpec& spec, const Roles& roles);

// prompts: spec.prompts of them. number: the iteration's, from 0; with spec.seed it seeds sampling
// and shuffling. Throws UsageError if a sequence is longer than the budget of a micro-batch.
IterationReport run_iteration(const PpoSpec& spec, Roles& roles, const Prompts& prompts,
                              int64_t number, const Generate& generate = generate_by_full_forward,
                              const IterationListener& listener = {});

}  // namespace headroom
