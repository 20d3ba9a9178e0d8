#include "train/ppo/setup/role_rules.h"

#include "text/quantity.h"
#include "train/generate/rules.h"
#include "train/ppo/phases/phase_names.h"

namespace headroom {
namespace {

// Replaces every whole flag: "--param-offload" is not in "--actor-param-offload".
void replace_flag(std::string& line, const std::string& flag, const std::string& with) {
  for (size_t at = line.find(flag); at != std::string::npos; at = line.find(flag, at)) {
    const size_t end = at + flag.size();
    const bool whole =
        end == line.size() || std::string(" :,;)").find(line[end]) != std::string::npos;
    if (whole) line.replace(at, flag.size(), with);
    at += whole ? with.size() : flag.size();
  }
}

void drop_mode(std::string& line) {
  const size_t example = line.rfind("(example: ");
  if (example == std::string::npos) return;
  const std::string mode = "--profile-type ";
  const size_t at = line.find(mode, example);
  if (at == std::string::npos) return;
  const size_t word = line.find_first_of(" )", at + mode.size());
  line.erase(at, (line[word] == ' ' ? word + 1 : word) - at);
}

// A reward model's settings are refused without one, and none is the default.
void add_reward_model(std::string& line) {
  constexpr std::string_view kBegin = "(example: ";
  const size_t example = line.rfind(kBegin);
  if (example == std::string::npos || line.find("--reward-", example) == std::string::npos) return;
  line.insert(example + kBegin.size(), "--reward-size actor ");
}

// Resets the settings that only a backward or an update uses.
RunSpec without_backward(RunSpec spec) {
  const RunSpec defaults;
  spec.checkpoint = defaults.checkpoint;
  spec.activations = defaults.activations;
  spec.optimizer_offload = defaults.optimizer_offload;
  spec.max_grad_norm = defaults.max_grad_norm;
  spec.release_gradients = defaults.release_gradients;
  return spec;
}

}  // namespace

RunSpec role_spec(Role role, RunSpec spec) {
  if (!is_trained(role)) spec = without_backward(std::move(spec));
  spec.profile_type = is_trained(role) ? Mode::kTraining : Mode::kForward;
  spec.micro_batches = 1;
  return without_generation(std::move(spec));
}

RunSpec as_generation(RunSpec spec) {
  spec = without_backward(std::move(spec));
  spec.profile_type = Mode::kGenerate;
  return spec;
}

bool is_needed(Role role, RolePart part, const std::string& phase) {
  if (part == RolePart::kOptimizer) return phase == kTrainingPhase;
  switch (role) {
    case Role::kActor:
      return true;
    case Role::kCritic:
      return phase != kGenerationPhase;
    case Role::kReward:
    case Role::kReference:
      break;
  }
  return phase == kScoringPhase;
}

std::vector<RunSpec> role_specs(const RunSpec& shared, const PpoSetup& setup) {
  std::vector<RunSpec> specs;
  for (const Role role : roles_of(setup)) {
    specs.push_back(role_spec(role, spec_of_role(shared, setup, role)));
  }
  return specs;
}

void validate_role(Role role, const RunSpec& spec, const PpoSpec& ppo, int64_t prompt_length) {
  const int64_t tokens = prompt_length + ppo.response_length;
  if (spec.context_length < tokens) {
    throw UsageError("--context-length", std::to_string(spec.context_length),
                     "is too short for a prompt of " + std::to_string(prompt_length) +
                         " tokens and a response of " + std::to_string(ppo.response_length) +
                         "; allowed: " + std::to_string(tokens) + " or more",
                     "--context-length " + std::to_string(tokens));
  }
  if (is_trained(role) && spec.precision == Precision::kFp8 &&
      spec.device.kind != DeviceKind::kCpu) {
    throw UsageError("--precision", "fp8",
                     "needs multiples of 16 tokens on a card, and packed sequences have any "
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

std::string said_of_role(std::string line, Role role, const PpoSetup& setup) {
  drop_mode(line);
  const auto own = setup.of_role.find(role);
  if (own == setup.of_role.end()) return line;
  for (const RoleField& one : role_fields()) {
    if (one.role != role || !own->second.contains(one.field->name)) continue;
    replace_flag(line, one.field->flag(), one.flag());
  }
  if (role == Role::kReward && setup.reward_size == "none") add_reward_model(line);
  return line;
}

}  // namespace headroom
