#include "train/parallel/pipeline.h"

#include <algorithm>

#include "train/parallel/next_action.h"

namespace headroom {

using torch::Tensor;

Pipeline::Pipeline(const Schedule& schedule, int64_t layers, std::shared_ptr<RankGroup> stages,
                   int64_t micro_batches)
    : stages_(std::move(stages)),
      chunks_(schedule.chunks),
      micro_batches_(micro_batches),
      actions_(actions_of(schedule, stages_->size(), stages_->rank(), micro_batches)) {
  for (int64_t chunk = 0; chunk < chunks_; ++chunk) {
    const LayerSpan span = layers_of_piece(layers, pieces(), piece(chunk));
    const auto first = static_cast<int64_t>(layers_.size());
    for (int64_t layer = span.first; layer < span.end; ++layer) layers_.push_back(layer);
    blocks_.push_back({first, static_cast<int64_t>(layers_.size())});
  }
}

ModelPart Pipeline::part() const {
  return {layers_, stages_->rank() == 0, stages_->rank() + 1 == stages_->size()};
}

std::vector<int64_t> Pipeline::last_blocks() const {
  std::vector<int64_t> last;
  for (const LayerSpan& span : blocks_) last.push_back(span.end - 1);
  return last;
}

// One for everything that goes between two pieces in a step.
int Pipeline::tag(int64_t piece, int64_t micro_batch, ActionKind kind) const {
  const int64_t way = kind == ActionKind::kForward ? 0 : 1;
  return static_cast<int>((piece * micro_batches_ + micro_batch) * 2 + way);
}

void Pipeline::run(at::IntArrayRef sizes, const torch::TensorOptions& options,
                   const StageCalls& calls) {
  kept_.clear();  // of a step that failed in the middle
  for (const Action& action : actions_) {
    if (action.kind == ActionKind::kForward) {
      backward_follows_ = headroom::backward_follows(actions_, action);
      forward(action, sizes, options, calls);
    } else {
      backward(action, sizes, options, calls);
    }
  }
  for (const auto& [work, tensor] : leaving_) work->wait();
  leaving_.clear();
}

void Pipeline::forward(const Action& action, at::IntArrayRef sizes,
                       const torch::TensorOptions& options, const StageCalls& calls) {
  const int64_t own = piece(action.chunk);
  Kept kept;
  if (own > 0) {
    kept.input = receive(own - 1, action, sizes, options).requires_grad_();
  }
  kept.output = calls.forward(action.chunk, action.micro_batch, kept.input);
  if (own + 1 < pieces()) send(own, action, kept.output.detach().contiguous());
  kept_[{action.chunk, action.micro_batch}] = std::move(kept);
}

void Pipeline::backward(const Action& action, at::IntArrayRef sizes,
                        const torch::TensorOptions& options, const StageCalls& calls) {
  const int64_t own = piece(action.chunk);
  const auto found = kept_.find({action.chunk, action.micro_batch});
  Kept kept = std::move(found->second);
  kept_.erase(found);
  const bool has_loss = own + 1 == pieces();
  Tensor gradient;
  if (!has_loss) gradient = receive(own, action, sizes, options);
  calls.backward(kept.output, gradient, is_last(action));
  if (has_loss) calls.with_loss(kept.output);
  if (own > 0) send(own - 1, action, kept.input.grad().contiguous());
}

Tensor Pipeline::receive(int64_t output_of, const Action& action, at::IntArrayRef sizes,
                         const torch::TensorOptions& options) {
  Tensor tensor = torch::empty(sizes, options);
  const int64_t sender = action.kind == ActionKind::kForward ? output_of : output_of + 1;
  stages_
      ->receive(tensor, sender % stages_->size(), tag(output_of, action.micro_batch, action.kind))
      ->wait();
  return tensor;
}

void Pipeline::send(int64_t output_of, const Action& action, Tensor tensor) {
  // Waited for even so: a Work that nobody has waited for keeps its tensors.
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
