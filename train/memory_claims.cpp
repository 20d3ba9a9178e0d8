#include "train/memory_claims.h"

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContextLight.h>

#include <shared_mutex>

namespace headroom {

void claim(MemoryClaims* claims, Category category, const at::Tensor& tensor) {
  if (claims == nullptr || !tensor.defined() || !tensor.has_storage()) return;
  const MemorySpace space = tensor.is_cpu() ? MemorySpace::kHost : MemorySpace::kDevice;
  claims->claim(category, space, reinterpret_cast<uint64_t>(tensor.storage().data()));
}

void claim(MemoryClaims* claims, Category category, const std::vector<at::Tensor>& tensors) {
  if (claims == nullptr) return;
  for (const at::Tensor& tensor : tensors) claim(claims, category, tensor);
}

void claim_workspaces(MemoryClaims* claims) {
  if (claims == nullptr) return;
  for (auto* workspaces : {&at::cuda::cublas_handle_stream_to_workspace(),
                           &at::cuda::cublaslt_handle_stream_to_workspace()}) {
    const std::shared_lock lock(workspaces->mutex);
    for (const auto& [key, data] : workspaces->map) {
      claims->claim(Category::kWorkspaces, MemorySpace::kDevice,
                    reinterpret_cast<uint64_t>(data.get()));
    }
  }
}

}  // namespace headroom
