#include "train/step.h"

#include <ATen/record_function.h>

#include "model/loss.h"
#include "train/precision.h"

namespace headroom {

using torch::Tensor;

Step::Step(Transformer model, Mode mode, Precision precision, torch::Device device)
    : model_(std::move(model)),
      mode_(mode),
      precision_(precision),
      device_(device),
      parameters_(model_->parameters()) {
  run_block = [](TransformerBlock& block, const Tensor& x_BSD) { return block(x_BSD); };
}

Tensor Step::run(const Batch& batch) {
  if (mode_ == Mode::kForward) {
    const torch::NoGradGuard no_grad;
    forward(batch);
    return {};
  }
  if (mode_ == Mode::kForwardGrad) {
    forward(batch);  // what backward would need lives as long as the logits, then goes
    return {};
  }
  // Here, not at the end: as zero_grad() opens the turn of a training loop. What the allocator has
  // cached when a step begins is part of its peak.
  for (Tensor& parameter : parameters_) parameter.mutable_grad() = Tensor();
  // The logits live through backward, as the local variable of a training loop does.
  Tensor logits_BSV;
  const Tensor loss = forward_and_loss(batch, &logits_BSV);
  backward(loss);
  if (mode_ == Mode::kTraining) update();
  return loss.detach();
}

Tensor Step::forward(const Batch& batch) {
  const AutocastGuard autocast(precision_, device_.type());
  RECORD_USER_SCOPE("forward");
  return model_->forward(batch.tokens_BS, run_block);
}

Tensor Step::forward_and_loss(const Batch& batch, Tensor* logits_BSV) {
  const AutocastGuard autocast(precision_, device_.type());
  {
    RECORD_USER_SCOPE("forward");
    *logits_BSV = model_->forward(batch.tokens_BS, run_block);
  }
  RECORD_USER_SCOPE("loss");
  return cross_entropy(*logits_BSV, batch.targets_BS);
}

void Step::backward(const Tensor& loss) {
  RECORD_USER_SCOPE("backward");
  if (loss_scaler) {
    loss_scaler->scale(loss).backward();
  } else {
    loss.backward();
  }
}

void Step::update() {
  RECORD_USER_SCOPE("optimizer");
  if (!loss_scaler) return optimizer->step();
  std::vector<Tensor> gradients;
  for (const Tensor& parameter : parameters_) gradients.push_back(parameter.grad());
  if (loss_scaler->unscale(gradients)) {
    optimizer->step();
  } else {
    ++skipped_steps_;
  }
  loss_scaler->update();
}

}  // namespace headroom
