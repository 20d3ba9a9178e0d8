// A decoder-only transformer language model: token table, pre-norm blocks, final norm, output head.
//
// It contains no technique: forward() takes the wrapper of a block (recomputation, offload, a
// profiler's scope) as a BlockRunner, and the wrapper of several blocks as a GroupRunner.
#pragma once

#include <functional>
#include <vector>

#include "model/attention_kernel/attention_kernel.h"
#include "model/batch_layout.h"
#include "model/config.h"
#include "model/layer_factory.h"
#include "model/layers.h"
#include "model/torch.h"

namespace headroom {

// y = x + attn(ln1(x)), then y + ffn(ln2(y)).
class TransformerBlockImpl : public torch::nn::Module {
 public:
  TransformerBlockImpl(const LayerFactory& layers, const ModelConfig& config, Attention attention,
                       const Positions* positions, const torch::TensorOptions& options);
  Tensor forward(const Tensor& x_BSD);
  // Sets the runner of its written-out softmax; null: called directly.
  void run_core_by(const AttentionRunner& run) { attn_->run_core_by(run); }

 private:
  Layer attn_, ffn_, ln1_, ln2_;
};
TORCH_MODULE(TransformerBlock);

// `layer` counts from 0 at the model's input.
using BlockMade = std::function<void(int64_t layer, TransformerBlock& block)>;

// The layers that a model (a pipeline stage) has, and whether it has the token table and the head.
struct StageLayers {
  std::vector<int64_t> layers;  // ascending, from 0 at the input
  bool has_table = true;
  bool has_head = true;
};
StageLayers whole_model(const ModelConfig& config);

// Runs one block on its input and returns its output. May add work around it. `index` counts from 0
// at the model's first block.
using BlockRunner =
    std::function<Tensor(int64_t index, TransformerBlock& block, const Tensor& x_BSD)>;

// Runs the blocks [first, end) on x, each by the BlockRunner, and returns the last one's output.
// May be called again while the model lives.
using BlockSpan = std::function<Tensor(int64_t first, int64_t end, Tensor x_BSD)>;

// Runs all of a model's blocks, by calling `run` for one group of neighbours after another. May add
// work around a group.
using GroupRunner = std::function<Tensor(int64_t layers, const BlockSpan& run, Tensor x_BSD)>;

class TransformerImpl : public torch::nn::Module {
 public:
  // Every parameter is created and initialized on `device`, in the type `weights` (default FP32).
  // The residual stream has that type too and, without autocast, so does everything but norms and
  // rotations. Every block is passed to `made` before the next one is created.
  TransformerImpl(const LayerFactory& layers, const ModelConfig& config, int64_t context_length,
                  Attention attention, torch::Device device, torch::Dtype weights = torch::kFloat32,
                  const BlockMade& made = nullptr);
  // Makes a part of the model: its parameters equal the whole model's from the same seed.
  TransformerImpl(const LayerFactory& layers, const ModelConfig& config, const StageLayers& part,
                  int64_t context_length, Attention attention, torch::Device device,
                  torch::Dtype weights, const BlockMade& made);

  // (B, S) int64 -> logits (B, S, O); S may be at most the context length. With a pass set: (1, T)
  // -> (1, T, O), or (1, N, O) for the N outputs of the pass. Without `run_groups` all blocks are
  // one group.
  Tensor forward(const Tensor& tokens_BS, const BlockRunner& run_block,
                 const GroupRunner& run_groups = nullptr);
  Tensor forward(const Tensor& tokens_BS);

  // forward() in two parts: the output of the final norm, (B, S, D), and the head on such rows,
  // (..., D) -> (..., O), O = the vocabulary or ModelConfig::outputs.
  Tensor hidden(const Tensor& tokens_BS, const BlockRunner& run_block,
                const GroupRunner& run_groups = nullptr);
  Tensor head(const Tensor& hidden) { return lm_head_->forward(hidden); }
  // In smaller parts, for a part of a model: rows of the table, (B, S, D); the blocks [first, end);
  // the final norm, of the pass's outputs.
  Tensor embed(const Tensor& tokens_BS);
  Tensor blocks(int64_t first, int64_t end, Tensor x_BSD, const BlockRunner& run_block,
                const GroupRunner& run_groups = nullptr);
  Tensor norm(Tensor x_BSD);
  // The head's parameter, (O, D), for products in parts; with tied embeddings the token table.
  Tensor head_weight() const { return lm_head_->named_parameters()["weight"]; }

  // Sets the tokens of the next forwards; null: rows of equal length. See PassScope. Throws
  // c10::Error if a token stands beyond the context length.
  void set_pass(const BatchLayout* pass);

  // Sets the runner of the written-out softmax in every block.
  void run_core_by(const AttentionRunner& run) {
    for (TransformerBlock& block : blocks_) block->run_core_by(run);
  }

  int64_t d_model() const { return d_model_; }
  int64_t block_count() const { return static_cast<int64_t>(blocks_.size()); }

  // Constant tensors that are not parameters: the rotary tables.
  std::vector<Tensor> tables() const { return {positions_.rotary.cos(), positions_.rotary.sin()}; }

 private:
  int64_t d_model_;
  Positions positions_;
  std::shared_ptr<torch::nn::Module> layers_;
  std::vector<TransformerBlock> blocks_;
  Layer token_embeddings_, ln_final_, lm_head_;
};
TORCH_MODULE(Transformer);

// Sets a pass while this lives. It must live until backward has ended, if there is one.
class PassScope {
 public:
  // Null: rows of equal length.
  PassScope(Transformer model, const BatchLayout* pass) : model_(std::move(model)) {
    model_->set_pass(pass);
  }
  ~PassScope() { model_->set_pass(nullptr); }
  PassScope(const PassScope&) = delete;
  PassScope& operator=(const PassScope&) = delete;

 private:
  Transformer model_;
};

}  // namespace headroom
