// Parameters on the host, with shapes for tensors. Read beside train/offload/
// offloaded_parameters.h. No torch here.
#pragma once

#include <cstdint>
#include <vector>

#include "profiling/theory/rehearsal/operations/tensor.h"
#include "train/offload/blocks/block_prefetcher.h"
#include "train/offload/states/host_ranges.h"

namespace headroom {

class OffloadedParameterShapes final : public BlockPrefetcher {
 public:
  void take(std::vector<ShapeTensor> parameters);
  int64_t host_bytes() const { return host_.slab_bytes(); }

 private:
  void fetch(int64_t index) override;
  void drop(int64_t index) override;

  std::vector<std::vector<ShapeTensor>> parameters_;  // of each block
  HostRanges host_;                                   // where they live
};

}  // namespace headroom
