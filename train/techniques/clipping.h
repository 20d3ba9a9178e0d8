// Gradient clipping by the global norm: all gradients taken as one vector.
//
// Note [Clipping]
// Rationale: where a batch makes the gradients very long, an update should not follow them all the
//   way (Pascanu et al. 2013).
// Approach: torch.nn.utils.clip_grad_norm_ of PyTorch 2.11, operation by operation, with its
//   default foreach: the L2 norm of each gradient, the norm of these norms, and every gradient
//   times min(1, max_norm / (norm + 1e-6)). No value is copied to the host. As in PyTorch, an
//   infinite norm makes the finite gradients 0, and NaN makes all of them NaN.
// Limits: gradients of one device and one type.
#pragma once

#include <functional>
#include <vector>

#include "model/torch.h"

namespace headroom {

// Adds the other ranks' numbers in place.
using AddUp = std::function<void(torch::Tensor& number)>;

// This rank's share of the vector, if there are several ranks.
struct OfRank {
  std::vector<torch::Tensor> counted;
  AddUp add_up;
  torch::Device device;  // of the numbers: a rank that has no gradient has one too
};

// Clips in place and skips undefined gradients. Returns the norm before, a scalar on the device.
torch::Tensor clip_gradients(const std::vector<torch::Tensor>& gradients, double max_norm);
torch::Tensor clip_gradients(const std::vector<torch::Tensor>& gradients, double max_norm,
                             const OfRank& rank);

}  // namespace headroom
