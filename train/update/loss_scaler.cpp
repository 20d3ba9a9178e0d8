#include "train/update/loss_scaler.h"

namespace headroom {

LossScaler::LossScaler(torch::Device device, const LossScalerOptions& options) : options_(options) {
  scale_ = torch::full({}, options.initial_scale, torch::dtype(torch::kFloat32).device(device));
  growth_tracker_ = torch::zeros({}, torch::dtype(torch::kInt32).device(device));
  found_inf_ = torch::zeros({}, torch::dtype(torch::kFloat32).device(device));
}

torch::Tensor LossScaler::scale(const torch::Tensor& loss) const { return loss * scale_; }

bool LossScaler::unscale(const std::vector<torch::Tensor>& gradients) {
  found_inf_.zero_();
  at::_amp_foreach_non_finite_check_and_unscale_(
      gradients, found_inf_, scale_.to(torch::kFloat64).reciprocal().to(torch::kFloat32));
  return found_inf_.item<float>() == 0;
}

void LossScaler::update() {
  at::_amp_update_scale_(scale_, growth_tracker_, found_inf_, options_.growth_factor,
                         options_.backoff_factor, options_.growth_interval);
}

}  // namespace headroom
