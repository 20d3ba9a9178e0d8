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

#include "train/memory_claims.h"
#include "train/ppo/experience.h"
#include "train/ppo/roles.h"
#include "train/ppo/rollout.h"
#include "train/ppo/spec.h"
#include "train/scope.h"

namespace headroom {

// Means over all response tokens unless it says otherwise; of training, over all updates.
struct IterationReport {
  double score = 0;            // mean over sequences
  double kl = 0;               // to the reference, nats a token, by k1; before the training
  double reward = 0;           // sum over a sequence, its mean over sequences: score less KL
  double response_length = 0;  // mean over sequences
  double entropy = 0;          // nats
  double policy_loss = 0;      // without KL and entropy
  double clip_fraction = 0;    // of the policy's ratios
  double approx_kl = 0;        // of the policy to what it was when it sampled
  double value_loss = 0;       // before its coefficient
  double value_clip_fraction = 0;
  int64_t updates = 0;        // of the actor
  int64_t micro_batches = 0;  // of all of them
};

struct IterationListener {
  ScopeListener* scopes = nullptr;  // of the three phases; a Step has its own for what is inside
  MemoryClaims* claims = nullptr;   // of the experience
  // Before a phase begins: "generation", "scoring", "training"; who is on the card may change here.
  std::function<void(const std::string& phase)> before_phase;
};

// Scores, values and log-probabilities of finished sequences, and what follows from them.
void score(Experience& experience, Roles& roles, const PpoSpec& spec);

// Epochs of minibatches. Gradients are gone when it returns.
void train_critic(const Experience& experience, Step& critic, const PpoSpec& spec, uint64_t seed,
                  IterationReport* report);
void train_actor(const Experience& experience, Step& actor, const PpoSpec& spec, uint64_t seed,
                 IterationReport* report);

// prompts: spec.prompts of them. number: of the iteration, from 0: with spec.seed it seeds sampling
// and shuffling. Throws UsageError where a sequence is longer than the budget of a micro-batch.
IterationReport run_iteration(const PpoSpec& spec, Roles& roles, const Prompts& prompts,
                              int64_t number, const Generate& generate = generate_by_full_forward,
                              const IterationListener& listener = {});

}  // namespace headroom
