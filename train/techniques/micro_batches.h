// Gradient accumulation: the batch runs forward and backward in parts, one after another, and the
// gradients add up.
//
// Note [Micro-batches]
// Rationale: activation memory grows with the sequences of one forward; gradients do not.
// Approach: the parts are equally long views of the batch. A part's loss, the mean over its own
//   tokens, is divided by the number of parts before its backward, so that the accumulated gradient
//   is that of the batch's mean. Each part has a forward under its own autocast guard (a cast
//   cache); loss scaling, clipping and the update come once, after the last part.
//   Everything of a part except gradients is freed before the next: its graph by its backward, its
//   logits before the next forward.
// Limits: a sum over parts is rounded in another order than one over the batch.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/data/data.h"
#include "train/hooks/memory_tags.h"
#include "train/schedule/task.h"
#include "train/settings/vocabulary/mode.h"
#include "train/update/update.h"

namespace headroom {

// A scalar: the mean over all targets.
using LossOfBatch =
    std::function<torch::Tensor(const torch::Tensor& output, const torch::Tensor& targets_BS)>;

// The batch as `count` equally long micro-batches; unchanged if that is 1. loss: null: none.
std::vector<MicroBatch> split(const Batch& batch, int64_t count, const LossOfBatch& loss,
                              MicroBatch::Output loss_of = MicroBatch::Output::kLogits);

// Throws c10::Error if there is no part, if `mode` has no backward for a loss, or if the gradients
// of several parts do not add up.
void check(const std::vector<MicroBatch>& parts, Mode mode, const Update& update);

// The contribution of a micro-batch's loss to the step's.
torch::Tensor share_of(const torch::Tensor& loss, int64_t parts);

// The loss of a step, from its micro-batches' losses.
class TotalLoss {
 public:
  explicit TotalLoss(MemoryTags* tags) : tags_(tags) {}

  // loss: detached, a scalar on the device; divided by `parts`.
  void add(const torch::Tensor& loss, int64_t parts);

  // Undefined before the first add().
  const torch::Tensor& loss() const { return total_; }

 private:
  MemoryTags* tags_;
  torch::Tensor total_;
};

void tag_tokens(MemoryTags* tags, const std::vector<MicroBatch>& parts);
void tag_gradients(MemoryTags* tags, const std::vector<torch::Tensor>& parameters,
                   const std::vector<std::string>& names);

}  // namespace headroom
