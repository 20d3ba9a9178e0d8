// The part of libtorch that a step uses: tensors, autograd, modules, CUDA. It omits data loaders,
// torch's own optimizers and serialization, and parses in three quarters of the time of
// torch/torch.h.
#pragma once

#include <torch/csrc/autograd/custom_function.h>
#include <torch/cuda.h>
#include <torch/nn/module.h>
#include <torch/types.h>
#include <torch/utils.h>
#include <torch/version.h>
