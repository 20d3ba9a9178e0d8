#include "train/techniques/clipping.h"

#include <algorithm>
#include <iterator>

namespace headroom {

using torch::Tensor;

namespace {

// The norms of the tensors are gone when it returns.
Tensor norm_of_all(const std::vector<Tensor>& gradients) {
  const std::vector<Tensor> norms = at::_foreach_norm(gradients, 2);
  return at::linalg_vector_norm(at::stack(norms), 2);
}

}  // namespace

Tensor clip_gradients(const std::vector<Tensor>& gradients, double max_norm) {
  const torch::NoGradGuard no_grad;
  std::vector<Tensor> defined;
  std::copy_if(gradients.begin(), gradients.end(), std::back_inserter(defined),
               [](const Tensor& gradient) { return gradient.defined(); });
  if (defined.empty()) return torch::zeros({});
  Tensor norm = norm_of_all(defined);
  const Tensor coefficient = (norm + 1e-6).reciprocal() * max_norm;
  at::_foreach_mul_(defined, coefficient.clamp_max(1.0));
  return norm;
}

}  // namespace headroom
