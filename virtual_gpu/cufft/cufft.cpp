// cuFFT (torch.fft, torch.stft): plans.
//
// Note [Work areas of cuFFT]
// Rationale: libtorch queries the size of a plan's work area and allocates it beside the tensors.
//   cuFFT computes the size only on a card: its statically linked CUDA runtime does not start on
//   ours, so that cufftEstimateMany() fails too.
// Approach: the size that its documentation gives for its usual algorithm: that of the transformed
//   complex data of the whole batch. Lengths with a prime factor above 127 use Bluestein's
//   algorithm, on a power of two of at least twice the length. The figure is an assumption, printed
//   once and in the report.
// Limits: short transforms whose factors fit one kernel may need none on a card.
#include <cufft.h>
#include <cufftXt.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/launch/launch_once.h"
#include "virtual_gpu/report/refusal.h"

using namespace virtual_gpu;

namespace {

constexpr int64_t kLargestPrime = 127;

struct CufftPlan {
  cudaStream_t stream = nullptr;
  bool is_made = false;
};

struct CufftPlans {
  std::mutex mutex;
  std::map<cufftHandle, CufftPlan> plans;
  cufftHandle next = 1;
};

CufftPlans& cufft_plans() {
  static auto* all = new CufftPlans();
  return *all;
}

int64_t largest_prime_of(int64_t length) {
  int64_t largest = 1;
  for (int64_t prime = 2; prime * prime <= length; ++prime) {
    for (; length % prime == 0; length /= prime) largest = prime;
  }
  return length > 1 ? length : largest;
}

// Elements along one dimension that are processed at once.
int64_t worked_length(int64_t length) {
  if (largest_prime_of(length) <= kLargestPrime) return length;
  int64_t padded = 1;
  while (padded < 2 * length - 1) padded *= 2;
  return padded;
}

// Bytes of one complex number of the execution type.
size_t complex_bytes(cudaDataType type) {
  switch (type) {
    case CUDA_R_64F:
    case CUDA_C_64F:
      return 16;
    case CUDA_R_16F:
    case CUDA_C_16F:
    case CUDA_R_16BF:
    case CUDA_C_16BF:
      return 4;
    default:
      return 8;
  }
}

bool is_real(cudaDataType type) {
  return type == CUDA_R_64F || type == CUDA_R_32F || type == CUDA_R_16F || type == CUDA_R_16BF;
}

}  // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle* handle) {
  if (usable() != cudaSuccess) return CUFFT_SETUP_FAILED;
  Machine::get().here().make_context();
  const std::lock_guard lock(cufft_plans().mutex);
  *handle = cufft_plans().next++;
  cufft_plans().plans.emplace(*handle, CufftPlan{});
  return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle handle) {
  const std::lock_guard lock(cufft_plans().mutex);
  return cufft_plans().plans.erase(handle) == 1 ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetAutoAllocation(cufftHandle handle, int) {
  const std::lock_guard lock(cufft_plans().mutex);
  return cufft_plans().plans.contains(handle) ? CUFFT_SUCCESS : CUFFT_INVALID_PLAN;
}

cufftResult cufftSetStream(cufftHandle handle, cudaStream_t stream) {
  const std::lock_guard lock(cufft_plans().mutex);
  const auto found = cufft_plans().plans.find(handle);
  if (found == cufft_plans().plans.end()) return CUFFT_INVALID_PLAN;
  found->second.stream = stream;
  return CUFFT_SUCCESS;
}

cufftResult cufftSetWorkArea(cufftHandle handle, void*) {
  return cufftSetAutoAllocation(handle, 0);
}

cufftResult cufftXtMakePlanMany(cufftHandle handle, int rank, long long* lengths, long long*,
                                long long, long long, cudaDataType input, long long*, long long,
                                long long, cudaDataType output, long long batch, size_t* work_bytes,
                                cudaDataType execution) {
  {
    const std::lock_guard lock(cufft_plans().mutex);
    const auto found = cufft_plans().plans.find(handle);
    if (found == cufft_plans().plans.end() || found->second.is_made) return CUFFT_INVALID_PLAN;
    found->second.is_made = true;
  }
  if (rank < 1 || rank > 3 || batch < 1) return CUFFT_INVALID_VALUE;
  // A real transform keeps n/2+1 numbers of the last dimension.
  const bool half = is_real(input) || is_real(output);
  size_t bytes = complex_bytes(execution) * static_cast<size_t>(batch);
  for (int i = 0; i < rank; ++i) {
    if (lengths[i] < 1) return CUFFT_INVALID_SIZE;
    const int64_t length = worked_length(lengths[i]);
    bytes *= static_cast<size_t>(half && i == rank - 1 ? length / 2 + 1 : length);
  }
  *work_bytes = bytes;
  say_assumed("a cuFFT plan's work area is as large as the complex data that it transforms");
  return CUFFT_SUCCESS;
}

cufftResult cufftXtExec(cufftHandle handle, void*, void*, int) {
  cudaStream_t stream = nullptr;
  {
    const std::lock_guard lock(cufft_plans().mutex);
    const auto found = cufft_plans().plans.find(handle);
    if (found == cufft_plans().plans.end() || !found->second.is_made) return CUFFT_INVALID_PLAN;
    stream = found->second.stream;
  }
  return launch_once(stream) == cudaSuccess ? CUFFT_SUCCESS : CUFFT_EXEC_FAILED;
}

}  // extern "C"
