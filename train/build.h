// RunSpec -> Step: the one place where techniques are applied, in a stated order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/parallel/grid.h"
#include "train/spec.h"
#include "train/step.h"

namespace headroom {

// Builds the model on `device` and applies, in this order:
//   1. weights: seeded initialization in FP32, rounded to --weights tensor by tensor, then
//      --load-weights over it
//   2. precision: TF32 switch; autocast dtype (BF16 becomes FP16 on a card without it); FP8 by
//      the layers that the model is made of
//   3. checkpointing: what wraps groups of blocks (Step::run_groups), or the core of each
//      attention; the scope of a block is the step's own, opened inside them
//   4. what autograd saves (Step::saved): --activations
//   5. micro-batches, and loss scaling (FP16 with a backward)
//   6. the optimizer (training), behind clipping, or one for each parameter inside backward, or the
//      host's; and what stands between it and BF16 weights: master weights, or stochastic rounding
//   7. the other ranks of the grid; null: there is this one
// Appends to `notes` what the reader of the result must know. Throws UsageError.
std::unique_ptr<Step> build_step(const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes, const Grid* grid = nullptr);

// The same of a model that is not quite the spec's: `config` is model_config(spec) with another
// number of outputs, of a critic or a reward model. A file of weights has that head.
std::unique_ptr<Step> build_step(const RunSpec& spec, const ModelConfig& config,
                                 torch::Device device, std::vector<std::string>* notes,
                                 const Grid* grid = nullptr);

}  // namespace headroom
