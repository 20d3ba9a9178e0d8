#include "train/precision.h"

#include <ATen/autocast_mode.h>
#include <ATen/cuda/CUDAContext.h>

namespace headroom {

AutocastGuard::AutocastGuard(Precision precision, torch::DeviceType device)
    : active_(uses_autocast(precision)), device_(device) {
  if (!active_) return;
  was_enabled_ = at::autocast::is_autocast_enabled(device_);
  old_dtype_ = at::autocast::get_autocast_dtype(device_);
  at::autocast::set_autocast_enabled(device_, true);
  at::autocast::set_autocast_dtype(device_,
                                   precision == Precision::kBf16 ? at::kBFloat16 : at::kHalf);
  at::autocast::increment_nesting();
}

AutocastGuard::~AutocastGuard() {
  if (!active_) return;
  if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
  at::autocast::set_autocast_enabled(device_, was_enabled_);
  at::autocast::set_autocast_dtype(device_, old_dtype_);
}

void set_matmul_precision(Precision precision) {
  at::globalContext().setFloat32MatmulPrecision(precision == Precision::kTf32 ? "high" : "highest");
}

Precision supported_precision(Precision wanted, torch::Device device, std::string* note) {
  if (wanted != Precision::kBf16 || !device.is_cuda()) return wanted;
  const auto* properties = at::cuda::getDeviceProperties(device.index());
  if (properties->major >= 8) return wanted;
  *note = std::string("BF16 is not supported by ") + properties->name + "; FP16 is used instead";
  return Precision::kFp16;
}

}  // namespace headroom
