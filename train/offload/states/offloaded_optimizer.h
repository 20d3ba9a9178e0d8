// AdamW with its state in host memory, computed by the host's processor.
//
// Note [The optimizer on the host]
// Rationale: of the 16 bytes per parameter of FP32 AdamW training, 12 are read and written once a
//   step, by arithmetic that any processor does at the speed of its memory (Ren et al. 2021,
//   "ZeRO-Offload").
// Approach: the FP32 master, m and v of every parameter are on the host, in memory or in files
//   (host_states.h). This includes the master of an FP32 weight: nothing is read back from the
//   card. Each parameter has a pinned buffer as large as its gradient. When backward completes a
//   gradient, its copy to that buffer is queued, the arithmetic waits for the previous gradient's
//   copy, and that one's card memory is freed: at most two gradients are on the card, at any link
//   speed. After backward, in the phase "optimizer" and in the order of arrival, the host waits for
//   a gradient, updates, writes the weight, rounded to the card's type, over the gradient, and
//   queues its copy into the parameter, which runs during the next update. States in files come and
//   go in pieces of a parameter: a weight is copied back when its last piece is done, and reading,
//   updating, writing and copies overlap. On a virtual card, which has no values, nothing is
//   computed and no page of host memory or of a file is touched. With states from another run, the
//   weights are first set from their masters.
// Micro-batches: a later gradient goes to a second pinned buffer. The host adds it when the next
//   one is on its way, with the same bits as autograd's sum on the card; the card has two
//   gradients, the host two beside the sums. Backward waits for the addition.
// Clipping: by the norm of all sums, in FP64, after backward; the update multiplies by the factor
//   as it reads.
// Loss scaling (FP16): gradients arrive times the scale, which the same factor removes. If their
//   norm is infinite or NaN, the update is skipped.
// Ranks: each updates its own parameters (its parts of matrices, or its pieces of flat tensors)
//   with sums over the replicas; the mean is another factor, and squares are added up over all
//   ranks, so that they skip a step together.
// Limits: AdamW only; no loss scaling with states in files, because the scale is not in them.
//   A step that fails in backward has changed nothing; one that fails in its update has changed
//   some parameters, but no state in a file.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/torch.h"
#include "train/offload/blocks/offloaded_parameters.h"
#include "train/offload/copy_queue.h"
#include "train/offload/states/host_adamw.h"
#include "train/offload/states/host_states.h"
#include "train/update/gradient_sink.h"

namespace headroom {

// The host update's connection to the other ranks of a mesh.
struct HostRanks {
  GradientSink::Source source = GradientSink::Source::kBackward;
  double share = 1;           // factor from the replicas' gradient sum to the mean
  std::vector<bool> counted;  // by parameter: true if this rank counts it; empty: all
  // Adds up a number over all ranks; empty: a single rank.
  std::function<double(double here)> add_up;
};

class OffloadedOptimizer final : public GradientSink {
 public:
  // offloaded_parameters: storage of the parameters that are not on the card; null: all are on it.
  // masters: initial masters, by parameter name; empty: the weights. host_limit_bytes: on the
  // pinned memory; 0 = none.
  OffloadedOptimizer(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                     std::shared_ptr<CopyQueue> copies, const HostAdamwOptions& options,
                     std::shared_ptr<HostStates> states,
                     OffloadedParameters* offloaded_parameters = nullptr,
                     const NamedTensors& masters = NamedTensors(), int64_t host_limit_bytes = 0,
                     HostRanks ranks = {});
  ~OffloadedOptimizer() override;

  void listen(ScopeListener* scopes, MemoryTags* tags) override;
  void begin_step() override;
  void end_backward(const Task& task) override;

  // Clips gradients to this norm before each update; 0: no clipping.
  void clip_to(double max_norm) { max_grad_norm_ = max_norm; }

  const HostStates* host_states() const override { return states_.get(); }
  // Every m, then every v, if they are in memory.
  std::vector<torch::Tensor> state() const override;
  // FP32, on the host: the states themselves if in memory, else read from the files.
  std::vector<torch::Tensor> master_weights() const override;

 private:
  struct Held {
    // Holds the gradient, then the new weight; exists from the first step on.
    std::shared_ptr<HostArena::Buffer> buffer;
    std::shared_ptr<HostArena::Buffer> more;  // a later micro-batch's, until it is added
    std::unique_ptr<Copy> on_the_way;
    bool arrived = false;       // an earlier micro-batch of this step's has
    bool is_offloaded = false;  // the parameter is not on the card
    // Target of the new weight, if not over the gradient.
    std::shared_ptr<HostArena::Buffer> host_buffer;
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
  OffloadedParameters* offloaded_parameters_;  // null: all parameters are on the card
  double max_grad_norm_ = 0;
  bool computes_;
  std::shared_ptr<HostArena> arena_;
  std::vector<Held> held_;         // by parameter
  std::vector<size_t> arrived_;    // parameters whose gradients came in this step, in order
  std::optional<size_t> leaving_;  // the parameter whose gradient is on the card
};

}  // namespace headroom
