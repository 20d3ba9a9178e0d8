// Model weights to and from safetensors files. Names are the module's own state names.
#pragma once

#include <string>

#include "model/torch.h"

namespace headroom {

using NamedTensors = torch::OrderedDict<std::string, torch::Tensor>;

// Copies every one of a model's parameters from the file onto the parameter's device, rounding or
// widening to the parameter's dtype. Throws UsageError when a parameter is missing, has another
// shape, or the file holds a name the model does not have; not that where the parameters are `some`
// of a model's.
void load_weights(const NamedTensors& parameters, const std::string& path, bool some = false);

// Writes every one, BF16 as BF16 and all else as FP32. Throws std::runtime_error with one line.
void save_weights(const NamedTensors& parameters, const std::string& path);

}  // namespace headroom
