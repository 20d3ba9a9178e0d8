// Differences between tensors.
#pragma once

#include <gtest/gtest.h>

#include <cmath>

#include "model/torch.h"

namespace headroom {

// Largest difference over the largest expected magnitude (1 if all are 0); infinite if a value is
// not finite.
inline double error_of(const torch::Tensor& value, const torch::Tensor& expected) {
  EXPECT_EQ(value.sizes(), expected.sizes());
  if (expected.numel() == 0) return 0;
  const torch::Tensor difference =
      (value.detach().to(torch::kDouble) - expected.detach().to(torch::kDouble)).abs().max();
  const double largest = expected.detach().to(torch::kDouble).abs().max().item<double>();
  const double error = difference.item<double>() / (largest > 0 ? largest : 1);
  return std::isfinite(error) ? error : INFINITY;
}

}  // namespace headroom
