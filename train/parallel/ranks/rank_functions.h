// What tensors do between the ranks that share a layer, with their gradients (Shoeybi et al. 2019,
// section 3; by tokens: Korthikanti et al. 2022, "Reducing Activation Recomputation", section 4.2).
// The group outlives every graph.
#pragma once

#include "model/torch.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// Before a layer that is split: the tensor itself; its gradient is the sum of all ranks'.
torch::Tensor spread(const torch::Tensor& x, RankGroup& ranks);
// Behind it: the sum of all ranks' tensors; the gradient is what comes. Takes the tensor's memory:
// nothing else may use it.
torch::Tensor sum_of_ranks(const torch::Tensor& x, RankGroup& ranks);

// The same two where x is split by tokens between layers, (B, S / ranks, D): what comes to the
// layer is (B, S, D), gathered; what leaves it is this rank's part of the sum.
torch::Tensor gather_tokens(const torch::Tensor& x_BsD, RankGroup& ranks);
torch::Tensor sum_by_tokens(const torch::Tensor& x_BSD, RankGroup& ranks);

}  // namespace headroom
