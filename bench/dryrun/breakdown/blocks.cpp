// libheadroom_blocks.so: hands on every change of libtorch's allocated memory, and the workspaces
// of cuBLAS. Preloaded by `headroom dryrun --breakdown`, before the stand-in.
//
// Note [Blocks]
// Rationale: the sizes of allocated blocks, rounding included, are in no trace of libtorch's
//   allocator: a trace has the sizes that were requested.
// Approach: the allocator reports each block with its size and the new totals to the profiler of
//   libtorch, under its lock, by a function of another library. Ours comes first and hands the
//   report on, to a listener and to libtorch's own. The same holds for cuBLAS's workspaces.
// Limits: a program without the listener (bench/dryrun/breakdown/watch.cpp) is only handed on.
#include "bench/dryrun/breakdown/blocks.h"

#include <c10/core/Allocator.h>
#include <cublasLt.h>
#include <cublas_v2.h>
#include <dlfcn.h>

#include <atomic>

#include "bench/dryrun/breakdown/cpp/calls.h"
#include "bench/dryrun/loaded_symbol.h"

namespace {

std::atomic<headroom::OnBlock> on_block = nullptr;
std::atomic<headroom::OnWorkspace> on_workspace = nullptr;
std::atomic<const headroom::OnNames*> on_names = nullptr;

void tell_workspace(void* address, size_t bytes) {
  const headroom::OnWorkspace listener = on_workspace;
  if (listener != nullptr && address != nullptr && bytes > 0) listener(address);
}

template <typename F>
F* next_of(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

__attribute__((visibility("default"))) void headroom_on_blocks(headroom::OnBlock block,
                                                               headroom::OnWorkspace workspace) {
  on_block = block;
  on_workspace = workspace;
}

__attribute__((visibility("default"))) void headroom_on_names(const headroom::OnNames* names) {
  on_names = names;
}

// Called by programs: docs/programs/dryrun.md.

__attribute__((visibility("default"))) int headroom_name_memory(const void* address,
                                                                const char* use,
                                                                const char* owner) {
  const headroom::OnNames* const names = on_names;
  return names != nullptr && names->memory(address, use, owner) ? 1 : 0;
}

__attribute__((visibility("default"))) void headroom_step_begins() {
  const headroom::OnNames* const names = on_names;
  if (names != nullptr) names->step_begins();
}

__attribute__((visibility("default"))) void headroom_step_ends(const char* optimizer) {
  const headroom::OnNames* const names = on_names;
  if (names != nullptr) names->step_ends(optimizer);
}

}  // extern "C"

namespace c10 {

__attribute__((visibility("default"))) void reportMemoryUsageToProfiler(
    void* ptr, int64_t alloc_size, size_t total_allocated, size_t total_reserved, Device device) {
  if (device.is_cuda()) headroom::begin_to_listen();
  const headroom::OnBlock listener = on_block;
  if (listener != nullptr && device.is_cuda()) {
    listener(device.index(), ptr, alloc_size, static_cast<int64_t>(total_allocated),
             static_cast<int64_t>(total_reserved));
  }
  using Report = void(void*, int64_t, size_t, size_t, Device);
  static Report* const own = headroom::loaded_symbol<Report>(
      RTLD_NEXT, "/libc10.so", "_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
  if (own != nullptr) own(ptr, alloc_size, total_allocated, total_reserved, device);
}

}  // namespace c10

extern "C" __attribute__((visibility("default"))) cublasStatus_t cublasSetWorkspace_v2(
    cublasHandle_t handle, void* workspace, size_t bytes) {
  tell_workspace(workspace, bytes);
  static auto* const next = next_of<decltype(cublasSetWorkspace_v2)>("cublasSetWorkspace_v2");
  return next == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : next(handle, workspace, bytes);
}

extern "C" __attribute__((visibility("default"))) cublasStatus_t cublasLtMatmul(
    cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha, const void* a,
    cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
    const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
    cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algorithm, void* workspace,
    size_t bytes, cudaStream_t stream) {
  tell_workspace(workspace, bytes);
  static auto* const next = next_of<decltype(cublasLtMatmul)>("cublasLtMatmul");
  if (next == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  return next(handle, product, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d, d_layout,
              algorithm, workspace, bytes, stream);
}
