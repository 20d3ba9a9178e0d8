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

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "model/transformer.h"
#include "train/parallel/pipeline/schedule.h"
#include "train/parallel/ranks/rank_group.h"
#include "train/schedule.h"

namespace headroom {

class Pipeline final : public Schedule {
 public:
  // layers: of the whole model.
  Pipeline(const PipelineOrder& order, int64_t layers, std::shared_ptr<RankGroup> stages,
           int64_t micro_batches);

  // What of the model this stage has.
  StageLayers part() const;
  // The last one of each.
  std::vector<int64_t> last_blocks() const;
  // What goes from piece to piece: (B, S / token_parts, d_model) of the micro-batch's (B, S).
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
  // output_of: the piece whose output it is, or the gradient of whose output.
  torch::Tensor receive(int64_t output_of, const Action& action, const MicroBatch& part);
  void send(int64_t output_of, const Action& action, torch::Tensor tensor);
  void run_forward(const Action& action, const MicroBatch& part, const Compute& forward);
  void run_backward(const Action& action, const Compute& backward);
  bool is_last(const Action& action) const { return action.micro_batch + 1 == micro_batches_; }

  std::shared_ptr<RankGroup> stages_;
  int64_t chunks_, micro_batches_;
  std::vector<int64_t> layers_;    // that this stage has
  std::vector<LayerSpan> blocks_;  // of its chunks, counted among these
  std::vector<Action> actions_;
  std::map<Key, Task> waiting_;  // for their backward
  std::vector<std::pair<RankGroup::Work, torch::Tensor>> leaving_;
  Sent sent_;
};

}  // namespace headroom
