// AdamW with everything that it keeps in host memory, computed by the host's processor.
//
// Note [The optimizer on the host]
// Rationale: of the 16 bytes of a parameter that AdamW trains in FP32, 12 are read and written once
//   a step, by arithmetic that any processor does as fast as its memory is (Ren et al. 2021,
//   "ZeRO-Offload").
// Approach: the FP32 master, m and v of every parameter lie in ordinary host memory, the master of
//   an FP32 weight too: nothing is read back from the card. A parameter has a pinned buffer as
//   large as its gradient. When backward completes a gradient, its copy to that buffer is asked
//   for, the arithmetic waits for the copy of the gradient before it, and that one's card memory
//   goes: two gradients are on the card at most, whatever the link's speed. After backward, in the
//   phase "optimizer" and in the order in which they came: the host waits for a gradient, updates,
//   writes the weight, rounded to the card's type, over the gradient, and asks for its copy into
//   the parameter, which runs while the next one is updated. On a virtual card nothing is computed
//   and no page of host memory is touched: it holds no numbers.
// Micro-batches: the gradient of a later one goes to a pinned buffer of its own, the host adds it
// to
//   what is there when the next one is on its way, as autograd adds it on the card, to the bit; the
//   card has two gradients, the host two beside the sums. Until it is added backward waits.
// Clipping: by the norm of all sums, in FP64, when backward has ended; the update multiplies by the
//   factor as it reads.
// Limits: AdamW only, no loss scale (train/gradient_rules.cpp).
//   A step that fails in its backward has changed nothing; one that fails in its update, some
//   parameters.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/offload/copy_queue.h"
#include "train/offload/host_adamw.h"
#include "train/offload/offloaded_parameters.h"
#include "train/techniques/gradient_taker.h"

namespace headroom {

class OffloadedOptimizer final : public GradientTaker {
 public:
  // homes: where the parameters lie that are not on the card; null: all are.
  // host_limit_bytes: of the pinned memory; 0 = none.
  OffloadedOptimizer(const torch::OrderedDict<std::string, torch::Tensor>& parameters,
                     std::shared_ptr<CopyQueue> copies, const HostAdamwOptions& options,
                     const OffloadedParameters* homes = nullptr, int64_t host_limit_bytes = 0);
  ~OffloadedOptimizer() override;

  void listen(ScopeListener* scopes, MemoryClaims* claims) override;
  void begin_step() override;
  void end_backward() override;
  void finish_step() override;

  // Gradients are clipped to this norm before each update; 0: not.
  void clip_to(double max_norm) { max_grad_norm_ = max_norm; }

  std::vector<torch::Tensor> state() const override;           // every m, then every v
  std::vector<torch::Tensor> master_weights() const override;  // FP32, on the host

 private:
  struct Held {
    torch::Tensor master, m, v;
    // Of the gradient, then of the new weight; from the first step on.
    std::shared_ptr<HostArena::Buffer> buffer;
    std::shared_ptr<HostArena::Buffer> more;  // of a later micro-batch, until it is added
    std::unique_ptr<Copy> on_the_way;
    bool arrived = false;  // of an earlier micro-batch of this step
    // Where the new weight goes, if not over the gradient and to the card.
    std::shared_ptr<HostArena::Buffer> home;
    int64_t updates = 0;
  };

  void take(size_t index) override;
  void claim_slabs();
  void let_go(size_t index);
  void add_up(size_t index);
  void clip();
  void update(size_t index);
  void compute(size_t index);

  std::shared_ptr<CopyQueue> copies_;
  HostAdamwOptions options_;
  double max_grad_norm_ = 0;
  bool computes_;
  std::shared_ptr<HostArena> arena_;
  std::vector<Held> held_;         // of each parameter
  std::vector<size_t> arrived_;    // whose gradients came in this step, in their order
  std::optional<size_t> leaving_;  // whose gradient is on the card
};

}  // namespace headroom
