#include "train/ppo/roles.h"

#include <utility>

#include "train/build.h"
#include "train/ppo/phases/passes.h"

namespace headroom {

using torch::Tensor;

std::unique_ptr<Step> build_role(Role role, const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes) {
  const RunSpec run = role_spec(role, spec);
  ModelConfig config = model_config(run);
  if (gives_values(role)) config.outputs = 1;
  std::vector<std::string> own;
  auto step = build_step(run, config, device, &own);
  for (const std::string& note : own) notes->push_back(word_of(role) + ": " + note);
  return step;
}

std::unique_ptr<Step>& Roles::step_of(Role role) {
  switch (role) {
    case Role::kActor:
      return actor;
    case Role::kCritic:
      return critic;
    case Role::kReward:
      return reward;
    case Role::kReference:
      break;
  }
  return reference;
}

RewardRule share_of_token(int64_t token) {
  return [token](const Experience& experience) {
    const PassRows rows = rows_of(experience, all_sequences(experience));
    Tensor hits_BR = experience.zeros_BR();
    into(hits_BR, rows, rows.targets_T == token);
    return hits_BR.sum(-1) / experience.mask_BR.sum(-1).clamp_min(1);
  };
}

}  // namespace headroom
