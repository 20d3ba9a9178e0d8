// Operations that libtorch implements for CUDA but not for the CPU.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <vector>

namespace headroom {

// The result of the operation `name` with these arguments on CUDA; nullopt for an operation unknown
// here or implemented for the CPU.
//   histc of integers: (v - min) * bins / (max - min), divided as integers (SummaryOps.cu, getBin);
//   routers of experts count tokens with it.
std::optional<at::Tensor> missing_on_cpu(const c10::OperatorName& name,
                                         const std::vector<c10::IValue>& arguments);

}  // namespace headroom
