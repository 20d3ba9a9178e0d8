// Loads and saves model weights as safetensors files. Names are the module's state names.
#pragma once

#include <string>

#include "model/torch.h"

namespace headroom {

using NamedTensors = torch::OrderedDict<std::string, torch::Tensor>;

// Copies every parameter of a model from the file onto the parameter's device, converting to the
// parameter's dtype. Throws UsageError if a parameter is missing or has another shape, or if the
// file holds a name the model does not have (not if the parameters are only `some` of a model's).
void load_weights(const NamedTensors& parameters, const std::string& path, bool some = false);

// Writes every parameter, BF16 as BF16, all else as FP32. Throws std::runtime_error with one line.
void save_weights(const NamedTensors& parameters, const std::string& path);

}  // namespace headroom
