// While alive, calls back for each parameter whose gradient a backward has completed. The call is
// on autograd's thread; the caller of backward waits for it.
#pragma once

#include <functional>
#include <vector>

#include "model/torch.h"

namespace headroom {

class GradientHooks {
 public:
  // `completed` gets the parameter's index. At most one such object per parameter.
  GradientHooks(std::vector<torch::Tensor> parameters, std::function<void(size_t index)> completed);
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

 private:
  class Hook;

  std::vector<torch::Tensor> parameters_;
  std::function<void(size_t index)> completed_;
};

}  // namespace headroom
