// Dynamic loss scaling for FP16 (Micikevicius et al. 2018): the loss is multiplied by a scale so
// that small gradients do not vanish in FP16; a step whose gradients are not finite is skipped.
#pragma once

#include <vector>

#include "model/torch.h"

namespace headroom {

struct LossScalerOptions {
  double initial_scale = 65536;    // 2^16
  double growth_factor = 2;        // after growth_interval finite steps in a row
  double backoff_factor = 0.5;     // after a step with an infinity or NaN
  int64_t growth_interval = 2000;  // steps
};

class LossScaler {
 public:
  explicit LossScaler(torch::Device device, const LossScalerOptions& options = {});

  // loss * scale, FP32.
  torch::Tensor scale(const torch::Tensor& loss) const;

  // Divides the gradients by the scale in place and looks for infinities and NaN. True when every
  // gradient is finite, so the optimizer may step. Waits for the device.
  bool unscale(const std::vector<torch::Tensor>& gradients);

  // Reports gradients that the caller has divided itself: whether every one is finite.
  void found(bool finite) { found_inf_.fill_(finite ? 0 : 1); }

  // Grows or backs off the scale according to the last unscale() or found().
  void update();

  std::vector<torch::Tensor> state() const { return {scale_, growth_tracker_, found_inf_}; }
  double current_scale() const { return scale_.item<double>(); }
  int64_t finite_steps() const { return growth_tracker_.item<int>(); }  // in a row
  // Continues from another run's state.
  void resume(double scale, int64_t finite_steps) {
    scale_.fill_(scale);
    growth_tracker_.fill_(finite_steps);
  }

 private:
  LossScalerOptions options_;
  torch::Tensor scale_;           // FP32 scalar on the device
  torch::Tensor growth_tracker_;  // int32: finite steps in a row
  torch::Tensor found_inf_;       // FP32: 1 when the last gradients were not finite
};

}  // namespace headroom
