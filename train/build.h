// RunSpec -> Step: the one place where techniques are applied, in a stated order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/parallel/ranks/device_mesh.h"
#include "train/spec.h"
#include "train/step.h"

namespace headroom {

// Builds the model on `device` and applies, in this order:
//   1. weights: seeded initialization in FP32, rounded to --param-dtype tensor by tensor, then
//      --load-weights over it. Each block is cut over tensor ranks, moved to the host and shared by
//      replicas as soon as it is made; of a pipeline's stage only its own blocks are
//   2. precision: TF32 switch; autocast dtype (BF16 becomes FP16 on a card without it); FP8 by
//      the layers that the model is made of
//   3. checkpointing, around groups of blocks (Step::run_groups) or the core of each attention
//   4. generation: the schedule of a run that generates
//   5. around each block (Step::run_block), the later ones outside: activations that leave, then
//      parameters that come from the host, then those that are gathered from replicas
//   6. the update, with loss scaling (FP16 with a backward)
//   7. sums of gradients over the replicas, what tensor ranks add up, and the pipeline's schedule
// Appends to `notes` what the reader of the result must know. Throws UsageError.
std::unique_ptr<Step> build_step(const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes, const DeviceMesh* grid = nullptr);

// The same of a model that is not quite the spec's: `config` is model_config(spec) with another
// number of outputs, of a critic or a reward model. A file of weights has that head.
std::unique_ptr<Step> build_step(const RunSpec& spec, const ModelConfig& config,
                                 torch::Device device, std::vector<std::string>* notes,
                                 const DeviceMesh* grid = nullptr);

}  // namespace headroom
