// The tensors that the modules and the optimizers of a C++ program own, and the names of the
// owners.
#pragma once

#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/optim/optimizer.h>

#include <cstdint>

namespace headroom {

// Note [Modules of a C++ program]
// Rationale: a block belongs to "Net.layers.0.up". A module of libtorch knows its tensors and
//   children, not its parent, and children are added by code of the program's own.
// Approach: a tensor has the class of the module that registers it, until the program asks a whole
//   module for its parameters, moves it to a device or sets its mode (calls.cpp): then all tensors
//   below it have their path from there. The longest path counts, because a part may be asked
//   first.
// Limits: the path of a tensor is the one at its first tag, in backward or in a step. Nothing keeps
//   a module or a tensor alive.

// A module's own tensor. During a module's construction its class is not the final one.
void register_tensor(const torch::nn::Module& module, const at::Tensor& tensor, bool is_buffer);
// All tensors below `root`. Cheap where nothing was registered since the last time.
void name_tensors_below(const torch::nn::Module& root);

// Tags the blocks of all modules' tensors and of their gradients.
void tag_owned();
// Tags the parameters that no module has, and their gradients.
void tag_parameters_of(const torch::optim::Optimizer& optimizer);
// Tags the states of libtorch's own optimizers.
void tag_states_of(torch::optim::Optimizer& optimizer);
// "torch::optim::AdamW (optimizer)".
uint32_t number_of_optimizer(const torch::optim::Optimizer& optimizer);

}  // namespace headroom
