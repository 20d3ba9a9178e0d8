// The CUDA runtime's calls that allocate and free memory.
#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

// Allocation fails during a capture that forbids it, and in a forked child.
cudaError_t may_allocate() {
  if (const cudaError_t error = usable()) return error;
  return result(Machine::get().streams.unsafe_call());
}

cudaError_t allocate_host(void** pointer, size_t bytes) {
  if (const cudaError_t error = may_allocate()) return error;
  uint64_t address = 0;
  const Status status =
      Machine::get().host.allocate(bytes, HostMemory::Kind::kPinned, nullptr, &address);
  *pointer = reinterpret_cast<void*>(address);
  return result(status);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  if (pointer == nullptr) return result(cudaErrorInvalidValue);
  if (const cudaError_t error = may_allocate()) return error;
  uint64_t address = 0;
  const Status status = Machine::get().here().allocate(bytes, &address);
  *pointer = reinterpret_cast<void*>(address);
  return result(status);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  *pitch = (width + 511) / 512 * 512;
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned) {
  if (pointer == nullptr) return result(cudaErrorInvalidValue);
  if (const cudaError_t error = may_allocate()) return error;
  // Managed memory may exceed the card: a block that does not fit stays on the host.
  Device& device = Machine::get().here();
  Device* owner = device.take(bytes) ? &device : nullptr;
  uint64_t address = 0;
  const Status status =
      Machine::get().host.allocate(bytes, HostMemory::Kind::kManaged, owner, &address);
  if (status != Status::kOk && owner != nullptr) owner->give(bytes);
  *pointer = reinterpret_cast<void*>(address);
  return result(status);
}

cudaError_t cudaFree(void* pointer) {
  if (const cudaError_t error = may_allocate()) return error;
  if (pointer == nullptr) return cudaSuccess;
  Machine& machine = Machine::get();
  const uint64_t address = as_address(pointer);
  for (int i = 0; i < machine.count(); ++i) {
    if (!machine.device(i).contains(address)) continue;
    machine.streams.synchronize_device(i);
    if (const auto block = machine.device(i).find(address)) {
      machine.contents.forget(block->address, block->bytes);
    }
    return result(machine.device(i).release(address));
  }
  const auto block = machine.host.find(address);
  if (!block || block->kind != HostMemory::Kind::kManaged) return result(cudaErrorInvalidValue);
  const Status status = machine.host.release(address, HostMemory::Kind::kManaged);
  if (status == Status::kOk && block->device != nullptr) block->device->give(block->bytes);
  return result(status);
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned) {
  return allocate_host(pointer, bytes);
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return allocate_host(pointer, bytes); }

cudaError_t cudaFreeHost(void* pointer) {
  if (const cudaError_t error = may_allocate()) return error;
  Machine& machine = Machine::get();
  for (int i = 0; i < machine.count(); ++i) machine.streams.synchronize_device(i);
  return result(machine.host.release(as_address(pointer), HostMemory::Kind::kPinned));
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned) {
  if (const cudaError_t error = usable()) return error;
  const Status status = Machine::get().host.add(as_address(pointer), bytes);
  return result(status == Status::kIllegalState ? cudaErrorHostMemoryAlreadyRegistered
                                                : to_cuda(status));
}

cudaError_t cudaHostUnregister(void* pointer) {
  if (const cudaError_t error = usable()) return error;
  const Status status = Machine::get().host.remove(as_address(pointer));
  return result(status == Status::kOk ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  *device = host;
  return cudaSuccess;
}

cudaError_t cudaHostGetFlags(unsigned* flags, void*) {
  *flags = 0;
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  if (const cudaError_t error = usable()) return error;
  const Device& device = Machine::get().here();
  *free = device.free_bytes();
  *total = device.card().total_bytes;
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (const cudaError_t error = usable()) return error;
  *attributes = {};
  attributes->device = cudaInvalidDeviceId;
  Machine& machine = Machine::get();
  const uint64_t address = as_address(pointer);
  if (const Device* owner = machine.owner(address)) {
    attributes->type = cudaMemoryTypeDevice;
    attributes->device = owner->ordinal();
    attributes->devicePointer = const_cast<void*>(pointer);
    return cudaSuccess;
  }
  const auto block = machine.host.find(address);
  if (!block) {
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  }
  attributes->type =
      block->kind == HostMemory::Kind::kManaged ? cudaMemoryTypeManaged : cudaMemoryTypeHost;
  attributes->device = Machine::current();
  attributes->devicePointer = const_cast<void*>(pointer);
  attributes->hostPointer = const_cast<void*>(pointer);
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void*, size_t, cudaMemoryAdvise, cudaMemLocation) {
  return usable();
}

cudaError_t cudaMemPrefetchAsync(const void*, size_t, cudaMemLocation, unsigned, cudaStream_t) {
  return usable();
}

}  // extern "C"
