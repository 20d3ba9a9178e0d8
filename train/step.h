// One step of the workload. Start here.
//
// A step is a sequence of phases, each a named scope (RECORD_USER_SCOPE) that whoever profiles may
// listen to; this file knows nothing of profiling. build_step() in train/build.h makes one from a
// RunSpec.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "model/transformer.h"
#include "train/data/data.h"
#include "train/loss_scaler.h"
#include "train/optim/optimizer.h"
#include "train/spec.h"

namespace headroom {

class Step {
 public:
  Step(Transformer model, Mode mode, Precision precision, torch::Device device);

  // Runs one step and returns the loss (a detached scalar, FP32 but for autocast on the CPU, whose
  // lists leave it in the low precision; undefined where the mode computes none). Does not wait for
  // the device. After it no gradient is left.
  torch::Tensor run(const Batch& batch);

  // What the techniques of train/build.h set.
  BlockRunner run_block;                    // how each block is run
  std::unique_ptr<Optimizer> optimizer;     // training only
  std::unique_ptr<LossScaler> loss_scaler;  // FP16 with a backward only

  Transformer& model() { return model_; }
  torch::Device device() const { return device_; }
  int64_t skipped_steps() const { return skipped_steps_; }  // FP16 gradients were not finite

 private:
  torch::Tensor forward(const Batch& batch);
  torch::Tensor forward_and_loss(const Batch& batch, torch::Tensor* logits_BSV);
  void backward(const torch::Tensor& loss);
  void update();

  Transformer model_;
  Mode mode_;
  Precision precision_;
  torch::Device device_;
  std::vector<torch::Tensor> parameters_;
  int64_t skipped_steps_ = 0;
};

// Phase names, in the order they run.
inline constexpr const char* kPhases[] = {"forward", "loss", "backward", "optimizer"};

}  // namespace headroom
