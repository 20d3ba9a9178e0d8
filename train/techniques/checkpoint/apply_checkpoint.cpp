#include "train/techniques/checkpoint/apply_checkpoint.h"

#include <string>

#include "train/techniques/checkpoint/checkpoint.h"

namespace headroom {

void apply_checkpoint(const BuildRequest& request, Step& step) {
  const Checkpoint& setting = request.spec.checkpoint;
  // With a budget the compiled regions recompute.
  if (setting.kind == CheckpointKind::kNone || setting.kind == CheckpointKind::kBudget) return;
  const std::string flag = "--recompute " + to_string(setting);
  if (!builds_graph(request.spec.profile_type)) {
    request.note({flag + " changes nothing: a forward without gradients keeps nothing"});
    return;
  }
  const RecomputeListener listener = [&step] { return step.scopes(); };
  step.run_groups = checkpointing_runner(setting, listener);
  if (setting.kind != CheckpointKind::kSelective) return;
  if (request.spec.attention != Attention::kEager) {
    request.note(
        {flag +
         " recomputes nothing: scaled_dot_product_attention keeps the tensors of its kernel only"});
    return;
  }
  step.model()->run_core_by(recomputing_core(listener));
}

}  // namespace headroom
