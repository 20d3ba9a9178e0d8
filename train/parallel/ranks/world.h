// All ranks of a run: sums of numbers that each of them has of its own part of the gradients, and
// what they agree on.
#pragma once

#include <memory>
#include <vector>

#include "model/torch.h"
#include "train/parallel/ranks/rank_group.h"

namespace headroom {

// All ranks call the same in the same order, and every call waits.
class World {
 public:
  // device: of the numbers that travel.
  explicit World(torch::Device device) : device_(device) {}

  // Ranks whose numbers are of different parts. Null adds nothing.
  void add(std::shared_ptr<RankGroup> ranks);
  // Ranks that have the same numbers: nothing of theirs is added up.
  void add_copies(std::shared_ptr<RankGroup> ranks);

  torch::Device device() const { return device_; }

  // The sum over all ranks, in place.
  void add_up(torch::Tensor& number) const;
  double sum(double here) const;
  // Whether it is so on every rank.
  bool all(bool here) const;

 private:
  torch::Device device_;
  std::vector<std::shared_ptr<RankGroup>> parts_;
  std::vector<std::shared_ptr<RankGroup>> all_;
};

}  // namespace headroom
