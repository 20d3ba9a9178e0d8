// Factory of a model's layers: --kernels chooses it.
#pragma once

#include <functional>
#include <memory>

#include "model/attention_kernel/attention_kernel.h"
#include "model/config.h"
#include "model/torch.h"

namespace headroom {

using torch::Tensor;

struct Positions;

// The written-out softmax of an attention, from queries, keys and values to heads.
using AttentionCore =
    std::function<Tensor(const Tensor& q_BHSK, const Tensor& k_BHTK, const Tensor& v_BHTK)>;

// Runs the core of an attention. May add work around it and run it again.
using AttentionRunner = std::function<Tensor(const AttentionCore& core, const Tensor& q_BHSK,
                                             const Tensor& k_BHTK, const Tensor& v_BHTK)>;

// A layer with parameters: (..., in) -> (..., out).
class LayerModule : public torch::nn::Module {
 public:
  virtual Tensor forward(const Tensor& x) = 0;
  // Sets the runner of the layer's written-out softmax; layers without attention ignore it.
  virtual void run_core_by(const AttentionRunner& /*run*/) {}
};
using Layer = std::shared_ptr<LayerModule>;

// Note [Layers by kernels]
// Rationale: the assignment's operation sequence and a faster one compute the same from the same
//   parameters; they differ only inside the layers.
// Approach: one function per layer. A model asks its factory for each layer, and a layer made of
//   layers asks the factory it was given. A set of kernels is one file with such functions, and a
//   row in train/build.cpp.
// Limits: parameters keep their names and shapes (attn.q_proj.weight is (D, D)): weight files,
//   optimizers and theory rely on them. The rotary tables and the loss are the same in every set.
struct LayerFactory {
  using Options = torch::TensorOptions;

  // Tokens (B, S) int64 -> (B, S, D).
  std::function<Layer(int64_t vocab_size, int64_t d_model, double deviation,
                      const Options& options)>
      embedding;
  std::function<Layer(int64_t in, int64_t out, bool has_bias, const Options& options)> linear;
  std::function<Layer(int64_t d_model, double eps, const Options& options)> rms_norm;
  std::function<Layer(const LayerFactory& layers, const ModelConfig& config,
                      const Options& options)>
      feed_forward;
  // `positions` must outlive the layer.
  std::function<Layer(const LayerFactory& layers, const ModelConfig& config, Attention kind,
                      const Positions* positions, const Options& options)>
      attention;
  // (..., D) -> (..., O).
  std::function<Layer(const LayerFactory& layers, int64_t d_model, int64_t outputs,
                      const Options& options)>
      head;
  // The same with the token table, (O, D), as its weight.
  std::function<Layer(const LayerFactory& layers, const Tensor& table)> tied_head;
};

// The assignment's own operation sequence, one ATen operation at a time.
const LayerFactory& eager_layers();

}  // namespace headroom
