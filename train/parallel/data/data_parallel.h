// Replicas that share nothing but the sum of their gradients (ZeRO-0: what DistributedDataParallel
// does).
//
// Note [Gradients of replicas]
// Rationale: all gradients have to be added up over the replicas before an update, and backward
//   makes them one by one, the last layers' first: most of the way can run beside it.
// Approach: the parameters in the reverse of their order, cut into buckets of some bytes. Where
//   backward has completed the gradients of a bucket, and of those before it, one coalesced
//   all-reduce of them begins: buckets go in one order on every rank. The sums take the gradients'
//   place and need no flat copy. Before the update all are waited for; a gradient is then the mean.
//   Of several micro-batches the last one's backward sends. Where somebody takes gradients (the
//   host), every backward sends, no bucket is of two blocks, and of one after the other the sums
//   are given to him when the next one's has begun: two buckets' gradients are there at most.
// Limits: every rank has to have every gradient; who has none is an error that names the parameter.
#pragma once

#include <string>
#include <vector>

#include "model/torch.h"
#include "train/data/weights.h"
#include "train/gradient_hooks.h"
#include "train/parallel/ranks/rank_group.h"
#include "train/step_hook.h"
#include "train/task.h"
#include "train/update/gradient_sink.h"

namespace headroom {

class DataParallel final : public StepHook {
 public:
  DataParallel(const NamedTensors& parameters, std::shared_ptr<RankGroup> replicas,
               int64_t bucket_bytes);

  // From now on each sum over the replicas is given to the sink when it is there, of every
  // backward. The sink divides it by the replicas, and lives as long as this.
  void send_to(GradientSink& sink);

  void listen(ScopeListener* /*scopes*/, MemoryTags* tags) override { tags_ = tags; }
  void begin_step() override;
  void begin_backward(const Task& task) override { sends_ = task.ends_step; }
  void end_backward(const Task& task) override;
  void gradients_ready() override;

 private:
  struct Bucket {
    std::vector<size_t> parameters;
    size_t missing = 0;  // whose gradients are not complete
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
  std::vector<size_t> bucket_of_;  // of each parameter
  size_t begun_ = 0;               // buckets
  bool sends_ = false;
  GradientSink* sink_ = nullptr;
  Bucket* adding_up_ = nullptr;  // whose sum is on its way to him
  MemoryTags* tags_ = nullptr;
  GradientHooks hooks_;
};

}  // namespace headroom
