#include "train/memory_claims.h"

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContextLight.h>

#include <shared_mutex>

namespace headroom {

void claim(MemoryClaims* claims, Category category, const at::Tensor& tensor,
           const std::string& name) {
  if (claims == nullptr || !tensor.defined() || !tensor.has_storage()) return;
  const void* const data = tensor.storage().data();
  if (data == nullptr) return;  // no elements
  const MemorySpace space = tensor.is_cpu() ? MemorySpace::kHost : MemorySpace::kDevice;
  claims->claim(category, space, reinterpret_cast<uint64_t>(data), name);
}

void claim(MemoryClaims* claims, Category category, const std::vector<at::Tensor>& tensors,
           const std::vector<std::string>& names) {
  if (claims == nullptr) return;
  for (size_t i = 0; i < tensors.size(); ++i) {
    claim(claims, category, tensors[i], names.empty() ? "" : names[i % names.size()]);
  }
}

void claim_workspaces(MemoryClaims* claims) {
  if (claims == nullptr) return;
  const auto claim_each = [&](auto& workspaces, const std::string& library) {
    const std::shared_lock lock(workspaces.mutex);
    for (const auto& [key, data] : workspaces.map) {
      claims->claim(Category::kWorkspaces, MemorySpace::kDevice,
                    reinterpret_cast<uint64_t>(data.get()), library);
    }
  };
  claim_each(at::cuda::cublas_handle_stream_to_workspace(), "cuBLAS");
  claim_each(at::cuda::cublaslt_handle_stream_to_workspace(), "cuBLASLt");
}

}  // namespace headroom
