// The training phase of one GPU: a whole step, gone through with shapes. No torch here.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "plan/rlhf/memory.h"
#include "profiling/theory/peak.h"

namespace headroom {

// Note [The training phase of one GPU]
// Rationale: components added up are one instant, where backward begins, and beside it every
//   gradient. Where the update or the middle of backward is fullest that is some percent off: the
//   gradients come as the activations go, and the update makes tensors of its own.
// Approach: on one GPU a step is one that `headroom profile` runs: it is rehearsed
//   (profiling/theory/peak.h), and what it has alive at its fullest instant stands in the place of
//   the components that only the step has (Component::in_step). Weights and optimizer states are
//   counted as before, and so is what stays beside the step: the other models, the other trained
//   model's gradients, the experience. Of actor and critic the one whose step needs more is shown.
//   Micro-batches are two at most: a third one finds what the second found.
// Limits: of a spec that generates it is a whole iteration: Note [An iteration on one GPU]. What is
//   no such run is added up, and the report says so: several GPUs (no rehearsal knows shards,
//   stages or collectives), states that no run keeps, settings that no run has together, attention
//   kernels that are not rehearsed. A critic's loss is cross entropy over one row.

// The step of one model as `headroom profile` runs it.
RunSpec step_run_of(const RlhfSpec& spec, const ModelConfig& config);

// "" where the step or, of a spec that generates, the iteration is rehearsed, else why it is added
// up.
std::string why_added_up(const RlhfSpec& spec);

// What a step had alive at its fullest instant, in bytes.
struct StepPeak {
  int64_t allocated = 0;                  // of it all, in the allocator's blocks
  std::string where;                      // "backward, block 31: DivBackward0"
  std::map<std::string, int64_t> groups;  // of theory's, requested
  int64_t of(std::string_view group) const;
};

// Steps that were rehearsed: each takes milliseconds.
class RehearsedSteps {
 public:
  const StepPeak& peak(const RunSpec& run, Head head);

 private:
  std::map<std::string, StepPeak> known_;
};

// `added_up` with its step rehearsed; why_added_up() must be empty.
RankMemory rehearsed(const RlhfSpec& spec, const RlhfModels& models, const RankMemory& added_up);

}  // namespace headroom
