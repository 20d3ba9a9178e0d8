// The phases of an iteration on one GPU: all of it, gone through with shapes. No torch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/rlhf/memory.h"
#include "profiling/theory/iteration.h"
#include "train/ppo/setup/setup.h"

namespace headroom {

// Note [An iteration on one GPU]
// Rationale: `headroom ppo` runs such an iteration and measures it. What a plan says of the same
//   set-up has to be what is measured, and components added up are some percent off in every phase.
// Approach: on one GPU the plan's iteration is a PpoRun. It is rehearsed (profiling/theory/
//   iteration.h), and each phase has what is computed there, which is what is measured, to the byte
//   (results/ppo/computed_beside_measured.md), and the CUDA context beside it. Weights and
//   optimizer states are components of all phases as before; what a phase makes is that phase's
//   own. Without a critic it is GRPO with all sequences of one group. Where the batch is cut into
//   micro-batches, those are the tokens of a prefill's passes too. Two epochs of one update: later
//   ones find what the second one found.
// Limits: where phases are swapped in thought only, what they make stays as it was rehearsed. What
//   `headroom ppo` cannot run is added up, and the report says why: why_added_up().

// The iteration as `headroom ppo` runs it, of a spec that generates, on one GPU.
PpoRun ppo_run_of(const RlhfSpec& spec);

// "" where ppo_run_of() can be run and rehearsed, else why not.
std::string why_not_rehearsed(const RlhfSpec& spec);

// Iterations that were rehearsed: each takes some tenths of a second.
class RehearsedIterations {
 public:
  const std::vector<PhasePeak>& phases(const PpoRun& run);
  size_t count() const { return known_.size(); }

 private:
  std::map<std::string, std::vector<PhasePeak>> known_;
};

// `added_up` with what its phases make rehearsed. why_not_rehearsed() must be empty.
RankMemory rehearsed_iteration(const RlhfSpec& spec, const RlhfModels& models,
                               const RankMemory& added_up);

}  // namespace headroom
