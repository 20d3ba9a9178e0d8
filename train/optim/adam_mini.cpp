#include "train/optim/adam_mini.h"

#include <cmath>

#include "train/optim/partition.h"

namespace headroom {

using torch::Tensor;

AdamMini::AdamMini(std::vector<Tensor> parameters, const std::vector<std::string>& names,
                   const AdamMiniOptions& options)
    : Optimizer(std::move(parameters)), options_(options) {
  TORCH_CHECK(names.size() == parameters_.size(), "adam-mini: ", names.size(), " names for ",
              parameters_.size(), " parameters");
  for (size_t i = 0; i < names.size(); ++i) {
    const Tensor& p = parameters_[i];
    const int64_t rows = rows_per_block(names[i], p.sizes().vec(), options_.head_dim);
    TORCH_CHECK(p.dim() > 0 && p.size(0) % rows == 0, "adam-mini: ", names[i], " of shape ",
                p.sizes(), " has no whole heads of ", rows, " rows");
    blocks_.push_back(p.size(0) / rows);
  }
}

std::vector<Tensor> AdamMini::state() const {
  std::vector<Tensor> all = m_;
  all.insert(all.end(), v_.begin(), v_.end());
  return all;
}

void AdamMini::make_state(int64_t /*updates*/) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    m_.push_back(torch::zeros_like(parameters_[i]));
    v_.push_back(torch::zeros({blocks_[i], 1}, m_.back().options()));
  }
}

void AdamMini::update() {
  if (m_.empty()) make_state(0);
  for (size_t i = 0; i < parameters_.size(); ++i) update_one(i);
}

// In place; temporaries are one number per block: the mean of squares is the norm's square over the
// number of elements, so no squares are stored.
void AdamMini::update_one(size_t i) {
  const auto t = static_cast<double>(updates());
  const auto by_blocks = [&](const Tensor& tensor) { return tensor.reshape({blocks_[i], -1}); };
  const Tensor p = by_blocks(parameters_[i]);
  const Tensor g = by_blocks(parameters_[i].grad());
  const Tensor m = by_blocks(m_[i]);
  const Tensor norm = at::linalg_vector_norm(g, 2, at::IntArrayRef{1}, /*keepdim=*/true);
  const auto elements = static_cast<double>(g.size(1));
  v_[i].mul_(options_.beta2).addcmul_(norm, norm, (1 - options_.beta2) / elements);
  const Tensor denominator =
      v_[i].sqrt().div_(std::sqrt(1 - std::pow(options_.beta2, t))).add_(options_.eps);
  const double keep = 1 - options_.learning_rate * options_.weight_decay;
  const double rate = options_.learning_rate / (1 - std::pow(options_.beta1, t));
  if (options_.compiled &&
      options_.compiled->run({p, g, m, denominator}, {keep, rate, 1 - options_.beta1})) {
    return;
  }
  m.lerp_(g, 1 - options_.beta1);
  p.mul_(keep);
  p.addcdiv_(m, denominator, -rate);
}

}  // namespace headroom
