// Communication between tensor-parallel ranks, with gradients (Shoeybi et al. 2019, section 3; by
// tokens: Korthikanti et al. 2022, "Reducing Activation Recomputation", section 4.2). The group
// must outlive every graph.
#pragma once

#include "model/torch.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// Before a split layer: the tensor itself; its gradient is the sum over all ranks.
torch::Tensor spread(const torch::Tensor& x, RankGroup& ranks);
// After a split layer: the sum over all ranks; the gradient passes unchanged. Sums in the tensor's
// memory: nothing else may use it.
torch::Tensor sum_of_ranks(const torch::Tensor& x, RankGroup& ranks);

// The same with x split by tokens between layers, (B, S / ranks, D): gather_tokens() makes the
// layer's input (B, S, D); sum_by_tokens() returns this rank's part of the sum.
torch::Tensor gather_tokens(const torch::Tensor& x_BsD, RankGroup& ranks);
torch::Tensor sum_by_tokens(const torch::Tensor& x_BSD, RankGroup& ranks);

}  // namespace headroom
