// The peak of an iteration of PPO or GRPO by phase, and the memory alive then. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "train/ppo/setup/setup.h"
#include "train/settings/spec.h"

namespace headroom {

// A group beside those of rows.h and peak.h: prompts, responses and data about their tokens.
inline constexpr const char* kExperience = "experience";

// Note [An iteration rehearsed]
// Rationale: an iteration has several models on one card, none of them alone: the states of two are
//   there while a third one scores, and each phase finds the cached blocks that the previous one
//   left.
// Approach: as Note [Rehearsal], with all roles on one allocator: profiling/theory/rehearsal/ppo
//   beside train/ppo, rehearsal/generate/generator.cpp beside train/generate,
//   rehearsal/generate/pass.h beside model/batch_layout.h. One iteration warms up, the cached
//   blocks are released, and the next iteration is measured, as in bench/cell/ppo/ppo_run.cpp.
//   Repetitions are shortened: Note [Blocks gone through once], Note [Decodes gone through], passes
//   of as many tokens, and at most 32 updates of a model.
// Limits: those of Note [Rehearsal]. No token ends a response, as on a virtual card, which has no
//   values. not_rehearsed() names the settings that are not followed. Checked by
//   tests/virtual_gpu/ppo/ppo_test.py.
struct PhasePeak {
  std::string phase;      // "generation", "scoring", "training"
  int64_t allocated = 0;  // bytes, in the allocator's blocks
  int64_t reserved = 0;   // in its segments
  int64_t requested = 0;  // as requested, at its own fullest instant
  std::string where;      // of the allocated peak: "actor: backward, block 3: ExpBackward0"
  // Requested bytes by owner and group at their peak: "actor parameters", "kv cache".
  std::map<std::string, int64_t> components;
};

// Flags of the settings that predicted_iteration() does not follow; empty = none.
std::vector<std::string> not_rehearsed(const RunSpec& shared, const PpoSetup& setup);

// In the order of the phases. not_rehearsed() must be empty.
std::vector<PhasePeak> predicted_iteration(const RunSpec& shared, const PpoSetup& setup);

// True if both iterations fit when the allocator may take `bytes` of the card. Lower peaks may not
// fit, because free memory is fragmented. not_rehearsed() must be empty.
bool iteration_rehearsed_to_fit(const RunSpec& shared, const PpoSetup& setup, int64_t bytes);

}  // namespace headroom
