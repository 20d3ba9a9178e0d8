// The runtime's stream-ordered allocator (cudaMallocAsync) and its memory pools.
//
// Note [Pools]
// Rationale: PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync allocates all its memory here.
// Approach: a block is an address of the device's own space. The pool's reserved bytes grow in
//   steps of 32 MiB to cover the used ones, and shrink to them when trimmed. libtorch sets the
//   release threshold to "never", as its documentation says.
// Limits: how the driver's pool places and reuses blocks is not documented, so the reserved bytes
//   beyond the used ones are an assumption. Used bytes are exact.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>

#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

constexpr uint64_t kPoolStep = uint64_t{32} << 20;
constexpr uint64_t kGrain = 512;

uint64_t round_up(uint64_t bytes, uint64_t step) { return (bytes + step - 1) / step * step; }

struct Pool {
  Device* device = nullptr;
  uint64_t used = 0;
  uint64_t used_high = 0;
  uint64_t reserved = 0;
  uint64_t reserved_high = 0;
  uint64_t release_threshold = 0;
};

struct Block {
  Pool* pool;
  uint64_t bytes;
};

struct Pools {
  std::mutex mutex;
  std::map<int, std::unique_ptr<Pool>> defaults;
  std::map<uint64_t, Block> blocks;
};

Pools& pools() {
  static auto* all = new Pools();
  return *all;
}

Pool& default_pool(int device) {
  auto& pool = pools().defaults[device];
  if (!pool) {
    pool = std::make_unique<Pool>();
    pool->device = &Machine::get().device(device);
  }
  return *pool;
}

// Releases reserved bytes beyond the used ones, but not below `keep`.
void trim(Pool& pool, uint64_t keep) {
  if (keep > pool.reserved) return;
  const uint64_t wanted = std::max(round_up(pool.used, kPoolStep), round_up(keep, kPoolStep));
  if (pool.reserved <= wanted) return;
  pool.device->give(pool.reserved - wanted);
  pool.reserved = wanted;
}

cudaError_t allocate(void** pointer, size_t bytes, Pool& pool) {
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  const uint64_t size = round_up(bytes, kGrain);
  const uint64_t wanted = round_up(pool.used + size, kPoolStep);
  if (wanted > pool.reserved) {
    if (!pool.device->take(wanted - pool.reserved)) return result(cudaErrorMemoryAllocation);
    pool.reserved = wanted;
  }
  uint64_t address = 0;
  const Status status = pool.device->place(size, &address);
  if (status != Status::kOk) return result(status);
  pool.used += size;
  pool.used_high = std::max(pool.used_high, pool.used);
  pool.reserved_high = std::max(pool.reserved_high, pool.reserved);
  pools().blocks[address] = {.pool = &pool, .bytes = size};
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t allocate_on(void** pointer, size_t bytes, Pool* chosen, cudaStream_t stream) {
  if (pointer == nullptr) return result(cudaErrorInvalidValue);
  if (const cudaError_t error = usable()) return error;
  const std::lock_guard lock(pools().mutex);
  const int device = Machine::get().stream(stream).device;
  return allocate(pointer, bytes, chosen == nullptr ? default_pool(device) : *chosen);
}

Pool& as_pool(cudaMemPool_t handle) { return *reinterpret_cast<Pool*>(handle); }

}  // namespace

extern "C" {

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return allocate_on(pointer, bytes, nullptr, stream);
}

cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                    cudaStream_t stream) {
  return allocate_on(pointer, bytes, &as_pool(pool), stream);
}

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) {
  if (const cudaError_t error = usable()) return error;
  if (pointer == nullptr) return cudaSuccess;
  const std::lock_guard lock(pools().mutex);
  const auto found = pools().blocks.find(reinterpret_cast<uint64_t>(pointer));
  if (found == pools().blocks.end()) return result(cudaErrorInvalidValue);
  Pool& pool = *found->second.pool;
  Machine::get().contents.forget(found->first, found->second.bytes);
  pool.device->unplace(found->first);
  pool.used -= found->second.bytes;
  pools().blocks.erase(found);
  trim(pool, pool.release_threshold);
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (const cudaError_t error = usable()) return error;
  if (device < 0 || device >= Machine::get().count()) return result(cudaErrorInvalidDevice);
  const std::lock_guard lock(pools().mutex);
  *pool = reinterpret_cast<cudaMemPool_t>(&default_pool(device));
  return cudaSuccess;
}

cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return cudaDeviceGetDefaultMemPool(pool, device);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  if (const cudaError_t error = usable()) return error;
  const int device = properties->location.id;
  if (device < 0 || device >= Machine::get().count()) return result(cudaErrorInvalidDevice);
  *pool = reinterpret_cast<cudaMemPool_t>(new Pool{.device = &Machine::get().device(device)});
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const std::lock_guard lock(pools().mutex);
  if (as_pool(pool).used > 0) return result(cudaErrorInvalidValue);
  trim(as_pool(pool), 0);
  delete &as_pool(pool);
  return cudaSuccess;
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep) {
  const std::lock_guard lock(pools().mutex);
  trim(as_pool(pool), keep);
  return cudaSuccess;
}

cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, size_t) {
  return usable();
}

cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(pools().mutex);
  Pool& pool = as_pool(handle);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      pool.release_threshold = *static_cast<uint64_t*>(value);
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      pool.reserved_high = pool.reserved;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
      pool.used_high = pool.used;
      return cudaSuccess;
    default:  // the reuse policies have no effect: nothing is ever pending here
      return cudaSuccess;
  }
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr attribute, void* value) {
  const std::lock_guard lock(pools().mutex);
  const Pool& pool = as_pool(handle);
  auto& bytes = *static_cast<uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      bytes = pool.release_threshold;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
      bytes = pool.reserved;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      bytes = pool.reserved_high;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemCurrent:
      bytes = pool.used;
      return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
      bytes = pool.used_high;
      return cudaSuccess;
    default:
      *static_cast<int*>(value) = 1;
      return cudaSuccess;
  }
}

}  // extern "C"
