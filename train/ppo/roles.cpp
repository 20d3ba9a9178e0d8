#include "train/ppo/roles.h"

#include <utility>

#include "text/quantity.h"
#include "train/build.h"
#include "train/generate/rules.h"
#include "train/ppo/passes.h"

namespace headroom {

using torch::Tensor;

RunSpec role_spec(Role role, RunSpec spec) {
  spec.profile_type = is_trained(role) ? Mode::kTraining : Mode::kForward;
  if (!is_trained(role)) {
    spec.optimizer_offload = {};
    spec.max_grad_norm = 0;
    spec.release_gradients = false;
  }
  spec.micro_batches = 1;
  return without_generation(std::move(spec));
}

void validate_role(Role role, const RunSpec& spec, const PpoSpec& ppo, int64_t prompt_length) {
  const int64_t tokens = prompt_length + ppo.response_length;
  if (spec.context_length < tokens) {
    throw UsageError("--context-length", std::to_string(spec.context_length),
                     "does not hold a prompt of " + std::to_string(prompt_length) +
                         " tokens and a response of " + std::to_string(ppo.response_length) +
                         "; allowed: " + std::to_string(tokens) + " or more",
                     "--context-length " + std::to_string(tokens));
  }
  if (is_trained(role) && spec.precision == Precision::kFp8 &&
      spec.device.kind != DeviceKind::kCpu) {
    throw UsageError(
        "--precision", "fp8",
        "multiplies tokens in multiples of 16 on a card, and packed sequences are of any "
        "number; allowed there: fp32, tf32, bf16, fp16",
        "--precision bf16");
  }
  if (is_trained(role) && spec.release_gradients && ppo.max_tokens_per_micro_batch > 0) {
    throw UsageError("--release-gradients", "true",
                     "updates in the backward of each micro-batch, and "
                     "--max-tokens-per-micro-batch makes several; allowed there: false",
                     "--release-gradients=false");
  }
}

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

RewardRule share_of_token(int64_t token) {
  return [token](const Experience& experience) {
    const PassRows rows = rows_of(experience, all_sequences(experience));
    Tensor hits_BR = experience.zeros_BR();
    into(hits_BR, rows, rows.targets_T == token);
    return hits_BR.sum(-1) / experience.mask_BR.sum(-1).clamp_min(1);
  };
}

}  // namespace headroom
