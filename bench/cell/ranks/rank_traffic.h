// What one rank of a mesh moves in a step, by axis and kind of collective. Where replicas share in
// groups, "dp" is what moves in a group, "dp copies" what moves between them.
#pragma once

#include "profiling/record/record.h"
#include "train/parallel/ranks/device_mesh.h"

namespace headroom {

class RankTraffic {
 public:
  // Counts from now on. grid: null = one rank, of which nothing is said.
  explicit RankTraffic(const DeviceMesh* grid) : grid_(grid), before_(so_far()) {}

  // The mean of the steps since, and what NCCL has taken of a virtual card, in the one rank of
  // Record::ranks.
  void fill(Record& record, int64_t steps, torch::Device device) const;

 private:
  std::map<std::string, RankGroup::Moved> so_far() const;  // "dp all_reduce"

  const DeviceMesh* grid_;
  std::map<std::string, RankGroup::Moved> before_;
};

}  // namespace headroom
