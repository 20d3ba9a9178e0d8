#include "train/update/gradient_sink.h"

namespace headroom {

using torch::Tensor;

GradientSink::GradientSink(const torch::OrderedDict<std::string, Tensor>& parameters, Source source)
    : names_(parameters.keys()), parameters_(parameters.values()), source_(source) {
  if (source == Source::kReplicas) return;
  hooks_.emplace(parameters_, [this](size_t index) { give(index); });
}

void GradientSink::give(size_t index) {
  if (complete_) complete_({names_[index]}, {parameters_[index].grad()});
  take(index);
  ++taken_;
}

// With replicas, data parallelism has already checked for missing gradients.
void GradientSink::finish(size_t micro_batches, StepHook& hooks) {
  if (source_ == Source::kBackward) check_complete(micro_batches);
  finish_step(hooks);
}

void GradientSink::listen(ScopeListener* scopes, MemoryTags* tags) {
  Update::listen(scopes, tags);
  if (tags_ == nullptr) return;
  tag(tags_, Category::kMasterWeights, master_weights(), names_);
  tag(tags_, Category::kOptimizerState, state(), names_);
}

void GradientSink::check_complete(size_t micro_batches) const {
  const size_t all = parameters_.size() * micro_batches;
  TORCH_CHECK(taken_ == all, "backward completed the gradients of ", taken_, " of ", all,
              " parameters");
}

}  // namespace headroom
