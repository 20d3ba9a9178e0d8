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
// Limits: AdamW only; one backward a step, no clipping, no loss scale (train/gradient_rules.cpp).
//   A step that fails in its backward has changed nothing; one that fails in its update, some
//   parameters.
#pragma once

#include <torch/torch.h>

#include <memory>
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
  void finish_step() override;

  std::vector<torch::Tensor> state() const override;           // every m, then every v
  std::vector<torch::Tensor> master_weights() const override;  // FP32, on the host

 private:
  struct Held {
    torch::Tensor master, m, v;
    // Of the gradient, then of the new weight; from the first step on.
    std::shared_ptr<HostArena::Buffer> buffer;
    std::unique_ptr<Copy> on_the_way;
    // Where the new weight goes, if not over the gradient and to the card.
    std::shared_ptr<HostArena::Buffer> home;
    int64_t updates = 0;
  };

  void take(size_t index) override;
  void claim_slabs();
  void let_go(size_t index);
  void update(size_t index);
  void compute(size_t index);

  std::shared_ptr<CopyQueue> copies_;
  HostAdamwOptions options_;
  bool computes_;
  std::shared_ptr<HostArena> arena_;
  std::vector<Held> held_;       // of each parameter
  std::vector<size_t> arrived_;  // whose gradients came in this step, in their order
};

}  // namespace headroom
