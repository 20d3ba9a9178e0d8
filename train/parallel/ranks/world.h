// All ranks of a run: sums of numbers over the ranks' parts of the gradients, and agreement.
#pragma once

#include <memory>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// All ranks make the same calls in the same order, and every call waits.
class World {
 public:
  // device: of the numbers that are sent.
  explicit World(torch::Device device) : device_(device) {}

  // Adds ranks with different parts. Null adds nothing.
  void add(std::shared_ptr<RankGroup> ranks);
  // Adds ranks with the same numbers, which must not be summed.
  void add_copies(std::shared_ptr<RankGroup> ranks);

  torch::Device device() const { return device_; }

  // The sum over all ranks, in place.
  void add_up(torch::Tensor& number) const;
  double sum(double here) const;
  // True if `here` is true on every rank.
  bool all(bool here) const;

 private:
  torch::Device device_;
  std::vector<std::shared_ptr<RankGroup>> parts_;
  std::vector<std::shared_ptr<RankGroup>> all_;
};

}  // namespace headroom
