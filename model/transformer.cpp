#include "model/transformer.h"

#include <algorithm>
#include <memory>
#include <string>

namespace headroom {

TransformerBlockImpl::TransformerBlockImpl(const LayerFactory& layers, const ModelConfig& config,
                                           Attention attention, const Positions* positions,
                                           const torch::TensorOptions& options) {
  // The reference's order of parameters: it fixes initialization, optimizer and allocator order.
  attn_ = register_module("attn", layers.attention(layers, config, attention, positions, options));
  ffn_ = register_module("ffn", layers.feed_forward(layers, config, options));
  ln1_ = register_module("ln1", layers.rms_norm(config.d_model, config.norm_eps, options));
  ln2_ = register_module("ln2", layers.rms_norm(config.d_model, config.norm_eps, options));
}

Tensor TransformerBlockImpl::forward(const Tensor& x_BSD) {
  const Tensor attention_BSD = attn_->forward(ln1_->forward(x_BSD));
  const Tensor attended_BSD = x_BSD + attention_BSD;
  const Tensor feed_forward_BSD = ffn_->forward(ln2_->forward(attended_BSD));
  return attended_BSD + feed_forward_BSD;
}

StageLayers whole_model(const ModelConfig& config) {
  StageLayers whole;
  for (int64_t layer = 0; layer < config.layers; ++layer) whole.layers.push_back(layer);
  return whole;
}

TransformerImpl::TransformerImpl(const LayerFactory& layers, const ModelConfig& config,
                                 int64_t context_length, Attention attention, torch::Device device,
                                 torch::Dtype weights, const BlockMade& made)
    : TransformerImpl(layers, config, whole_model(config), context_length, attention, device,
                      weights, made) {}

// The table and blocks that `part` lacks are created too, for their random numbers, and freed.
TransformerImpl::TransformerImpl(const LayerFactory& layers, const ModelConfig& config,
                                 const StageLayers& part, int64_t context_length,
                                 Attention attention, torch::Device device, torch::Dtype weights,
                                 const BlockMade& made)
    : d_model_(config.d_model),
      positions_{.rotary =
                     RotaryTable(context_length, config.head_dim(), config.rope_theta, device)} {
  const auto options = torch::dtype(weights).device(device);
  // A table that is the head begins as a head does.
  const double deviation =
      config.ties_head() ? linear_deviation(config.d_model, config.vocab_size) : 1.0;
  token_embeddings_ = layers.embedding(config.vocab_size, config.d_model, deviation, options);
  if (part.has_table) register_module("token_embeddings", token_embeddings_);
  if (!part.has_table) token_embeddings_ = nullptr;
  layers_ = register_module("layers", std::make_shared<torch::nn::Module>());
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    TransformerBlock block(layers, config, attention, &positions_, options);
    if (std::find(part.layers.begin(), part.layers.end(), layer) == part.layers.end()) continue;
    layers_->register_module(std::to_string(layer), block.ptr());
    blocks_.push_back(block);
    if (made) made(layer, blocks_.back());
  }
  if (!part.has_head) return;
  ln_final_ =
      register_module("ln_final", layers.rms_norm(config.d_model, config.norm_eps, options));
  if (config.ties_head()) {  // not registered: the table has the parameter
    lm_head_ = layers.tied_head(layers, token_embeddings_->named_parameters()["weight"]);
    return;
  }
  lm_head_ = register_module("lm_head",
                             layers.head(layers, config.d_model, config.head_outputs(), options));
}

Tensor TransformerImpl::blocks(int64_t first, int64_t end, Tensor x_BSD,
                               const BlockRunner& run_block, const GroupRunner& run_groups) {
  const BlockSpan run = [this, run_block, first](int64_t from, int64_t to, Tensor span_BSD) {
    for (int64_t i = first + from; i < first + to; ++i) {
      positions_.layer = i;
      span_BSD = run_block(i, blocks_[static_cast<size_t>(i)], span_BSD);
    }
    return span_BSD;
  };
  return run_groups ? run_groups(end - first, run, std::move(x_BSD))
                    : run(0, end - first, std::move(x_BSD));
}

Tensor TransformerImpl::embed(const Tensor& tokens_BS) {
  if (const BatchLayout* const pass = positions_.pass; pass != nullptr) {
    positions_.cos_TR = positions_.rotary.cos().index_select(0, pass->positions_T);
    positions_.sin_TR = positions_.rotary.sin().index_select(0, pass->positions_T);
  }
  return token_embeddings_->forward(tokens_BS);
}

Tensor TransformerImpl::norm(Tensor x_BSD) {
  const BatchLayout* const pass = positions_.pass;
  if (pass != nullptr && pass->outputs_N.defined()) x_BSD = x_BSD.index_select(1, pass->outputs_N);
  x_BSD = ln_final_->forward(x_BSD);
  return x_BSD;
}

// The activation moves from block to block: without a graph nothing else holds it.
Tensor TransformerImpl::hidden(const Tensor& tokens_BS, const BlockRunner& run_block,
                               const GroupRunner& run_groups) {
  return norm(blocks(0, block_count(), embed(tokens_BS), run_block, run_groups));
}

Tensor TransformerImpl::forward(const Tensor& tokens_BS, const BlockRunner& run_block,
                                const GroupRunner& run_groups) {
  return head(hidden(tokens_BS, run_block, run_groups));
}

void TransformerImpl::set_pass(const BatchLayout* pass) {
  positions_.pass = pass;
  positions_.cos_TR = positions_.sin_TR = Tensor();
  if (pass == nullptr) return;
  const int64_t context_length = positions_.rotary.cos().size(0);
  for (const SequenceSpan& span : pass->spans) {
    TORCH_CHECK(span.first + span.length <= context_length, "a sequence of ",
                span.first + span.length, " tokens is beyond the context of ", context_length);
  }
}

Tensor TransformerImpl::forward(const Tensor& tokens_BS) {
  return forward(tokens_BS, [](int64_t, TransformerBlock& block, const Tensor& x_BSD) {
    return block(x_BSD);
  });
}

}  // namespace headroom
