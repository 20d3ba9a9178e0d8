// Gradient accumulation: a batch goes forward and backward in parts, one after another, and their
// gradients add up.
//
// Note [Micro-batches]
// Rationale: what backward needs grows with the sequences that go forward together; gradients do
//   not.
// Approach: the parts are equally long views of the batch. A part's loss, the mean over its own
//   tokens, is divided by their number before its backward, so that what adds up in the parameters
//   is the gradient of the batch's mean. Each part has a forward under an autocast guard (a cast
//   cache) of its own; loss scaling, clipping and the update come once, after the last.
//   Whatever one part has made but gradients is gone when the next begins: its graph with its
//   backward, its logits before the next forward.
// Limits: a sum over parts is rounded in another order than one over the batch.
#pragma once

#include "model/torch.h"
#include "train/data/data.h"
#include "train/memory_claims.h"

namespace headroom {

// Part `index` of `count`; the batch itself where it is the only one.
Batch part_of(const Batch& batch, int64_t index, int64_t count);

// The mean loss of a batch from those of its parts, which must be told.
class BatchLoss {
 public:
  explicit BatchLoss(int64_t parts) : parts_(parts) {}

  // Of the next part; a scalar on the device.
  void add(const torch::Tensor& loss, MemoryClaims* claims);

  // Detached. Of a single part, its own loss; else FP32.
  const torch::Tensor& mean() const { return mean_; }

 private:
  int64_t parts_;
  torch::Tensor mean_;  // of those told so far, as a share of the batch
};

}  // namespace headroom
