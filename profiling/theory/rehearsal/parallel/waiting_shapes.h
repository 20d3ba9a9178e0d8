// Gradients of weights that wait, with shapes for tensors. Read beside train/parallel/
// waiting_gradients.h. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "profiling/theory/rehearsal/tensor.h"

namespace headroom {

class WaitingShapes {
 public:
  void begin(int64_t micro_batch) { now_ = micro_batch; }
  void make(int64_t micro_batch);

  ShapeTensor product(const ShapeTensor& x, const ShapeTensor& weight_OI);
  ShapeTensor seen(const ShapeTensor& weight);

 private:
  struct Waiting {
    ShapeTensor weight;
    ShapeTensor x, dy_1NO;
    ShapeTensor gradient;
    int64_t block = -1;
  };

  std::map<int64_t, std::vector<Waiting>> waiting_;  // by micro-batch
  int64_t now_ = 0;
};

}  // namespace headroom
