// Runs a pipeline's schedule on one stage: one loop for every schedule.
//
// Note [One loop]
// Rationale: schedules differ in the order of forwards and backwards and in nothing else.
// Approach: the list of schedule.h, one action after the other. A forward waits for the output of
//   the piece before it and sends its own, a backward waits for the gradient of the piece behind it
//   and sends that of its input. What is sent is kept until it has left; what a forward keeps for
//   backward goes with its backward.
// Limits: a stage waits where it has nothing to do; nothing is computed in the gaps.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/parallel/rank_group.h"
#include "train/parallel/schedule.h"

namespace headroom {

// What a stage computes.
struct StageCalls {
  // Of a chunk and a micro-batch: x is the output of the piece before, undefined for the first one.
  // Returns the piece's output, of the last piece the loss.
  std::function<torch::Tensor(int64_t chunk, int64_t micro_batch, const torch::Tensor& x)> forward;
  // From an output and its gradient, undefined for the loss. last: of this chunk in this step.
  std::function<void(const torch::Tensor& output, const torch::Tensor& gradient, bool last)>
      backward;
  // Every loss, when its backward has ended.
  std::function<void(const torch::Tensor& loss)> with_loss;
};

class Pipeline {
 public:
  // layers: of the whole model.
  Pipeline(const Schedule& schedule, int64_t layers, std::shared_ptr<RankGroup> stages,
           int64_t micro_batches);

  bool is_first(int64_t chunk) const { return piece(chunk) == 0; }
  bool is_last(int64_t chunk) const { return piece(chunk) + 1 == pieces(); }
  int64_t chunks() const { return chunks_; }
  // What of the model this stage has.
  ModelPart part() const;
  // Of the blocks that it has, those of a chunk.
  LayerSpan blocks(int64_t chunk) const { return blocks_[static_cast<size_t>(chunk)]; }

  // The last one of each.
  std::vector<int64_t> last_blocks() const;
  // While a forward runs: whether its own backward is what the stage does next.
  bool backward_follows() const { return backward_follows_; }

  // One step. sizes: of what goes from piece to piece.
  void run(at::IntArrayRef sizes, const torch::TensorOptions& options, const StageCalls& calls);

  RankGroup& stages() const { return *stages_; }

 private:
  using Key = std::pair<int64_t, int64_t>;  // chunk, micro-batch
  struct Kept {
    torch::Tensor input, output;
  };

  int64_t pieces() const { return stages_->size() * chunks_; }
  int64_t piece(int64_t chunk) const { return chunk * stages_->size() + stages_->rank(); }
  int tag(int64_t piece, int64_t micro_batch, ActionKind kind) const;
  // output_of: the piece whose output it is, or the gradient of whose output.
  torch::Tensor receive(int64_t output_of, const Action& action, at::IntArrayRef sizes,
                        const torch::TensorOptions& options);
  void send(int64_t output_of, const Action& action, torch::Tensor tensor);
  void forward(const Action& action, at::IntArrayRef sizes, const torch::TensorOptions& options,
               const StageCalls& calls);
  void backward(const Action& action, at::IntArrayRef sizes, const torch::TensorOptions& options,
                const StageCalls& calls);
  bool is_last(const Action& action) const { return action.micro_batch + 1 == micro_batches_; }

  std::shared_ptr<RankGroup> stages_;
  int64_t chunks_, micro_batches_;
  std::vector<int64_t> layers_;    // that this stage has
  std::vector<LayerSpan> blocks_;  // of its chunks, counted among these
  std::vector<Action> actions_;
  std::map<Key, Kept> kept_;
  std::vector<std::pair<RankGroup::Work, torch::Tensor>> leaving_;
  bool backward_follows_ = false;
};

}  // namespace headroom
