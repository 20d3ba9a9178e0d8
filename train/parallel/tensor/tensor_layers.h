// The layers of a model as one rank of several has them that share every matrix.
#pragma once

#include "model/layer_factory.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// The layers of `layers`, each made whole and with what it has to say to the other ranks around it;
// by_tokens: between them activations are split by tokens (sequence parallelism). Who makes a model
// of these cuts its parameters before it runs (TensorParallel). The group outlives the model.
LayerFactory tensor_parallel_layers(const LayerFactory& layers, RankGroup& ranks, bool by_tokens);

// Mean over all tokens of -log softmax(logits)[target], of logits (B, S, V / ranks) that are split
// by the vocabulary; the first of them is `first_token`. The same number on every rank.
torch::Tensor cross_entropy_of_ranks(const torch::Tensor& logits_BSV,
                                     const torch::Tensor& targets_BS, int64_t first_token,
                                     RankGroup& ranks);

}  // namespace headroom
