#include "train/techniques/clipping.h"

#include <algorithm>
#include <iterator>

namespace headroom {

using torch::Tensor;

namespace {

// Frees the norms of the tensors on return.
Tensor norm_of_all(const std::vector<Tensor>& gradients) {
  const std::vector<Tensor> norms = at::_foreach_norm(gradients, 2);
  return at::linalg_vector_norm(at::stack(norms), 2);
}

std::vector<Tensor> defined_of(const std::vector<Tensor>& gradients) {
  std::vector<Tensor> defined;
  std::copy_if(gradients.begin(), gradients.end(), std::back_inserter(defined),
               [](const Tensor& gradient) { return gradient.defined(); });
  return defined;
}

void scale_to(const std::vector<Tensor>& gradients, const Tensor& norm, double max_norm) {
  const Tensor coefficient = (norm + 1e-6).reciprocal() * max_norm;
  at::_foreach_mul_(gradients, coefficient.clamp_max(1.0));
}

}  // namespace

Tensor clip_gradients(const std::vector<Tensor>& gradients, double max_norm) {
  const torch::NoGradGuard no_grad;
  const std::vector<Tensor> defined = defined_of(gradients);
  if (defined.empty()) return torch::zeros({});
  Tensor norm = norm_of_all(defined);
  scale_to(defined, norm, max_norm);
  return norm;
}

Tensor clip_gradients(const std::vector<Tensor>& gradients, double max_norm, const OfRank& rank) {
  const torch::NoGradGuard no_grad;
  const std::vector<Tensor> defined = defined_of(gradients);
  const std::vector<Tensor> counted = defined_of(rank.counted);
  Tensor squared = counted.empty() ? torch::zeros({}, rank.device)
                                   : norm_of_all(counted).to(torch::kFloat32).square();
  rank.add_up(squared);
  Tensor norm = squared.sqrt();
  if (!defined.empty()) scale_to(defined, norm, max_norm);
  return norm;
}

}  // namespace headroom
