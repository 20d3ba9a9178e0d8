// States in files, accounted only: for a virtual card, which has no values. No torch here.
#pragma once

#include <vector>

#include "train/offload/disk/disk_layout.h"
#include "train/offload/states/host_states.h"

namespace headroom {

// Visits the pieces that DiskStates would visit, without data, and counts their transfers. Opens,
// reads and writes no file.
class CountedStates final : public HostStates {
 public:
  explicit CountedStates(const std::vector<StateRegion>& regions)
      : layout_(regions, DiskLayout::kUsualBlockBytes) {}

  int64_t steps_done() const override { return 0; }
  void fill(const Visit& /*masters*/) override {}
  void read(const Visit& /*look*/) override {}
  void step(std::span<const int> order, const Visit& update) override;
  DiskFigures disk() const override;

 private:
  DiskLayout layout_;
  int64_t steps_ = 0;
};

}  // namespace headroom
