// Forwards of a step without gradients.
#include "train/step.h"
#include "train/techniques/precision.h"

namespace headroom {

using torch::Tensor;

Tensor Step::infer(const Tensor& tokens_BS, const LossOfOutput& use, const BatchLayout* pass) {
  update->begin_step();
  hooks.begin_step();
  const PassScope layout_of_tokens(model_, pass);
  const torch::NoGradGuard no_grad;
  const AutocastGuard autocast(precision_, device_.type(), tags_, parameters_);
  const StepScope phase(scopes_, {ScopeKind::kPhase, "forward"});
  tag(tags_, Category::kOther, tokens_BS, "tokens");
  hooks.begin_forward(Task());
  Tensor used = use(model_, model_->hidden(tokens_BS, block_in_scope()));
  tag_workspaces(tags_);
  return used;
}

Tensor Step::logits(const Tensor& tokens_BS) {
  hooks.begin_forward(Task());
  return model_->forward(tokens_BS, block_in_scope(), run_groups);
}

}  // namespace headroom
