// A card's answers to queries by which libtorch and CUB divide, and operations that use CUB on it.
// Run on every virtual card of cards.json, with its compute capability as argument. The occupancy
// is compared with cuda_occupancy.h, NVIDIA's calculator. Prints one line for each fault; exits 1
// if there is one.
#include <cuda_occupancy.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <string>

#include "model/torch.h"
#include "tests/virtual_gpu/programs/on_card/on_card.h"

namespace headroom {
namespace {

int faults = 0;

void expect(bool held, const std::string& text) {
  if (held) return;
  std::printf("%s\n", text.c_str());
  ++faults;
}

std::string by(int threads, size_t shared_bytes) {
  return " for blocks of " + std::to_string(threads) + " threads and " +
         std::to_string(shared_bytes) + " bytes of shared memory";
}

// Every block size, and dynamic shared memory beyond any card's. The kernel has 32 registers, no
// static shared memory, and has opted in to a block's maximum.
void compare_occupancy(const cudaDeviceProp& card) {
  cudaFuncAttributes function{};
  function.maxThreadsPerBlock = 1024;
  function.numRegs = 32;
  cudaOccDeviceProp properties(card);
  cudaOccFuncAttributes attributes(function);
  attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
  attributes.maxDynamicSharedSizeBytes = card.sharedMemPerBlockOptin;
  const cudaOccDeviceState state;
  for (int threads = 1; threads <= 1024; ++threads) {
    for (size_t shared = 0; shared <= 262144; shared += threads % 32 == 0 ? 1000 : 65536) {
      cudaOccResult calculated;
      const cudaOccError error = cudaOccMaxActiveBlocksPerMultiprocessor(
          &calculated, &properties, &attributes, &state, threads, shared);
      expect(error == CUDA_OCC_SUCCESS,
             "the calculator refuses the card's properties" + by(threads, shared));
      int answered = -1;
      const cudaError_t asked =
          cudaOccupancyMaxActiveBlocksPerMultiprocessor(&answered, nullptr, threads, shared);
      expect(asked == cudaSuccess && answered == calculated.activeBlocksPerMultiprocessor,
             std::to_string(answered) + " blocks a multiprocessor, " +
                 std::to_string(calculated.activeBlocksPerMultiprocessor) + " calculated," +
                 by(threads, shared));
      if (error != CUDA_OCC_SUCCESS || faults > 20) return;
    }
  }
}

// Attributes that are divisors or limits: none is zero on any card.
void check_attributes() {
  for (const cudaDeviceAttr attribute : {cudaDevAttrMaxThreadsPerBlock,
                                         cudaDevAttrMaxBlockDimX,
                                         cudaDevAttrMaxBlockDimY,
                                         cudaDevAttrMaxBlockDimZ,
                                         cudaDevAttrMaxGridDimX,
                                         cudaDevAttrMaxGridDimY,
                                         cudaDevAttrMaxGridDimZ,
                                         cudaDevAttrMaxSharedMemoryPerBlock,
                                         cudaDevAttrTotalConstantMemory,
                                         cudaDevAttrWarpSize,
                                         cudaDevAttrMaxPitch,
                                         cudaDevAttrMaxRegistersPerBlock,
                                         cudaDevAttrMaxRegistersPerMultiprocessor,
                                         cudaDevAttrClockRate,
                                         cudaDevAttrTextureAlignment,
                                         cudaDevAttrTexturePitchAlignment,
                                         cudaDevAttrSurfaceAlignment,
                                         cudaDevAttrMultiProcessorCount,
                                         cudaDevAttrMemoryClockRate,
                                         cudaDevAttrGlobalMemoryBusWidth,
                                         cudaDevAttrL2CacheSize,
                                         cudaDevAttrMaxThreadsPerMultiProcessor,
                                         cudaDevAttrComputeCapabilityMajor,
                                         cudaDevAttrMaxSharedMemoryPerMultiprocessor,
                                         cudaDevAttrMaxSharedMemoryPerBlockOptin,
                                         cudaDevAttrMaxBlocksPerMultiprocessor,
                                         cudaDevAttrSingleToDoublePrecisionPerfRatio}) {
    int value = 0;
    const cudaError_t error = cudaDeviceGetAttribute(&value, attribute, 0);
    expect(error == cudaSuccess && value > 0, "attribute " +
                                                  std::to_string(static_cast<int>(attribute)) +
                                                  " is " + std::to_string(value));
  }
}

torch::Tensor tokens(int64_t count) {
  return torch::zeros({count}, torch::device(torch::kCUDA).dtype(torch::kInt64));
}
torch::Tensor numbers(at::IntArrayRef shape) {
  return torch::ones(shape, torch::device(torch::kCUDA));
}

struct Operation {
  const char* name;
  void (*run)();
};

// One operation at least for each kind of CUB algorithm: scans, sorts, segmented sorts, selections,
// reductions by key, histograms.
const Operation kOperations[] = {
    {"cumsum", [] { numbers({100000}).cumsum(0); }},
    {"cumsum of rows",
     [] {
       numbers({64, 5000}).cumsum(1);
     }},
    {"cumprod", [] { numbers({100000}).cumprod(0); }},
    {"cummax", [] { numbers({100000}).cummax(0); }},
    {"logcumsumexp", [] { numbers({100000}).logcumsumexp(0); }},
    {"unique", [] { at::_unique2(tokens(100000), true, true, true); }},
    {"unique rows",
     [] {
       at::unique_dim(tokens(10000).view({100, 100}), 0);
     }},
    {"unique_consecutive", [] { at::unique_consecutive(tokens(100000), true, true); }},
    {"sort", [] { numbers({100000}).sort(); }},
    {"sort of rows",
     [] {
       numbers({300, 5000}).sort(1);
     }},
    {"stable sort of long rows",
     [] {
       numbers({4, 200000}).sort(true, 1, false);
     }},
    {"topk", [] { numbers({100000}).topk(10); }},
    {"topk of rows",
     [] {
       numbers({64, 32000}).topk(50, 1);
     }},
    {"kthvalue",
     [] {
       numbers({64, 5000}).kthvalue(3, 1);
     }},
    {"median",
     [] {
       numbers({64, 5000}).median(1);
     }},
    {"randperm", [] { at::randperm(100000, torch::device(torch::kCUDA).dtype(torch::kInt64)); }},
    {"short randperm", [] { at::randperm(100, torch::device(torch::kCUDA).dtype(torch::kInt64)); }},
    {"nonzero", [] { numbers({100000}).nonzero(); }},
    {"masked_select", [] { numbers({100000}).masked_select(numbers({100000}).gt(0)); }},
    {"masked_scatter",
     [] { numbers({100000}).masked_scatter(numbers({100000}).gt(0), numbers({100000})); }},
    {"multinomial",
     [] {
       numbers({8, 5000}).multinomial(1, true);
     }},
    {"bincount", [] { tokens(100000).bincount({}, 100); }},
    {"histc", [] { numbers({100000}).histc(100); }},
    {"index_put with addition",
     [] {
       numbers({100, 64}).index_put_({tokens(5000)}, numbers({5000, 64}), true);
     }},
    {"backward of an embedding of 4096 tokens",
     [] {
       at::embedding_dense_backward(numbers({4096, 64}), tokens(4096), 100, -1, false);
     }},
    {"backward of an embedding scaled by frequency",
     [] {
       at::embedding_dense_backward(numbers({4096, 64}), tokens(4096), 100, -1, true);
     }},
    {"searchsorted", [] { at::searchsorted(numbers({1000}), numbers({5000})); }},
    {"count_nonzero and sums",
     [] {
       numbers({1000, 1000}).count_nonzero();
       numbers({1000, 1000}).sum();
     }},
    {"argmax",
     [] {
       numbers({1000, 1000}).argmax();
     }},
    {"softmax and its backward",
     [] {
       torch::Tensor scores = numbers({64, 5000}).requires_grad_();
       scores.log_softmax(1).sum().backward();
     }},
    {"norms and their backward",
     [] {
       torch::Tensor input = numbers({64, 1024}).requires_grad_();
       at::layer_norm(input, {1024}).sum().backward();
     }},
};

void run_operations() {
  for (const Operation& operation : kOperations) {
    try {
      operation.run();
      torch::cuda::synchronize();
    } catch (const std::exception& error) {
      expect(false, std::string(operation.name) + ": " + std::string(error.what()).substr(0, 200));
    }
  }
}

}  // namespace

int check_queries(const char* capability) {
  cudaDeviceProp card{};
  expect(cudaGetDeviceProperties(&card, 0) == cudaSuccess, "no card");
  const std::string found = std::to_string(card.major) + "." + std::to_string(card.minor);
  expect(found == capability, "the card's compute capability is " + found);
  check_attributes();
  compare_occupancy(card);
  run_operations();
  return faults == 0 ? 0 : 1;
}

}  // namespace headroom
