// What an iteration of PPO or GRPO has allocated at most, phase by phase, and what is alive then.
// No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/ppo/setup/setup.h"
#include "train/spec.h"

namespace headroom {

// A group beside those of rows.h and peak.h: prompts, responses and what is known of their tokens.
inline constexpr const char* kExperience = "experience";

// Note [An iteration rehearsed]
// Rationale: an iteration is several models on one card, none of which is alone: the states of two
//   are there while a third one scores, and the blocks that one phase leaves cached are those that
//   the next one finds.
// Approach: as Note [Rehearsal], of all roles, on one allocator: profiling/theory/rehearsal/ppo
//   beside train/ppo, rehearsal/generator.cpp beside train/generate, rehearsal/pass.h beside
//   model/pass.h. One iteration to warm up, what is cached goes back, and the next one is looked
//   at, as bench/cell/ppo/ppo_run.cpp does.
//   Of what repeats itself only so much is gone through as tells: Note [Blocks gone through once],
//   Note [Decodes gone through], passes of as many tokens, and 32 updates of a model at most.
// Limits: those of Note [Rehearsal]. No token ends a response, as on a virtual card, which has no
//   values. What is not followed is named by not_rehearsed(). Held by
//   tests/virtual_gpu/ppo_test.py.
struct PhasePeak {
  std::string phase;      // "generation", "scoring", "training"
  int64_t allocated = 0;  // bytes, in the allocator's blocks
  int64_t reserved = 0;   // in its segments
  int64_t requested = 0;  // as asked for, at the instant when that is most
  std::string where;      // of what is allocated: "actor: backward, block 3: ExpBackward0"
  // By owner and group at the instant when most is requested: "actor parameters", "kv cache".
  std::map<std::string, int64_t> components;
};

// Settings that predicted_iteration() does not follow, as flags; empty: it follows all of them.
std::vector<std::string> not_rehearsed(const RunSpec& shared, const PpoSetup& setup);

// In the order of the phases. not_rehearsed() must be empty.
std::vector<PhasePeak> predicted_iteration(const RunSpec& shared, const PpoSetup& setup);

// Whether both iterations go through where the allocator may take so many bytes of the card: peaks
// below them may not, because what is free is in pieces. not_rehearsed() must be empty.
bool iteration_rehearsed_to_fit(const RunSpec& shared, const PpoSetup& setup, int64_t bytes);

}  // namespace headroom
