// The workspace that libtorch gives to cuBLAS. No torch here.
#pragma once

#include <cstdint>
#include <string_view>

namespace headroom {

// libtorch's default, per handle: 32 MiB on compute capability 9.0, else ":4096:2:16:8", 8.125 MiB
// (at::cuda::getChosenWorkspaceSize(), aten/src/ATen/cuda/CUDABlas.cpp). Backward runs in a thread
// with a handle of its own.
int64_t cublas_workspace_bytes(std::string_view compute_capability);

}  // namespace headroom
