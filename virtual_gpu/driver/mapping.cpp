// The driver's virtual memory management, the basis of expandable segments.
#include <cuda.h>

#include <mutex>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/driver/driver.h"

using namespace virtual_gpu;

extern "C" {

CUresult cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
  *granularity = Mappings::kGranularity;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr* address, size_t bytes, size_t alignment, CUdeviceptr,
                             unsigned long long) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  uint64_t start = 0;
  const Status status = machine.mappings.reserve(bytes, alignment, &start);
  *address = start;
  return driver_result(status);
}

CUresult cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  return driver_result(machine.mappings.release_range(address, bytes));
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes,
                     const CUmemAllocationProp* properties, unsigned long long) {
  Machine& machine = Machine::get();
  const int device = properties->location.id;
  if (device < 0 || device >= machine.count()) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(machine.mappings_mutex);
  uint64_t created = 0;
  const Status status = machine.mappings.create(machine.device(device), bytes, &created);
  *handle = created;
  return driver_result(status);
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  return driver_result(machine.mappings.release(handle));
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  uint64_t retained = 0;
  const Status status = machine.mappings.retain(reinterpret_cast<uint64_t>(address), &retained);
  *handle = retained;
  return driver_result(status);
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* properties,
                                                CUmemGenericAllocationHandle handle) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  const Mappings::Physical* physical = machine.mappings.find(handle);
  if (physical == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *properties = {};
  properties->type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties->location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties->location.id = physical->device->ordinal();
  return CUDA_SUCCESS;
}

CUresult cuMemMap(CUdeviceptr address, size_t bytes, size_t offset,
                  CUmemGenericAllocationHandle handle, unsigned long long) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  return driver_result(machine.mappings.map(address, bytes, offset, handle));
}

CUresult cuMemGetAddressRange(CUdeviceptr* begin, size_t* bytes, CUdeviceptr address) {
  Machine& machine = Machine::get();
  Device* device = machine.owner(address);
  if (device == nullptr) return CUDA_ERROR_NOT_FOUND;
  std::pair<uint64_t, uint64_t> found;
  if (const auto block = device->find(address)) {
    found = {block->address, block->bytes};
  } else {
    const std::lock_guard lock(machine.mappings_mutex);
    found = machine.mappings.mapping(address).value_or(found);
  }
  if (begin != nullptr) *begin = found.first;
  if (bytes != nullptr) *bytes = found.second;
  return found.second == 0 ? CUDA_ERROR_NOT_FOUND : CUDA_SUCCESS;
}

CUresult cuMemUnmap(CUdeviceptr address, size_t bytes) {
  Machine& machine = Machine::get();
  machine.contents.forget(address, bytes);
  const std::lock_guard lock(machine.mappings_mutex);
  return driver_result(machine.mappings.unmap(address, bytes));
}

CUresult cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc*, size_t) {
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  return driver_result(machine.mappings.set_access(address, bytes));
}

}  // extern "C"
