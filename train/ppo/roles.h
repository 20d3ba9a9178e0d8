// The models of an iteration, each a Step of a RunSpec of its own.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "train/ppo/phases/experience.h"
#include "train/ppo/role.h"
#include "train/ppo/setup/role_rules.h"
#include "train/ppo/setup/spec.h"
#include "train/spec.h"
#include "train/step.h"

namespace headroom {

// By build_step(), of role_spec(). What it notes begins with the role's word.
std::unique_ptr<Step> build_role(Role role, const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes);

// Scores (B) FP32 of finished sequences, on their device.
using RewardRule = std::function<torch::Tensor(const Experience& experience)>;

// The share of a response's tokens that are `token`, in [0, 1].
RewardRule share_of_token(int64_t token);

struct Roles {
  std::unique_ptr<Step> actor;
  std::unique_ptr<Step> critic;     // null in GRPO
  std::unique_ptr<Step> reward;     // null where there is a rule
  std::unique_ptr<Step> reference;  // null: no KL penalty, which kl_coef 0 must say
  RewardRule rule;

  std::unique_ptr<Step>& step_of(Role role);
};

}  // namespace headroom
