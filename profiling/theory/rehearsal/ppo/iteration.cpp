#include "profiling/theory/rehearsal/ppo/iteration.h"

#include <utility>

#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/generate/rules.h"
#include "train/ppo/role.h"

namespace headroom {
namespace {

const char* literal_of(Role role) {
  switch (role) {
    case Role::kActor:
      return "actor";
    case Role::kCritic:
      return "critic";
    case Role::kReward:
      return "reward";
    case Role::kReference:
      break;
  }
  return "reference";
}

// As role_spec() of train/ppo/roles.cpp.
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

ShapeGeneration generation_of(RunSpec shared, const PpoSpec& ppo) {
  shared.profile_type = Mode::kGenerate;
  return {.response_len = ppo.response_length,
          .prefill_chunk = shared.prefill_chunk,
          .temperature = ppo.temperature,
          .cache = kv_cache_shape(shared)};
}

}  // namespace

std::unique_ptr<RehearsedStep>& RehearsedRoles::step_of(Role role) {
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

RehearsedIteration::RehearsedIteration(Run& run, const RunSpec& shared, const PpoSetup& setup)
    : run_(run),
      shared_(shared),
      spec_(ppo_spec_of(shared, setup)),
      generation_(generation_of(shared, spec_)) {
  for (const Role role : roles_of(setup)) {
    const RunSpec spec = role_spec(role, spec_of_role(shared, setup, role));
    roles_.step_of(role) = std::make_unique<RehearsedStep>(
        run, spec, gives_values(role) ? Head::kValue : Head::kLanguage, literal_of(role));
  }
}

void RehearsedIteration::go(const OnPhase& on_phase) {
  run_.memory.place = {.phase = "prompts"};
  run_.memory.group = kInputs;
  const int64_t tokens = prompt_tokens(shared_);
  const ShapePrompts prompts = {empty(run_, {spec_.prompts, tokens}, DType::kInt64)};
  ShapeExperience experience;
  const auto in_phase = [&](const char* phase, const auto& goes) {
    run_.memory.place = {.phase = phase};
    run_.memory.group = kExperience;
    on_phase(phase, true);
    goes();
    on_phase(phase, false);
  };
  in_phase("generation", [&] {
    const ShapePrompts repeated = {empty(run_, {spec_.sequences(), tokens}, DType::kInt64)};
    generate(repeated, experience);
  });
  in_phase("scoring", [&] {
    score(experience, roles_, spec_);
    report_scores(experience);
  });
  in_phase("training", [&] {
    if (roles_.critic) train_critic(experience, *roles_.critic, spec_);
    train_actor(experience, *roles_.actor, spec_);
  });
}

void RehearsedIteration::generate(const ShapePrompts& prompts, ShapeExperience& experience) {
  experience =
      make_shape_experience(roles_.actor->generate(prompts, generation_), spec_.response_length);
}

}  // namespace headroom
