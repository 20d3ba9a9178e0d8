// What a step is given to do: micro-batches, and tasks, which are a forward and a backward of some
// of the blocks with one of them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/parallel/pipeline/schedule.h"

namespace headroom {

// The loss of a micro-batch, a scalar. `output` is the logits, (B, S, V), or the output of the
// final norm, (B, S, D); with a pass, (1, N, V) or (1, N, D) of the outputs that it wants.
using LossOfOutput = std::function<torch::Tensor(Transformer& model, const torch::Tensor& output)>;

// Sequences that go forward and backward together.
struct MicroBatch {
  // kLogits live until the step ends, as a local variable of a training loop does. kHidden is the
  // output of the final norm, which goes when the loss has been made of it.
  enum class Output { kLogits, kHidden };

  torch::Tensor tokens_BS;   // int64 on the device; of a pass (1, T)
  torch::Tensor targets_BS;  // undefined where the loss needs none
  LossOfOutput loss;         // null: forward alone
  Output output = Output::kHidden;
  int64_t parts = 1;                           // the loss is divided by it before its backward
  std::shared_ptr<const Pass> pass = nullptr;  // null: rows of equal length
};

// Members go in the reverse of their order, as local variables do.
struct Task {
  const MicroBatch* data = nullptr;
  LayerSpan blocks;              // of those that the model has
  bool is_first = true;          // begins with tokens; else with `input`
  bool is_last = true;           // ends with the model's output and the loss
  bool drops_output = false;     // when the loss has been made of it
  bool backward_follows = true;  // its own backward is the next task's
  bool ends_step = true;         // its backward is the last of these blocks in this step

  std::unique_ptr<PassScope> pass;  // until backward has ended, which may compute forward again
  torch::Tensor input;              // (B, S, D), of the blocks before
  torch::Tensor output;
  torch::Tensor loss;
  torch::Tensor gradient;  // of `output`, from the blocks behind; undefined where there is a loss

  // Frees what it holds.
  void release() {
    gradient = loss = torch::Tensor();
    output = torch::Tensor();
    input = torch::Tensor();
    pass.reset();
  }
};

}  // namespace headroom
