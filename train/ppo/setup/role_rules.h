// The roles' settings in an iteration, and their contradictions. No torch here.
#pragma once

#include <string>
#include <vector>

#include "train/ppo/role.h"
#include "train/ppo/setup/setup.h"
#include "train/ppo/setup/spec.h"
#include "train/settings/spec.h"

namespace headroom {

// The spec that a role runs with: mode training if it is trained, else forward, where backward-only
// techniques are reset.
RunSpec role_spec(Role role, RunSpec spec);

// For a step that generates: without settings that only a backward or an update uses.
RunSpec as_generation(RunSpec spec);

// A part of a role that moves as a whole (--swap-phases).
enum class RolePart { kWeights, kOptimizer };

// True if a phase needs it on the card: the table of Note [Phase placement], placement.h.
bool is_needed(Role role, RolePart part, const std::string& phase);

// The specs of all participating roles, in their order, as they run.
std::vector<RunSpec> role_specs(const RunSpec& shared, const PpoSetup& setup);

// Throws UsageError if the role cannot take part: a context that does not hold prompt and response,
// gradients released in backward with possibly several micro-batches, FP8 on a card.
void validate_role(Role role, const RunSpec& spec, const PpoSpec& ppo, int64_t prompt_length);

// Rewords a RunSpec's error line for an iteration: a flag given only for this role is named as
// typed; the example drops --profile-type, which each role sets itself, and includes a reward model
// for a reward model's setting.
std::string said_of_role(std::string line, Role role, const PpoSetup& setup);

}  // namespace headroom
