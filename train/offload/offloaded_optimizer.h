// AdamW with everything that it keeps in host memory, computed by the host's processor.
//
// Note [The optimizer on the host]
// Rationale: of the 16 bytes of a parameter that AdamW trains in FP32, 12 are read and written once
//   a step, by arithmetic that any processor does as fast as its memory is (Ren et al. 2021,
//   "ZeRO-Offload").
// Approach: the FP32 master, m and v of every parameter lie on the host, in memory or in files
//   (host_states.h), the master of an FP32 weight too: nothing is read back from the card. A
//   parameter has a pinned buffer as large as its gradient. When backward completes a gradient, its
//   copy to that buffer is asked
//   for, the arithmetic waits for the copy of the gradient before it, and that one's card memory
//   goes: two gradients are on the card at most, whatever the link's speed. After backward, in the
//   phase "optimizer" and in the order in which they came: the host waits for a gradient, updates,
//   writes the weight, rounded to the card's type, over the gradient, and asks for its copy into
//   the parameter, which runs while the next one is updated. States in files come and go in pieces
//   of a parameter meanwhile: a weight goes back when the last of its pieces is there, and reading,
//   updating, writing and copies run beside one another. On a virtual card nothing is computed and
//   no page of host memory or of a file is touched: it holds no numbers. States that another run
//   left make the weights what their masters are.
// Micro-batches: the gradient of a later one goes to a pinned buffer of its own, the host adds it
//   to what is there when the next one is on its way, as autograd adds it on the card, to the bit;
//   the card has two gradients, the host two beside the sums. Until it is added backward waits.
// Clipping: by the norm of all sums, in FP64, when backward has ended; the update multiplies by the
//   factor as it reads.
// Loss scaling (FP16): gradients arrive times the scale, which the same factor takes away. Their
//   norm, infinite or NaN where one of them is, says whether there is an update at all.
// Ranks: each updates what its parameters are, of a mesh its part of matrices or its pieces of
//   flat tensors, by sums over the replicas that it is given; the mean is a factor like the others,
//   and what the norm is of is added up over all ranks, so that they skip a step together.
// Limits: AdamW only; no loss scale where states are in files, which the scale is not.
//   A step that fails in its backward has changed nothing; one that fails in its update, some
//   parameters, but no state that is in a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/offload/copy_queue.h"
#include "train/offload/host_adamw.h"
#include "train/offload/host_states.h"
#include "train/offload/offloaded_parameters.h"
#include "train/update/gradient_sink.h"

namespace headroom {

// What the host's update knows of the other ranks of a mesh.
struct HostRanks {
  GradientSink::Source source = GradientSink::Source::kBackward;
  double share = 1;           // of the replicas' sum of gradients, in their mean
  std::vector<bool> counted;  // of each parameter: whether this rank counts it; empty: all
  // Adds up a number that each rank has; empty: there is no other one.
  std::function<double(double here)> add_up;
};

class OffloadedOptimizer final : public GradientSink {
 public:
  // homes: where the parameters lie that are not on the card; null: all are.
  // masters: what the masters begin as, by the parameters' names; empty: as the weights.
  // host_limit_bytes: of the pinned memory; 0 = none.
  OffloadedOptimizer(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                     std::shared_ptr<CopyQueue> copies, const HostAdamwOptions& options,
                     std::shared_ptr<HostStates> states, OffloadedParameters* homes = nullptr,
                     const NamedTensors& masters = NamedTensors(), int64_t host_limit_bytes = 0,
                     HostRanks ranks = {});
  ~OffloadedOptimizer() override;

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override;
  void end_backward(const Task& task) override;

  // Gradients are clipped to this norm before each update; 0: not.
  void clip_to(double max_norm) { max_grad_norm_ = max_norm; }

  const HostStates* host_states() const override { return states_.get(); }
  // Every m, then every v, where they are in memory.
  std::vector<torch::Tensor> state() const override;
  // FP32, on the host: the states' own where they are in memory, else read from the files.
  std::vector<torch::Tensor> master_weights() const override;

 private:
  struct Held {
    // Of the gradient, then of the new weight; from the first step on.
    std::shared_ptr<HostArena::Buffer> buffer;
    std::shared_ptr<HostArena::Buffer> more;  // of a later micro-batch, until it is added
    std::unique_ptr<Copy> on_the_way;
    bool arrived = false;       // of an earlier micro-batch of this step
    bool is_offloaded = false;  // the parameter is not on the card
    // Where its new weight is written then, if not over the gradient.
    std::shared_ptr<HostArena::Buffer> home;
  };

  void take(size_t index) override;
  void finish_step(StepHook& hooks) override;
  void tag_slabs();
  void let_go(size_t index);
  void add_up(size_t index);
  bool settle_factor();
  double norm_of_all();
  double sum_of_all_squares();
  void update(const StatesInMemory& piece);
  void compute(const StatesInMemory& piece);
  void masters_from_weights(const NamedTensors& masters);
  void weights_from_masters();
  std::vector<torch::Tensor> resident(float* StatesInMemory::*array) const;

  std::shared_ptr<CopyQueue> copies_;
  HostAdamwOptions options_;
  std::shared_ptr<HostStates> states_;
  HostRanks ranks_;
  OffloadedParameters* homes_;  // null: all parameters are on the card
  double max_grad_norm_ = 0;
  bool computes_;
  std::shared_ptr<HostArena> arena_;
  std::vector<Held> held_;         // of each parameter
  std::vector<size_t> arrived_;    // whose gradients came in this step, in their order
  std::optional<size_t> leaving_;  // whose gradient is on the card
};

}  // namespace headroom
