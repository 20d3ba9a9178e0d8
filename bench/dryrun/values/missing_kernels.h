// Operations that libtorch's CUDA has and its CPU has not, computed here.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <vector>

namespace headroom {

// The result of the operation `name` with these arguments, as CUDA has it; nullopt for one that is
// not known here, or that the CPU computes itself.
//   histc of integers: (v - min) * bins / (max - min), divided as integers (SummaryOps.cu, getBin);
//   by which routers of experts count tokens.
std::optional<at::Tensor> missing_on_cpu(const c10::OperatorName& name,
                                         const std::vector<c10::IValue>& arguments);

}  // namespace headroom
