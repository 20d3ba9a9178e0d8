// Keeps the states of the host's update in ordinary host memory.
#pragma once

#include <vector>

#include "model/torch.h"
#include "train/offload/states/host_states.h"

namespace headroom {

// No page is touched before it is written: the first step only writes m and v (host_adamw), and
// fill() skips them.
class MemoryStates final : public HostStates {
 public:
  explicit MemoryStates(const std::vector<torch::Tensor>& parameters);

  int64_t steps_done() const override { return steps_done_; }
  void fill(const Visit& masters) override;
  void read(const Visit& look) override;
  void step(std::span<const int> order, const Visit& update) override;
  std::vector<StatesInMemory> resident() const override { return pieces_; }

 private:
  std::vector<torch::Tensor> tensors_;  // masters, m and v of each parameter
  std::vector<StatesInMemory> pieces_;  // the same, by parameter
  int64_t steps_done_ = -1;
};

}  // namespace headroom
