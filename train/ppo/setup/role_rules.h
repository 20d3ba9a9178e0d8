// What the roles of an iteration are run with, and what contradicts it. No torch here.
#pragma once

#include <string>
#include <vector>

#include "train/ppo/role.h"
#include "train/ppo/setup/setup.h"
#include "train/ppo/setup/spec.h"
#include "train/spec.h"

namespace headroom {

// The spec of a role as it is run: mode training where it is trained, else forward, in which
// techniques of a backward change nothing.
RunSpec role_spec(Role role, RunSpec spec);

// Of a step that generates: what only a backward or an update has is not in it.
RunSpec as_generation(RunSpec spec);

// What of a role is on the card or off it, whole (--swap-phases).
enum class RolePart { kWeights, kOptimizer };

// Whether a phase needs it on the card: the table of Note [Who is on the card], placement.h.
bool is_needed(Role role, RolePart part, const std::string& phase);

// Of every role that takes part, in their order, as they are run.
std::vector<RunSpec> role_specs(const RunSpec& shared, const PpoSetup& setup);

// Throws UsageError where the role cannot take part: a context that does not hold prompt and
// response, gradients released in backward where micro-batches may be several, FP8 on a card.
void validate_role(Role role, const RunSpec& spec, const PpoSpec& ppo, int64_t prompt_length);

// A line that refuses a RunSpec, in the words of an iteration: a flag that was given for this role
// alone is named as it was typed, and its example leaves out --profile-type, which every role has
// of its own, and has a reward model for a setting of one.
std::string said_of_role(std::string line, Role role, const PpoSetup& setup);

}  // namespace headroom
