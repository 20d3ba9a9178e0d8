// The CUDA runtime's kernel calls. A launch is counted, and memory it may write becomes unknown.
#include <algorithm>
#include <array>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/launch/kernel_writes.h"
#include "virtual_gpu/cudart/launch/kernels.h"

using namespace virtual_gpu;

namespace {

struct CallConfiguration {
  dim3 grid;
  dim3 block;
  size_t shared_bytes;
  cudaStream_t stream;
};

constexpr uint64_t kMostThreads = 1024;

// <<<...>>> pushes here and the kernel's host stub pops; only default arguments can nest them.
thread_local std::array<CallConfiguration, 16> configurations;
thread_local size_t configuration_count = 0;

// Cache of the calling thread's device: a launch costs a few nanoseconds.
struct KnownDevice {
  int ordinal = -1;
  Device* device = nullptr;
};
thread_local KnownDevice known;

Device* current_device() {
  const int ordinal = Machine::current();
  if (known.ordinal != ordinal) known = {ordinal, &Machine::get().device(ordinal)};
  return known.device;
}

bool is_runnable(const dim3& grid, const dim3& block) {
  const uint64_t threads = uint64_t{block.x} * block.y * block.z;
  return grid.x > 0 && grid.y > 0 && grid.z > 0 && threads > 0 && threads <= kMostThreads;
}

cudaError_t launch(const void* kernel, const dim3& grid, const dim3& block, void** arguments,
                   size_t shared_bytes, cudaStream_t stream) {
  if (known.device == nullptr || Machine::forked()) {
    if (const cudaError_t error = usable()) return error;
  }
  Device* device = current_device();
  if (!is_runnable(grid, block)) return result(cudaErrorInvalidConfiguration);
  if (shared_bytes > device->card().shared_memory_per_block_optin) {
    return result(cudaErrorInvalidValue);
  }
  Machine& machine = Machine::get();
  if (machine.streams.notes_work() &&
      machine.streams.issue(machine.stream(stream), NodeKind::kKernel, 0)) {
    return cudaSuccess;
  }
  device->counters.launches.fetch_add(1, std::memory_order_relaxed);
  if (machine.contents.any()) forget_written(machine.contents, kernel, arguments);
  return cudaSuccess;
}

// Allocation unit of a block's shared memory; cuda_occupancy.h of CUDA 13.0.
uint64_t shared_memory_piece(const Card& card) { return card.major >= 8 ? 128 : 256; }

// Blocks per multiprocessor by threads, shared memory and the block limit, for a kernel of 32
// registers, which limit on no card. A card before compute capability 8.0 reserves no shared
// memory, so a block may need none.
int occupancy(const Card& card, int block_threads, size_t shared_bytes) {
  if (block_threads <= 0 || static_cast<uint64_t>(block_threads) > kMostThreads) return 0;
  if (shared_bytes > card.shared_memory_per_block_optin) return 0;
  const int warps = (block_threads + 31) / 32;
  const int by_threads = card.threads_per_multiprocessor / (warps * 32);
  const uint64_t piece = shared_memory_piece(card);
  const uint64_t shared =
      (shared_bytes + card.reserved_shared_memory_per_block + piece - 1) / piece * piece;
  if (shared == 0) return std::min(by_threads, card.blocks_per_multiprocessor);
  const auto by_shared = static_cast<int>(card.shared_memory_per_multiprocessor / shared);
  return std::min({by_threads, by_shared, card.blocks_per_multiprocessor});
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* wrapper) { return register_fat_binary(wrapper); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}
char __cudaInitModule(void**) { return 1; }

void __cudaRegisterFunction(void** fat_binary, const char* function, char*, const char* name, int,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  register_kernel(function, fat_binary, name);
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, size_t, int, int) {}
void __cudaRegisterHostVar(void**, const char*, char*, size_t) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes,
                                     cudaStream_t stream) {
  if (configuration_count == configurations.size()) return 1;
  configurations[configuration_count++] = {grid, block, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes,
                                       void* stream) {
  if (configuration_count == 0) return result(cudaErrorInvalidConfiguration);
  const CallConfiguration& top = configurations[--configuration_count];
  *grid = top.grid;
  *block = top.block;
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  return __cudaGetKernel(kernel, function);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = reinterpret_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                             size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel,
                                void** arguments) {
  return launch(kernel, config->gridDim, config->blockDim, arguments, config->dynamicSmemBytes,
                config->stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        size_t shared_bytes, cudaStream_t stream) {
  return launch(kernel, grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* function) {
  if (const cudaError_t error = usable()) return error;
  const Card& card = Machine::get().here().card();
  const KernelCode code = code_for(function, card.major, card.minor);
  *attributes = {};
  attributes->maxThreadsPerBlock = kMostThreads;
  attributes->numRegs = 32;
  attributes->ptxVersion = code.ptx_version;
  attributes->binaryVersion = code.binary_version;
  attributes->maxDynamicSharedSizeBytes = static_cast<int>(card.shared_memory_per_block);
  attributes->preferredShmemCarveout = -1;
  return code.binary_version == 0 ? result(cudaErrorInvalidDeviceFunction) : cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute attribute, int value) {
  if (const cudaError_t error = usable()) return error;
  const Card& card = Machine::get().here().card();
  const bool too_much = attribute == cudaFuncAttributeMaxDynamicSharedMemorySize &&
                        value > static_cast<int>(card.shared_memory_per_block_optin);
  return too_much ? result(cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return usable(); }

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void*,
                                                                   int block_threads,
                                                                   size_t shared_bytes, unsigned) {
  if (const cudaError_t error = usable()) return error;
  *blocks = occupancy(Machine::get().here().card(), block_threads, shared_bytes);
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* function,
                                                          int block_threads, size_t shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, block_threads,
                                                                shared_bytes, 0);
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void*, int, int) {
  if (const cudaError_t error = usable()) return error;
  *bytes = Machine::get().here().card().shared_memory_per_block;
  return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void*, const cudaLaunchConfig_t*) {
  if (const cudaError_t error = usable()) return error;
  *clusters = Machine::get().here().card().multiprocessors;
  return cudaSuccess;
}

// Device variables have an address too; nothing is stored there.
cudaError_t cudaGetSymbolAddress(void** address, const void* symbol) {
  if (const cudaError_t error = usable()) return error;
  *address = const_cast<void*>(symbol);
  return cudaSuccess;
}

}  // extern "C"
