// Data parallelism without sharding (ZeRO-0): replicas add up their gradients, as PyTorch's
// DistributedDataParallel does.
//
// Note [Gradients of replicas]
// Rationale: an update needs the sums of all gradients over the replicas. Backward completes the
//   gradients one by one, the last layers' first, so most sums can run beside it.
// Approach: the parameters, in reverse order, are cut into buckets of some bytes. When backward has
//   completed the gradients of a bucket and of all buckets before it, one coalesced all-reduce of
//   the bucket begins, so all ranks send buckets in the same order. The sums replace the gradients;
//   no flat copy is made. The step waits for all sums before the update and divides by the
//   replicas. With micro-batches only the last backward sends. With a GradientSink every backward
//   sends, a bucket never spans two blocks, and the sink gets a bucket's sums when the next
//   bucket's sum has begun. So the gradients of at most two buckets are on the card.
// Limits: every rank needs every gradient; a missing one is an error that names the parameter.
#pragma once

#include <string>
#include <vector>

#include "model/torch.h"
#include "train/data/weights.h"
#include "train/hooks/step_hook.h"
#include "train/parallel/ranks/rank_group.h"
#include "train/schedule/task.h"
#include "train/update/gradient_hooks.h"
#include "train/update/gradient_sink.h"

namespace headroom {

class DataParallel final : public StepHook {
 public:
  DataParallel(const NamedTensors& parameters, std::shared_ptr<RankGroup> replicas,
               int64_t bucket_bytes);

  // From now on the sink gets each sum over the replicas when it is complete, in every backward.
  // The sink divides by the replicas, and must outlive this.
  void send_to(GradientSink& sink);

  void listen(ScopeListener* /*scopes*/, MemoryTags* tags) override { tags_ = tags; }
  void begin_step() override;
  void begin_backward(const Task& task) override { sends_ = task.ends_step; }
  void end_backward(const Task& task) override;
  void gradients_ready() override;

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    size_t missing = 0;  // gradients not complete yet
    RankGroup::Work sum;
    bool was_given = false;  // in this step
  };

  // blocks: as buckets_of().
  void cut(const std::vector<int64_t>& blocks);
  void completed(size_t parameter);
  void completed_for_sink(size_t parameter);
  void begin_sum(Bucket& bucket);
  void give(Bucket& bucket);
  void check_given() const;
  void check_gradients(const Bucket& bucket) const;

  std::vector<std::string> names_;
  std::vector<torch::Tensor> parameters_;
  std::shared_ptr<RankGroup> group_;
  int64_t bucket_bytes_;
  std::vector<Bucket> buckets_;
  std::vector<size_t> bucket_of_;  // by parameter
  size_t begun_ = 0;               // buckets
  bool sends_ = false;
  GradientSink* sink_ = nullptr;
  Bucket* adding_up_ = nullptr;  // its sums are on their way to the sink
  MemoryTags* tags_ = nullptr;
  GradientHooks hooks_;
};

}  // namespace headroom
