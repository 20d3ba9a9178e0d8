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

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/data/data.h"
#include "train/memory_tags.h"
#include "train/task.h"
#include "train/update/update.h"
#include "train/vocabulary/mode.h"

namespace headroom {

// A scalar: the mean over all targets.
using LossOfBatch =
    std::function<torch::Tensor(const torch::Tensor& logits_BSV, const torch::Tensor& targets_BS)>;

// The batch as `count` equally long micro-batches; as it is where that is 1. loss: null: none.
std::vector<MicroBatch> split(const Batch& batch, int64_t count, const LossOfBatch& loss);

// Throws c10::Error where there is no part, where `mode` has no backward for a loss, and where the
// gradients of several parts do not add up.
void check(const std::vector<MicroBatch>& parts, Mode mode, const Update& update);

// The share of a micro-batch's loss in the step's.
torch::Tensor share_of(const torch::Tensor& loss, int64_t parts);

// The loss of a step from those of its micro-batches.
class TotalLoss {
 public:
  explicit TotalLoss(MemoryTags* tags) : tags_(tags) {}

  // loss: detached, a scalar on the device; divided by `parts`.
  void add(const torch::Tensor& loss, int64_t parts);

  // Undefined before the first.
  const torch::Tensor& loss() const { return total_; }

 private:
  MemoryTags* tags_;
  torch::Tensor total_;
};

void tag_tokens(MemoryTags* tags, const std::vector<MicroBatch>& parts);
void tag_gradients(MemoryTags* tags, const std::vector<torch::Tensor>& parameters,
                   const std::vector<std::string>& names);

}  // namespace headroom
