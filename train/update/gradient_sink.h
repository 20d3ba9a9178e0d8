// What takes the gradients of a step one by one, as backward completes them, in the place of an
// optimizer that takes all of them at its end.
//
// Autograd calls a hook on a parameter whose gradient it has completed, on its own thread, which
// the step waits for. What stands behind the hook is a GradientSink: it updates the parameter
// there and then (gradient_release.h), or sends the gradient away and updates when backward has
// ended (train/offload/offloaded_optimizer.h). Where replicas add gradients up first, they give it
// the sums of what its parameters are (train/parallel/data/data_parallel.h, shards.h).
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/gradient_hooks.h"
#include "train/memory_tags.h"
#include "train/scope.h"
#include "train/task.h"
#include "train/update/update.h"

namespace headroom {

class GradientSink : public Update {
 public:
  // Who gives it gradients: while it lives every backward, of what that reaches of the parameters;
  // or replicas, of what is complete over all of them.
  enum class Source { kBackward, kReplicas };
  // What is done to a gradient before it is taken: several ranks have parts of it.
  using Complete = std::function<void(const std::string& parameter, const torch::Tensor& gradient)>;

  explicit GradientSink(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                        Source source = Source::kBackward);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override { taken_ = 0; }
  void finish(size_t micro_batches, StepHook& hooks) final;

  // The gradient that the parameter has is complete, and its to take.
  void give(size_t index);
  void complete_by(Complete complete) { complete_ = std::move(complete); }

 protected:
  // What is left to do after the last backward.
  virtual void finish_step(StepHook& hooks) { hooks.end_update(); }
  virtual void take(size_t index) = 0;  // the gradient of parameters_[index]

  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;

 private:
  // Throws c10::Error where a parameter had no gradient in one of the backwards.
  void check_complete(size_t micro_batches) const;

  Source source_;
  size_t taken_ = 0;
  Complete complete_;
  std::optional<GradientHooks> hooks_;
};

}  // namespace headroom
