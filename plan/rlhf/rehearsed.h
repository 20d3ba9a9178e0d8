// The training phase: a whole step of one rank, rehearsed with shapes. No torch here.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "plan/rlhf/memory.h"
#include "profiling/theory/peak.h"

namespace headroom {

// Note [The training phase]
// Rationale: summed components are one instant, the begin of backward, plus every gradient. Where
//   the update or the middle of backward is fullest, that is some percent off: gradients appear as
//   activations are freed, and the update makes tensors of its own. On several GPUs it is more: 12
//   GiB of a 7b model's 60, in either direction.
// Approach: the step is one that `headroom profile` runs, on its mesh. It is rehearsed
//   (profiling/theory/peak.h), and its tensors at the fullest instant replace the components that
//   only the step has (Component::in_step). Weights and optimizer states are those of the rehearsed
//   rank; memory beside the step is counted as before: the other models, the other trained model's
//   gradients, the experience. Of actor and critic the one whose step needs more is shown. A
//   micro-batch that repeats the one before is left out.
//   On several GPUs every rank that can be the fullest is rehearsed: Note [Ranks that can be
//   fullest]. A search rehearses one step after the first, and all of them only if that is within a
//   fiftieth of the card: memory cached for later steps never moved a peak by more than a
//   seventieth.
// Limits: a spec that generates on one GPU is rehearsed as a whole iteration: Note [An iteration on
//   one GPU]; on several GPUs the other phases are summed. Without a matching run everything is
//   summed, and the report says so: states that no run keeps, incompatible settings, attention
//   kernels that are not rehearsed, on tp a critic of another size. A critic's loss is cross
//   entropy over one row.

// The step of one model as a run of `headroom profile`.
RunSpec step_run_of(const RlhfSpec& spec, const ModelConfig& config);

// "" if the step or, for a spec that generates on one GPU, the iteration is rehearsed, else the
// reason why not.
std::string why_added_up(const RlhfSpec& spec);

// Bytes alive at a step's fullest instant.
struct StepPeak {
  int64_t allocated = 0;                  // all of it, in the allocator's blocks
  std::string where;                      // "backward, block 31: DivBackward0"
  std::map<std::string, int64_t> groups;  // requested bytes by theory's groups
  int64_t of(std::string_view group) const;
};

// Rehearsed steps; each takes milliseconds, a tenth of a second for a large model.
class RehearsedSteps {
 public:
  const StepPeak& peak(const RunSpec& run, Head head, int64_t rank);
  size_t count() const { return known_.size(); }

 private:
  std::map<std::string, StepPeak> known_;
};

// The fullest rank, its step rehearsed. bytes: only the comparison with it must be right: one rank
// that exceeds it is enough, and in clear cases one step after the first. why_added_up() must be
// empty.
RankMemory rehearsed(const RlhfSpec& spec, const RlhfModels& models, std::optional<int64_t> bytes);

}  // namespace headroom
