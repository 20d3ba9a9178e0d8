// The models of an iteration, each a Step with its own RunSpec.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/ppo/phases/experience.h"
#include "train/ppo/role.h"
#include "train/ppo/setup/role_rules.h"
#include "train/ppo/setup/spec.h"
#include "train/settings/spec.h"
#include "train/step.h"

namespace headroom {

// Runs build_step() with role_spec(). Prefixes its notes with the role's word.
std::unique_ptr<Step> build_role(Role role, const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes);

// Scores (B) FP32 of finished sequences, on their device.
using RewardRule = std::function<torch::Tensor(const Experience& experience)>;

// The share of a response's tokens that equal `token`, in [0, 1].
RewardRule share_of_token(int64_t token);

struct Roles {
  std::unique_ptr<Step> actor;
  std::unique_ptr<Step> critic;     // null in GRPO
  std::unique_ptr<Step> reward;     // null with a rule
  std::unique_ptr<Step> reference;  // null: no KL penalty; kl_coef must be 0
  RewardRule rule;

  std::unique_ptr<Step>& step_of(Role role);
};

}  // namespace headroom
