// Next-token cross entropy, written out as in the assignment.
#pragma once

#include "model/torch.h"

namespace headroom {

// Mean over all positions of -log softmax(logits)[target]. logits (B, S, V), targets (B, S) int64.
torch::Tensor cross_entropy(const torch::Tensor& logits_BSV, const torch::Tensor& targets_BS);

}  // namespace headroom
