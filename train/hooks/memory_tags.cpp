#include "train/hooks/memory_tags.h"

#include <ATen/core/Tensor.h>
#include <ATen/cuda/CUDAContextLight.h>

#include <shared_mutex>

namespace headroom {

void tag(MemoryTags* tags, Category category, const at::Tensor& tensor, const std::string& name) {
  if (tags == nullptr || !tensor.defined() || !tensor.has_storage()) return;
  const void* const data = tensor.storage().data();
  if (data == nullptr) return;  // no elements
  const MemorySpace space = tensor.is_cpu() ? MemorySpace::kHost : MemorySpace::kDevice;
  tags->tag(category, space, reinterpret_cast<uint64_t>(data), name);
}

void tag(MemoryTags* tags, Category category, const std::vector<at::Tensor>& tensors,
         const std::vector<std::string>& names) {
  if (tags == nullptr) return;
  for (size_t i = 0; i < tensors.size(); ++i) {
    tag(tags, category, tensors[i], names.empty() ? "" : names[i % names.size()]);
  }
}

void tag_workspaces(MemoryTags* tags) {
  if (tags == nullptr) return;
  const auto tag_each = [&](auto& workspaces, const std::string& library) {
    const std::shared_lock lock(workspaces.mutex);
    for (const auto& [key, data] : workspaces.map) {
      tags->tag(Category::kWorkspaces, MemorySpace::kDevice, reinterpret_cast<uint64_t>(data.get()),
                library);
    }
  };
  tag_each(at::cuda::cublas_handle_stream_to_workspace(), "cuBLAS");
  tag_each(at::cuda::cublaslt_handle_stream_to_workspace(), "cuBLASLt");
}

}  // namespace headroom
