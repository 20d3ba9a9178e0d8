// Runs a pipeline's schedule on one stage: one loop for every schedule.
//
// Note [One loop]
// Rationale: schedules differ only in the order of forwards and backwards.
// Approach: run the list of schedule.h, one action after the other. A forward waits for the output
//   of the previous piece and sends its own; a backward waits for the gradient from the next piece
//   and sends that of its input. Sent tensors are kept until they have left; a forward's saved
//   tensors are freed with its backward.
// Limits: a stage with nothing to do waits; nothing is computed in the gaps (bubbles).
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/parallel/pipeline/schedule.h"
#include "train/parallel/ranks/rank_group.h"
#include "train/schedule/schedule.h"

namespace headroom {

class Pipeline final : public Schedule {
 public:
  // layers: the whole model's count.
  Pipeline(const PipelineOrder& order, int64_t layers, std::shared_ptr<RankGroup> stages,
           int64_t micro_batches);

  // This stage's part of the model.
  StageLayers part() const;
  // The last block of each of its chunks.
  std::vector<int64_t> last_blocks() const;
  // A tensor sent from piece to piece: (B, S / token_parts, d_model) of the micro-batch's (B, S).
  struct Sent {
    int64_t d_model = 0;
    int64_t token_parts = 1;
    torch::TensorOptions options;
  };
  void send_as(const Sent& sent) { sent_ = sent; }

  Task run(const std::vector<MicroBatch>& parts, const Compute& forward,
           const Compute& backward) override;

  const std::shared_ptr<RankGroup>& stages() const { return stages_; }

 private:
  using Key = std::pair<int64_t, int64_t>;  // chunk, micro-batch

  int64_t pieces() const { return stages_->size() * chunks_; }
  int64_t piece(int64_t chunk) const { return chunk * stages_->size() + stages_->rank(); }
  bool is_first(int64_t chunk) const { return piece(chunk) == 0; }
  bool is_last(int64_t chunk) const { return piece(chunk) + 1 == pieces(); }
  int tag(int64_t piece, int64_t micro_batch, ActionKind kind) const;
  // output_of: the piece whose output, or whose output's gradient, is sent.
  torch::Tensor receive(int64_t output_of, const Action& action, const MicroBatch& part);
  void send(int64_t output_of, const Action& action, torch::Tensor tensor);
  void run_forward(const Action& action, const MicroBatch& part, const Compute& forward);
  void run_backward(const Action& action, const Compute& backward);
  bool is_last(const Action& action) const { return action.micro_batch + 1 == micro_batches_; }

  std::shared_ptr<RankGroup> stages_;
  int64_t chunks_, micro_batches_;
  std::vector<int64_t> layers_;    // on this stage
  std::vector<LayerSpan> blocks_;  // of its chunks, as indices into layers_
  std::vector<Action> actions_;
  std::map<Key, Task> waiting_;  // tasks before their backward
  std::vector<std::pair<RankGroup::Work, torch::Tensor>> leaving_;
  Sent sent_;
};

}  // namespace headroom
