// Calls somebody for each parameter whose gradient a backward has completed, on autograd's thread,
// which whoever runs the backward waits for.
#pragma once

#include <functional>
#include <vector>

#include "model/torch.h"

namespace headroom {

class GradientHooks {
 public:
  // `completed` gets the parameter's index. As long as this lives; one such object to a parameter.
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
