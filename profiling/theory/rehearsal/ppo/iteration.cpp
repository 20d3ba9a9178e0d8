#include "profiling/theory/rehearsal/ppo/iteration.h"

#include <utility>

#include "profiling/theory/iteration.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/generate/rules.h"
#include "train/ppo/phases/phase_names.h"
#include "train/ppo/setup/role_rules.h"

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
      generation_(generation_of(shared, spec_)),
      empties_cache_(setup.empty_cache_between_phases) {
  if (setup.swap_phases) placement_.emplace();
  for (const Role role : roles_of(setup)) {
    const RunSpec spec = role_spec(role, spec_of_role(shared, setup, role));
    roles_.step_of(role) = std::make_unique<RehearsedStep>(
        run, spec, gives_values(role) ? Head::kValue : Head::kLanguage, literal_of(role));
    if (placement_) placement_->add(role, *roles_.step_of(role));
  }
}

void RehearsedIteration::go(const OnPhase& on_phase) {
  run_.memory.site = {.phase = "prompts"};
  run_.memory.group = kInputs;
  const int64_t tokens = prompt_tokens(shared_);
  const ShapePrompts prompts = {empty(run_, {spec_.prompts, tokens}, DType::kInt64)};
  ShapeExperience experience;
  const auto in_phase = [&](const char* phase, const auto& goes) {
    before(phase);
    run_.memory.site = {.phase = phase};
    run_.memory.group = kExperience;
    on_phase(phase, true);
    goes();
    on_phase(phase, false);
  };
  in_phase(kGenerationPhase, [&] {
    const ShapePrompts repeated = {empty(run_, {spec_.sequences(), tokens}, DType::kInt64)};
    generate(repeated, experience);
  });
  in_phase(kScoringPhase, [&] {
    score(experience, roles_, spec_);
    report_scores(experience);
  });
  in_phase(kTrainingPhase, [&] {
    if (roles_.critic) train_critic(experience, *roles_.critic, spec_);
    train_actor(experience, *roles_.actor, spec_);
  });
}

// Like change_phase() of bench/cell/ppo/ppo_bench.cpp.
void RehearsedIteration::before(const char* phase) {
  run_.memory.site = {.phase = "change of phase"};
  const auto empty = [this] {
    if (empties_cache_) run_.memory.release_cached();
  };
  if (!placement_) return empty();
  placement_->before(phase, empty);
}

void RehearsedIteration::generate(const ShapePrompts& prompts, ShapeExperience& experience) {
  experience =
      make_shape_experience(roles_.actor->generate(prompts, generation_), spec_.response_length);
}

}  // namespace headroom
