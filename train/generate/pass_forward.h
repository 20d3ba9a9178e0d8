// Runs a pass; set from outside.
#pragma once

#include <functional>

#include "model/torch.h"

namespace headroom {

// (1, T) tokens of the model's pass -> logits, (1, T, V) or only the pass's outputs.
using PassForward = std::function<torch::Tensor(const torch::Tensor& tokens_1T)>;

}  // namespace headroom
