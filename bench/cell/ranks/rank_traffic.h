// The bytes that one rank of a mesh moves in a step, by axis and kind of collective. If replicas
// shard in groups, "dp" is the traffic within a group, "dp copies" that between groups.
#pragma once

#include "profiling/record/record.h"
#include "train/parallel/ranks/device_mesh.h"

namespace headroom {

class RankTraffic {
 public:
  // Counts from now on. device_mesh: null = one rank, nothing is reported.
  explicit RankTraffic(const DeviceMesh* device_mesh)
      : device_mesh_(device_mesh), before_(so_far()) {}

  // Writes the mean of the steps since, and NCCL's memory on a virtual card, to the only rank of
  // Record::ranks.
  void fill(Record& record, int64_t steps, torch::Device device) const;

 private:
  std::map<std::string, RankGroup::Moved> so_far() const;  // "dp all_reduce"

  const DeviceMesh* device_mesh_;
  std::map<std::string, RankGroup::Moved> before_;
};

}  // namespace headroom
