// The training phase: a whole step of one rank, gone through with shapes. No torch here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plan/rlhf/memory.h"
#include "profiling/theory/peak.h"

namespace headroom {

// Note [The training phase]
// Rationale: components added up are one instant, where backward begins, and beside it every
//   gradient. Where the update or the middle of backward is fullest that is some percent off: the
//   gradients come as the activations go, and the update makes tensors of its own. On several GPUs
//   it is more: 12 GiB of a 7b model's 60, either way.
// Approach: the step is one that `headroom profile` runs, on its mesh: it is rehearsed
//   (profiling/theory/peak.h), and what it has alive at its fullest instant stands in the place of
//   the components that only the step has (Component::in_step). Weights and optimizer states are
//   those of the rank that is rehearsed; what stays beside the step is counted as before: the other
//   models, the other trained model's gradients, the experience. Of actor and critic the one whose
//   step needs more is shown. A micro-batch that finds what the one before found is left out.
//   Of several GPUs every rank that can be the fullest is rehearsed: Note [Ranks that can be
//   fullest]. A search asks one step after the first, and all of them only where that comes within
//   a fiftieth of the card: what later steps find cached was never seen to move a peak by more than
//   a seventieth.
// Limits: of a spec that generates on one GPU it is a whole iteration: Note [An iteration on one
//   GPU]; on several the other phases are added up. What is no such run is added up as a whole, and
//   the report says so: states that no run keeps, settings that no run has together, attention
//   kernels that are not rehearsed, on tp a critic of another size. A critic's loss is cross
//   entropy over one row.

// The step of one model as `headroom profile` runs it.
RunSpec step_run_of(const RlhfSpec& spec, const ModelConfig& config);

// "" where the step or, of a spec that generates on one GPU, the iteration is rehearsed, else why
// it is added up.
std::string why_added_up(const RlhfSpec& spec);

// What a step had alive at its fullest instant, in bytes.
struct StepPeak {
  int64_t allocated = 0;                  // of it all, in the allocator's blocks
  std::string where;                      // "backward, block 31: DivBackward0"
  std::map<std::string, int64_t> groups;  // of theory's, requested
  int64_t of(std::string_view group) const;
};

// Steps that were rehearsed: each takes milliseconds, of a large model a tenth of a second.
class RehearsedSteps {
 public:
  const StepPeak& peak(const RunSpec& run, Head head, int64_t rank);
  size_t count() const { return known_.size(); }

 private:
  std::map<std::string, StepPeak> known_;
};

// The fullest rank, its step rehearsed. bytes: whether so many are enough is all that is asked;
// then one rank that needs more will do, and where it is clear, one step after the first.
// why_added_up() must be empty.
RankMemory rehearsed(const RlhfSpec& spec, const RlhfModels& models, std::optional<int64_t> bytes);

}  // namespace headroom
