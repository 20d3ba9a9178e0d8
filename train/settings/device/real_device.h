// Distinguishes devices that hold real numbers from virtual cards.
#pragma once

#include "model/torch.h"
#include "train/settings/device/device.h"

namespace headroom {

// A virtual card only accounts memory: it computes nothing, and no time passes.
inline bool is_real(torch::Device device) { return !device.is_cuda() || !under_virtual_card(); }

// A scalar's value; 0 on a virtual card, which has none to read.
inline double value_of(const torch::Tensor& scalar) {
  return is_real(scalar.device()) ? scalar.item<double>() : 0;
}

}  // namespace headroom
