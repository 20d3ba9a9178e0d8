// Peer access between devices, and sharing memory with other processes.
#include <unistd.h>

#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

// The content of a handle for another process, which maps it to an address of the same size. The
// memory is charged to the process that made it.
struct IpcHandle {
  uint64_t tag;
  uint64_t owner;  // process id
  uint64_t address;
  uint64_t bytes;
};
constexpr uint64_t kIpcTag = 0x7669727475616c47;
static_assert(sizeof(IpcHandle) <= sizeof(cudaIpcMemHandle_t));

struct PeerState {
  std::mutex mutex;
  std::set<std::pair<int, int>> enabled;
  std::map<uint64_t, uint64_t> opened;  // address -> bytes
};

PeerState& peer_state() {
  static auto* all = new PeerState();
  return *all;
}

}  // namespace

extern "C" {

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
  if (const cudaError_t error = usable()) return error;
  if (peer < 0 || peer >= Machine::get().count() || peer == Machine::current()) {
    return result(cudaErrorInvalidDevice);
  }
  const std::lock_guard lock(peer_state().mutex);
  const bool is_new = peer_state().enabled.insert({Machine::current(), peer}).second;
  return is_new ? cudaSuccess : result(cudaErrorPeerAccessAlreadyEnabled);
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  const std::lock_guard lock(peer_state().mutex);
  const bool was = peer_state().enabled.erase({Machine::current(), peer}) > 0;
  return was ? cudaSuccess : result(cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  if (const cudaError_t error = usable()) return error;
  const auto address = reinterpret_cast<uint64_t>(pointer);
  const Device* device = Machine::get().owner(address);
  const auto block = device == nullptr ? std::nullopt : device->find(address);
  if (!block) return result(cudaErrorInvalidValue);
  const IpcHandle content = {.tag = kIpcTag,
                             .owner = static_cast<uint64_t>(getpid()),
                             .address = block->address,
                             .bytes = block->bytes};
  std::memset(handle, 0, sizeof *handle);
  std::memcpy(handle, &content, sizeof content);
  return cudaSuccess;
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned) {
  if (const cudaError_t error = usable()) return error;
  IpcHandle content;
  std::memcpy(&content, &handle, sizeof content);
  if (content.tag != kIpcTag) return result(cudaErrorInvalidValue);
  // A process cannot open its own handle.
  if (content.owner == static_cast<uint64_t>(getpid())) return result(cudaErrorDeviceUninitialized);
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  uint64_t address = 0;
  const uint64_t grain = Mappings::kGranularity;
  const uint64_t bytes = (content.bytes + grain - 1) / grain * grain;
  if (const Status status = machine.mappings.reserve(bytes, 0, &address); status != Status::kOk) {
    return result(status);
  }
  const std::lock_guard state_lock(peer_state().mutex);
  peer_state().opened[address] = bytes;
  *pointer = reinterpret_cast<void*>(address);
  return cudaSuccess;
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  const std::lock_guard lock(machine.mappings_mutex);
  const std::lock_guard state_lock(peer_state().mutex);
  const auto found = peer_state().opened.find(reinterpret_cast<uint64_t>(pointer));
  if (found == peer_state().opened.end()) return result(cudaErrorInvalidValue);
  machine.mappings.release_range(found->first, found->second);
  peer_state().opened.erase(found);
  return cudaSuccess;
}

cudaError_t cudaIpcGetEventHandle(cudaIpcEventHandle_t* handle, cudaEvent_t) {
  std::memset(handle, 0, sizeof *handle);
  return usable();
}

cudaError_t cudaIpcOpenEventHandle(cudaEvent_t* event, cudaIpcEventHandle_t) {
  return cudaEventCreateWithFlags(event, cudaEventDisableTiming);
}

}  // extern "C"
