// A matrix product on a virtual card: counted, with its floating-point operations.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace virtual_gpu {

// C (m x n) = A (m x k) B (k x n), `batch` times; `written` is C, or nullptr if unknown.
// `per_multiply_add` is 2 for real numbers, 8 for complex ones. On a capturing stream the product
// becomes a node of the graph.
void count_matrix_product(cudaStream_t stream, uint64_t m, uint64_t n, uint64_t k, uint64_t batch,
                          const void* written, uint64_t per_multiply_add = 2);

}  // namespace virtual_gpu
