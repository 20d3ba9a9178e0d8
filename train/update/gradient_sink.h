// An update that takes gradients one by one, as backward completes them, instead of an optimizer
// that takes all of them after the last backward.
//
// Autograd calls a hook on a parameter whose gradient is complete, on its own thread, and the step
// waits for that thread. A GradientSink either updates the parameter at once (gradient_release.h),
// or sends the gradient to the host and updates after backward
// (train/offload/states/offloaded_optimizer.h). With data parallelism it gets the sums over the
// replicas (train/parallel/data/data_parallel.h, fully_sharded.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/torch.h"
#include "train/hooks/memory_tags.h"
#include "train/hooks/scope.h"
#include "train/schedule/task.h"
#include "train/update/gradient_hooks.h"
#include "train/update/update.h"

namespace headroom {

class GradientSink : public Update {
 public:
  // kBackward: hooks on the parameters call give(). kReplicas: data parallelism calls it, with
  // sums.
  enum class Source { kBackward, kReplicas };

  explicit GradientSink(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                        Source source = Source::kBackward);

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override { taken_ = 0; }
  void finish(size_t micro_batches, StepHook& hooks) final;

  // The gradient of the parameter is complete.
  void give(size_t index);

 protected:
  // After the last backward.
  virtual void finish_step(StepHook& hooks) { hooks.end_update(); }
  virtual void take(size_t index) = 0;  // the gradient of parameters_[index]

  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;

 private:
  // Throws c10::Error if a parameter had no gradient in one of the backwards.
  void check_complete(size_t micro_batches) const;

  Source source_;
  size_t taken_ = 0;
  std::optional<GradientHooks> hooks_;
};

}  // namespace headroom
