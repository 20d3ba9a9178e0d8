// The phases of an iteration on one GPU, rehearsed with shapes. No torch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/rlhf/memory.h"
#include "profiling/theory/iteration.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Note [An iteration on one GPU]
// Rationale: `headroom ppo` runs such an iteration and measures it. A plan of the same set-up must
//   give the measured figures; summed components are some percent off in every phase.
// Approach: on one GPU the plan's iteration is a PpoRun. It is rehearsed
//   (profiling/theory/iteration.h), and each phase gets the computed figures, which equal the
//   measured ones to the byte (results/ppo/computed_beside_measured.md), and the CUDA context.
//   Weights and optimizer states are components of all phases as before; a phase's other tensors
//   are its own. Without a critic it is GRPO with all sequences in one group. If the batch is cut
//   into micro-batches, they also set the tokens per prefill pass. Two epochs of one update: later
//   ones have the same memory as the second.
// Limits: a hypothetical swap of phases leaves temporaries as rehearsed. Set-ups that `headroom
//   ppo` cannot run are added up, and the report gives the reason: why_added_up().

// The iteration as a run of `headroom ppo`; the spec must generate, on one GPU.
PpoRun ppo_run_of(const RlhfSpec& spec);

// "" if ppo_run_of() can be run and rehearsed, else the reason.
std::string why_not_rehearsed(const RlhfSpec& spec);

// Rehearsed iterations; each takes some tenths of a second.
class RehearsedIterations {
 public:
  const std::vector<PhasePeak>& phases(const PpoRun& run);
  size_t count() const { return known_.size(); }

 private:
  std::map<std::string, std::vector<PhasePeak>> known_;
};

// `added_up`, its phases' tensors replaced by rehearsed ones. why_not_rehearsed() must be empty.
RankMemory rehearsed_iteration(const RlhfSpec& spec, const RlhfModels& models,
                               const RankMemory& added_up);

}  // namespace headroom
