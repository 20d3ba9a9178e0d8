// The input of a step: micro-batches, and tasks. A task is a forward and a backward of some of the
// blocks with one micro-batch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/parallel/pipeline/schedule.h"

namespace headroom {

// The loss of a micro-batch, a scalar. `output` is the logits, (B, S, V), or the output of the
// final norm, (B, S, D); with a pass, (1, N, V) or (1, N, D) for the pass's outputs.
using LossOfOutput = std::function<torch::Tensor(Transformer& model, const torch::Tensor& output)>;

// Sequences of one forward and backward.
struct MicroBatch {
  // kLogits live until the step ends, as a local variable of a training loop does. kHidden is the
  // output of the final norm, kBlocks that of the last block, for a loss that has its own norm and
  // head; both are freed after the loss is computed from them.
  enum class Output { kLogits, kHidden, kBlocks };

  torch::Tensor tokens_BS;   // int64 on the device; (1, T) in a pass
  torch::Tensor targets_BS;  // undefined if the loss needs none
  LossOfOutput loss;         // null: forward only
  Output output = Output::kHidden;
  int64_t parts = 1;                                  // divides the loss before its backward
  std::shared_ptr<const BatchLayout> pass = nullptr;  // null: rows of equal length
};

// Members are destroyed in reverse order, like local variables.
struct Task {
  const MicroBatch* data = nullptr;
  LayerSpan blocks;              // among the blocks of this model (stage)
  bool is_first = true;          // starts from tokens; else from `input`
  bool is_last = true;           // ends with the model's output and the loss
  bool drops_output = false;     // frees it after the loss is computed
  bool backward_follows = true;  // the next task is this one's backward
  bool ends_step = true;         // its backward is these blocks' last in this step

  std::unique_ptr<PassScope> pass;  // until backward, which may recompute forward, has ended
  torch::Tensor input;              // (B, S, D), from the previous blocks
  torch::Tensor output;
  torch::Tensor loss;
  torch::Tensor gradient;  // of `output`, from the next blocks; undefined with a loss

  // Frees what it holds.
  void release() {
    gradient = loss = torch::Tensor();
    output = torch::Tensor();
    input = torch::Tensor();
    pass.reset();
  }
};

}  // namespace headroom
