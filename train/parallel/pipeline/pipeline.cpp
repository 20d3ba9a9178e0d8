#include "train/parallel/pipeline/pipeline.h"

#include <algorithm>

#include "train/parallel/pipeline/next_action.h"

namespace headroom {

using torch::Tensor;

Pipeline::Pipeline(const PipelineOrder& order, int64_t layers, std::shared_ptr<RankGroup> stages,
                   int64_t micro_batches)
    : stages_(std::move(stages)),
      chunks_(order.chunks),
      micro_batches_(micro_batches),
      actions_(actions_of(order, stages_->size(), stages_->rank(), micro_batches)) {
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const LayerSpan span = layers_of_piece(layers, pieces(), piece(chunk));
    const auto first = static_cast<int64_t>(layers_.size());
    for (int64_t layer = span.first; layer < span.end; ++layer) layers_.push_back(layer);
    blocks_.push_back({first, static_cast<int64_t>(layers_.size())});
  }
}

StageLayers Pipeline::part() const {
  return {layers_, stages_->rank() == 0, stages_->rank() + 1 == stages_->size()};
}

std::vector<int64_t> Pipeline::last_blocks() const {
  std::vector<int64_t> last;
  for (const LayerSpan& span : blocks_) last.push_back(span.end - 1);
  return last;
}

// A unique tag for each message between two pieces in a step.
int Pipeline::tag(int64_t piece, int64_t micro_batch, ActionKind kind) const {
  const int64_t way = kind == ActionKind::kForward ? 0 : 1;
  return static_cast<int>((piece * micro_batches_ + micro_batch) * 2 + way);
}

Task Pipeline::run(const std::vector<MicroBatch>& parts, const Compute& forward,
                   const Compute& backward) {
  waiting_.clear();  // from a step that failed midway
  for (const Action& action : actions_) {
    if (action.kind == ActionKind::kForward) {
      run_forward(action, parts[static_cast<size_t>(action.micro_batch)], forward);
    } else {
      run_backward(action, backward);
    }
  }
  for (const auto& [work, tensor] : leaving_) work->wait();
  leaving_.clear();
  return {};
}

void Pipeline::run_forward(const Action& action, const MicroBatch& part, const Compute& forward) {
  const int64_t own = piece(action.chunk);
  Task task;
  task.data = &part;
  task.blocks = blocks_[static_cast<size_t>(action.chunk)];
  task.is_first = is_first(action.chunk);
  task.is_last = task.drops_output = is_last(action.chunk);
  task.backward_follows = backward_follows(actions_, action);
  task.ends_step = is_last(action);
  if (!task.is_first) task.input = receive(own - 1, action, part).requires_grad_();
  forward(task);
  if (!task.is_last) send(own, action, task.output.detach().contiguous());
  waiting_[{action.chunk, action.micro_batch}] = std::move(task);
}

void Pipeline::run_backward(const Action& action, const Compute& backward) {
  const int64_t own = piece(action.chunk);
  const auto found = waiting_.find({action.chunk, action.micro_batch});
  Task task = std::move(found->second);
  waiting_.erase(found);
  if (!task.is_last) task.gradient = receive(own, action, *task.data);
  backward(task);
  if (!task.is_first) send(own - 1, action, task.input.grad().contiguous());
}

Tensor Pipeline::receive(int64_t output_of, const Action& action, const MicroBatch& part) {
  Tensor tensor = torch::empty(
      {part.tokens_BS.size(0), part.tokens_BS.size(1) / sent_.token_parts, sent_.d_model},
      sent_.options);
  const int64_t sender = action.kind == ActionKind::kForward ? output_of : output_of + 1;
  stages_
      ->receive(tensor, sender % stages_->size(), tag(output_of, action.micro_batch, action.kind))
      ->wait();
  return tensor;
}

void Pipeline::send(int64_t output_of, const Action& action, Tensor tensor) {
  // wait() even when completed: a Work that was never waited for keeps its tensors.
  const auto has_left = [](const auto& one) {
    return one.first->isCompleted() && one.first->wait();
  };
  leaving_.erase(std::remove_if(leaving_.begin(), leaving_.end(), has_left), leaving_.end());
  const int64_t receiver = action.kind == ActionKind::kForward ? output_of + 1 : output_of;
  leaving_.emplace_back(stages_->send(tensor, receiver % stages_->size(),
                                      tag(output_of, action.micro_batch, action.kind)),
                        tensor);
}

}  // namespace headroom
