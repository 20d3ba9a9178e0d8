// RunSpec -> Step: the one place where techniques are applied, in a stated order.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "train/parallel/ranks/device_mesh.h"
#include "train/settings/spec.h"
#include "train/step.h"

namespace headroom {

// Builds the model on `device` and applies, in this order:
//   1. weights: seeded initialization in FP32, rounded to --param-dtype tensor by tensor, then
//      --load-weights over it. As soon as a block is made, it is sharded over tensor ranks, moved
//      to the host and sharded over replicas. A pipeline stage makes only its own blocks
//   2. precision: TF32 switch; autocast dtype (BF16 becomes FP16 on a card without it); FP8 by the
//      choice of layers
//   3. checkpointing, around groups of blocks (Step::run_groups) or the core of each attention
//   4. generation: the schedule of a run that generates
//   5. around each block (Step::run_block), the later ones outside: compression and offload of
//      saved activations, then parameters fetched from the host, then those gathered from replicas
//   6. the update, with loss scaling (FP16 with a backward)
//   7. gradient sums over replicas and over tensor ranks, and the pipeline's schedule
// Appends to `notes` what the reader of the result must know. Throws UsageError.
std::unique_ptr<Step> build_step(const RunSpec& spec, torch::Device device,
                                 std::vector<std::string>* notes,
                                 const DeviceMesh* device_mesh = nullptr);

// For a model that differs from the spec's: `config` is model_config(spec) with another number of
// outputs (critic, reward model). A weight file must have that head.
std::unique_ptr<Step> build_step(const RunSpec& spec, const ModelConfig& config,
                                 torch::Device device, std::vector<std::string>* notes,
                                 const DeviceMesh* device_mesh = nullptr);

}  // namespace headroom
