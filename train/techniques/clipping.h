// Clipping of the gradients by their norm, all of them taken as one vector.
//
// Note [Clipping]
// Rationale: where a batch makes the gradients very long, an update may not follow them all the
//   way (Pascanu et al. 2013).
// Approach: torch.nn.utils.clip_grad_norm_ of PyTorch 2.11, operation by operation, foreach as it
//   chooses by itself: the L2 norm of each gradient, the norm of these norms, and every gradient
//   times min(1, max_norm / (norm + 1e-6)). Nothing of it comes to the host. As there, an infinite
//   norm makes the finite gradients 0, and NaN makes all of them NaN.
// Limits: gradients of one device and one type.
#pragma once

#include <functional>
#include <vector>

#include "model/torch.h"

namespace headroom {

// Adds up, in place, numbers that other ranks have of their own gradients.
using AddUp = std::function<void(torch::Tensor& number)>;

// What of the vector this rank has that no other one counts, where there are more.
struct OfRank {
  std::vector<torch::Tensor> counted;
  AddUp add_up;
  torch::Device device;  // of the numbers: a rank that has no gradient has one too
};

// In place; those that are not defined are left out. Returns the norm before, a scalar on the
// device.
torch::Tensor clip_gradients(const std::vector<torch::Tensor>& gradients, double max_norm);
torch::Tensor clip_gradients(const std::vector<torch::Tensor>& gradients, double max_norm,
                             const OfRank& rank);

}  // namespace headroom
