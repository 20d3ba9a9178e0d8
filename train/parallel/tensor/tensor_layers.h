// The layers of a model on one tensor-parallel rank.
#pragma once

#include "model/layer_factory.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// Wraps each layer of `layers`, made whole, in its communication with the other ranks. by_tokens:
// activations between layers are split by tokens (sequence parallelism). The model's owner cuts its
// parameters before it runs (TensorParallel). The group must outlive the model.
LayerFactory tensor_parallel_layers(const LayerFactory& layers, RankGroup& ranks, bool by_tokens);

// Mean over all tokens of -log softmax(logits)[target]. The logits (B, S, V / ranks) are split by
// the vocabulary; this rank's begin at `first_token`. The result is equal on every rank.
torch::Tensor cross_entropy_of_ranks(const torch::Tensor& logits_BSV,
                                     const torch::Tensor& targets_BS, int64_t first_token,
                                     RankGroup& ranks);

}  // namespace headroom
