// Roles small enough to learn in a test, and prompts for them.
#pragma once

#include "tests/train/support/tiny_spec.h"
#include "train/ppo/iteration.h"

namespace headroom {

inline RunSpec tiny_role() {
  RunSpec spec = tiny_spec();
  spec.layers = 2;
  spec.d_ff = 64;
  spec.vocab_size = 24;
  spec.learning_rate = 3e-3;
  spec.optimizer_impl = OptimizerImpl::kForeach;
  spec.max_grad_norm = 1;
  return spec;
}

// Actor and reference begin with the same weights, and so does the critic's body.
inline Roles tiny_roles(const PpoSpec& ppo, const RunSpec& spec = tiny_role()) {
  std::vector<std::string> notes;
  Roles roles;
  roles.actor = build_role(Role::kActor, spec, torch::kCPU, &notes);
  roles.reference = build_role(Role::kReference, spec, torch::kCPU, &notes);
  if (ppo.algorithm == PpoAlgorithm::kPpo) {
    roles.critic = build_role(Role::kCritic, spec, torch::kCPU, &notes);
  }
  roles.rule = share_of_token(5);
  return roles;
}

// Prompts of 2 to 4 tokens, depending on the iteration.
inline Prompts tiny_prompts(int64_t count, int64_t iteration, int64_t vocab_size = 24) {
  const auto seed = static_cast<uint64_t>(iteration) + 100;
  auto generator = torch::make_generator<at::CPUGeneratorImpl>(seed);
  Prompts prompts = {torch::randint(vocab_size, {count, 4}, generator, torch::kInt64), {}};
  for (int64_t i = 0; i < count; ++i) prompts.lengths.push_back(2 + i % 3);
  return prompts;
}

}  // namespace headroom
