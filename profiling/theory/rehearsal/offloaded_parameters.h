// Parameters on the host, with shapes for tensors. Read beside train/offload/
// offloaded_parameters.h. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "profiling/theory/rehearsal/run.h"
#include "profiling/theory/rehearsal/tensor.h"
#include "train/offload/resident_blocks.h"

namespace headroom {

class OffloadedParameterShapes final : public ResidentBlocks {
 public:
  explicit OffloadedParameterShapes(Run& run) : run_(run) {}

  void take(std::vector<ShapeTensor> parameters);
  // block(x_BSD), with the block's parameters there.
  ShapeTensor run(int64_t index, const ShapeTensor& x_BSD,
                  const std::function<ShapeTensor(const ShapeTensor&)>& block);

 private:
  void fetch(int64_t index) override;
  void drop(int64_t index) override;

  Run& run_;
  std::vector<std::vector<ShapeTensor>> parameters_;  // of each block
};

}  // namespace headroom
