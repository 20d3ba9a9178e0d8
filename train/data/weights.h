// Model weights to and from safetensors files. Names are the module's own state names.
#pragma once

#include <torch/torch.h>

#include <string>

namespace headroom {

// Copies every parameter from the file onto the parameter's device, converting FP16 and BF16 to the
// parameter's dtype. Throws UsageError when a parameter is missing, has another shape, or the file
// holds a name the model does not have.
void load_weights(torch::nn::Module& model, const std::string& path);

// Writes every parameter. Throws std::runtime_error with one line.
void save_weights(const torch::nn::Module& model, const std::string& path);

}  // namespace headroom
