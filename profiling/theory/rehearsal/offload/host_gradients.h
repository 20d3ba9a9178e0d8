// Gradients on the host, with shapes for tensors. Read beside
// train/offload/states/offloaded_optimizer.h. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "profiling/theory/rehearsal/model.h"
#include "train/offload/states/host_ranges.h"

namespace headroom {

// Gradients in pinned memory, with their masters and moments in pageable memory.
class HostGradients {
 public:
  void begin_step() { arrived_.clear(); }
  // One leaves the card. Of a later micro-batch it lies beside the sum until let_go().
  void take(const Parameter& parameter);
  void let_go(const Parameter& parameter);

  int64_t slab_bytes() const { return ranges_.slab_bytes(); }
  // Master copy, m and v in FP32 of each that has been taken.
  int64_t state_bytes() const;

 private:
  using Ranges = std::vector<HostRanges::Range>;

  HostRanges ranges_;
  std::map<const Parameter*, Ranges> kept_;  // from step to step
  std::set<const Parameter*> arrived_;       // in this step
  std::map<const Parameter*, Ranges> more_;
};

}  // namespace headroom
