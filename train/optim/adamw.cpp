#include "train/optim/adamw.h"

#include <cmath>

namespace headroom {

using torch::Tensor;

namespace {

// The assignment's state.get("m", zeros_like(grad)): the zeros are made at every step and dropped
// if there is a moment already. They never set the peak, but they affect where the allocator puts
// later tensors, which can.
Tensor previous(const Tensor& moment, const Tensor& gradient) {
  const Tensor zeros = torch::zeros_like(gradient);
  return moment.defined() ? moment : zeros;
}

// lr * sqrt(1 - b2^t) / (1 - b1^t)
double bias_corrected_rate(const AdamwOptions& options, int64_t updates) {
  const auto t = static_cast<double>(updates);
  return options.learning_rate * std::sqrt(1 - std::pow(options.beta2, t)) /
         (1 - std::pow(options.beta1, t));
}

}  // namespace

void adamw_in_place(at::TensorList parameters, at::TensorList gradients, at::TensorList m,
                    at::TensorList v, int64_t t, const AdamwOptions& options) {
  at::_foreach_mul_(parameters, 1 - options.learning_rate * options.weight_decay);
  at::_foreach_lerp_(m, gradients, 1 - options.beta1);
  at::_foreach_mul_(v, options.beta2);
  at::_foreach_addcmul_(v, gradients, gradients, 1 - options.beta2);
  std::vector<Tensor> denominators = at::_foreach_sqrt(v);
  at::_foreach_add_(denominators, options.eps);
  at::_foreach_addcdiv_(parameters, m, denominators, -bias_corrected_rate(options, t));
}

Adamw::Adamw(std::vector<Tensor> parameters, OptimizerImpl impl, const AdamwOptions& options)
    : Optimizer(std::move(parameters)), impl_(impl), options_(options) {}

std::vector<Tensor> Adamw::state() const {
  std::vector<Tensor> all = m_;
  all.insert(all.end(), v_.begin(), v_.end());
  all.insert(all.end(), steps_.begin(), steps_.end());
  return all;
}

void Adamw::make_state(int64_t updates) {
  for (const Tensor& parameter : parameters_) {
    m_.push_back(torch::zeros_like(parameter));
    v_.push_back(torch::zeros_like(parameter));
    if (impl_ != OptimizerImpl::kFused) continue;
    // FP32 even with BF16 parameters, where counting would stop at 256.
    steps_.push_back(torch::zeros({}, parameter.options().dtype(torch::kFloat32)));
    if (updates > 0) steps_.back().fill_(updates);
  }
  if (options_.is_captured)
    learning_rate_ = torch::full_like(steps_.front(), options_.learning_rate);
}

void Adamw::update() {
  if (m_.empty() && impl_ == OptimizerImpl::kReference) {
    m_.resize(parameters_.size());
    v_.resize(parameters_.size());
  } else if (m_.empty()) {
    make_state(0);
  }
  switch (impl_) {
    case OptimizerImpl::kReference:
      return update_reference();
    case OptimizerImpl::kForeach:
      return adamw_in_place(parameters_, gradients(), m_, v_, updates(), options_);
    case OptimizerImpl::kFused:
      return update_fused();
  }
}

// Out of place and tensor by tensor, as in the assignment. These temporaries set the peak of a step
// with a short context, so lifetimes match: one statement per temporary, and a Python loop's
// variables keep their values until the next iteration reassigns them.
void Adamw::update_reference() {
  const double rate = bias_corrected_rate(options_, updates());
  Tensor previous_m;
  Tensor previous_v;
  Tensor m;
  Tensor v;
  for (size_t i = 0; i < parameters_.size(); ++i) {
    Tensor& p = parameters_[i];
    const Tensor& g = p.grad();
    p -= options_.learning_rate * options_.weight_decay * p;
    previous_m = previous(m_[i], g);
    previous_v = previous(v_[i], g);
    m = options_.beta1 * previous_m + (1 - options_.beta1) * g;
    Tensor decayed = options_.beta2 * previous_v;
    Tensor squared = torch::square(g);
    squared = (1 - options_.beta2) * squared;
    v = decayed + squared;
    decayed = Tensor();
    squared = Tensor();
    Tensor update = rate * m;
    Tensor denominator = torch::sqrt(v);
    denominator = denominator + options_.eps;
    update = update / denominator;
    denominator = Tensor();
    p -= update;
    m_[i] = m;
    v_[i] = v;
  }
}

// One ATen kernel over all tensors, no temporaries.
void Adamw::update_fused() {
  const std::vector<Tensor> gradients = this->gradients();
  // The kernel divides sqrt(v) by sqrt(1 - b2^t) before it adds eps; ours adds eps to sqrt(v)
  // itself. Dividing eps by the same factor makes the updates equal.
  const double eps =
      options_.eps / std::sqrt(1 - std::pow(options_.beta2, static_cast<double>(updates())));
  at::_foreach_add_(steps_, 1);
  if (options_.is_captured) {
    at::_fused_adamw_(parameters_, gradients, m_, v_, /*max_exp_avg_sqs=*/{}, steps_,
                      learning_rate_, options_.beta1, options_.beta2, options_.weight_decay,
                      options_.eps, /*amsgrad=*/false, /*maximize=*/false);
    return;
  }
  at::_fused_adamw_(parameters_, gradients, m_, v_, /*max_exp_avg_sqs=*/{}, steps_,
                    options_.learning_rate, options_.beta1, options_.beta2, options_.weight_decay,
                    eps, /*amsgrad=*/false, /*maximize=*/false);
}

}  // namespace headroom
