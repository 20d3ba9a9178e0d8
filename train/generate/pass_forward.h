// How a pass is run, set from outside.
#pragma once

#include <functional>

#include "model/torch.h"

namespace headroom {

// (1, T) tokens of the pass that is set on the model -> logits, (1, T, V) or of those it wants.
using PassForward = std::function<torch::Tensor(const torch::Tensor& tokens_1T)>;

}  // namespace headroom
