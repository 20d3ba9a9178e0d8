// Which implementation of each layer a model is made of: what --kernels chooses.
#pragma once

#include <torch/torch.h>

#include <memory>

#include "model/attention_kernel.h"
#include "model/config.h"

namespace headroom {

using torch::Tensor;

struct Positions;

// A layer with parameters: (..., in) -> (..., out).
class LayerModule : public torch::nn::Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;
};
using Layer = std::shared_ptr<LayerModule>;

// Note [Layers by kernels]
// Rationale: the assignment's operation sequence and a faster one compute the same from the same
//   parameters; they differ inside the layers and nowhere else.
// Approach: one function per layer. A model asks its factory for each of them, and a layer made of
//   layers asks the factory it was given. A set of kernels is one file with such functions, and a
//   row in train/build.cpp.
// Limits: parameters keep their names and shapes (attn.q_proj.weight is (D, D)), by which files of
//   weights, optimizers and theory know them. The token table, the rotary tables and the loss are
//   the same in every set.
struct LayerFactory {
  using Options = torch::TensorOptions;

  Layer (*linear)(int64_t in, int64_t out, const Options& options);
  Layer (*rms_norm)(int64_t d_model, double eps, const Options& options);
  Layer (*feed_forward)(const LayerFactory& layers, int64_t d_model, int64_t d_ff,
                        const Options& options);
  // `positions` outlive the layer.
  Layer (*attention)(const LayerFactory& layers, const ModelConfig& config, Attention kind,
                     const Positions* positions, const Options& options);
};

// The assignment's own operation sequence, one ATen operation at a time.
const LayerFactory& eager_layers();

}  // namespace headroom
