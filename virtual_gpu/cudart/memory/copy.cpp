// The CUDA runtime's copies. Little device memory is known (Note [Known contents]); the rest reads
// as zero, and writes to it are lost.
#include <atomic>
#include <cstring>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/memory/contents.h"
#include "virtual_gpu/report/host_read.h"

using namespace virtual_gpu;

namespace {

void count(std::atomic<uint64_t>& counter, uint64_t by) {
  counter.fetch_add(by, std::memory_order_relaxed);
}

// False if the host reads unknown memory.
bool copy_row(Machine& machine, char* to, bool to_card, const char* from, bool from_card,
              size_t bytes) {
  if (to_card) {
    if (from_card) {
      machine.contents.copy(as_address(to), as_address(from), bytes);
    } else if (bytes > Contents::kMostAtOnce) {  // host data has this limit under --route too
      machine.contents.forget(as_address(to), bytes);
    } else {
      machine.contents.write(as_address(to), from, bytes);
    }
    return true;
  }
  if (!from_card) {
    std::memmove(to, from, bytes);
    return true;
  }
  if (bytes <= Contents::kMostBytes && machine.contents.read(as_address(from), bytes, to)) {
    return true;
  }
  const Answered answered = take_answer(to, bytes);
  if (answered == Answered::kNo) machine.host.set_zero(to, bytes);
  return answered == Answered::kYes;
}

// Copies `rows` rows of `bytes`; each side may be host or device memory.
cudaError_t copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t bytes,
                      size_t rows) {
  if (const cudaError_t error = usable()) return error;
  if (bytes == 0 || rows == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return result(cudaErrorInvalidValue);
  Machine& machine = Machine::get();
  Device* source = machine.owner(reinterpret_cast<uint64_t>(from));
  Device* target = machine.owner(reinterpret_cast<uint64_t>(to));
  bool are_known = true;
  auto* out = static_cast<char*>(to);
  const auto* in = static_cast<const char*>(from);
  for (size_t row = 0; row < rows; ++row, out += to_pitch, in += from_pitch) {
    are_known &= copy_row(machine, out, target != nullptr, in, source != nullptr, bytes);
  }
  if (source != nullptr && target != nullptr) return cudaSuccess;
  if (target != nullptr) count(target->counters.bytes_to_device, bytes * rows);
  if (source == nullptr) return cudaSuccess;
  count(source->counters.bytes_to_host, bytes * rows);
  count(source->counters.copies_to_host, 1);
  if (!are_known) note_host_read(rows == 1 ? to : nullptr, from, bytes * rows);
  return cudaSuccess;
}

// With late events: true if the host waits for a copy on a stream. Into pageable host memory it
// does, because the card cannot write there directly; out of it it may, and late events assume it
// does not.
bool waits_for(Machine& machine, const void* to, const void* from) {
  if (!machine.streams.is_late() || machine.owner(as_address(from)) == nullptr) return false;
  const uint64_t target = as_address(to);
  return machine.owner(target) == nullptr && !machine.host.find(target);
}

// With late events: a copy blocks the host unless both sides are on cards.
void wait_for_copy(Machine& machine, const void* to, const void* from) {
  if (!machine.streams.is_late()) return;
  Stream& stream = machine.stream(nullptr);
  machine.streams.issue(stream, NodeKind::kCopy, 0);
  const bool is_on_cards =
      machine.owner(as_address(to)) != nullptr && machine.owner(as_address(from)) != nullptr;
  if (!is_on_cards) machine.streams.synchronize(stream);
}

// A copy on a stream: a node during capture.
cudaError_t copy_on(cudaStream_t handle, void* to, size_t to_pitch, const void* from,
                    size_t from_pitch, size_t bytes, size_t rows) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  Stream& stream = machine.stream(handle);
  if (machine.streams.issue(stream, NodeKind::kCopy, 0)) return cudaSuccess;
  if (waits_for(machine, to, from)) machine.streams.synchronize(stream);
  return copy_rows(to, to_pitch, from, from_pitch, bytes, rows);
}

cudaError_t copy_now(void* to, const void* from, size_t bytes) {
  if (const cudaError_t error = usable()) return error;
  if (const cudaError_t error = result(Machine::get().streams.unsafe_call())) return error;
  wait_for_copy(Machine::get(), to, from);
  return copy_rows(to, 0, from, 0, bytes, 1);
}

cudaError_t set_on(cudaStream_t handle, void* to, int value, size_t bytes) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  if (machine.streams.issue(machine.stream(handle), NodeKind::kSet, 0)) return cudaSuccess;
  const uint64_t address = reinterpret_cast<uint64_t>(to);
  if (bytes == 0) return cudaSuccess;
  if (machine.owner(address) != nullptr) {
    machine.contents.set(address, static_cast<unsigned char>(value), bytes);
    return cudaSuccess;
  }
  // Pinned and managed memory are real and can be filled.
  if (!machine.host.find(address)) return cudaSuccess;
  if (static_cast<unsigned char>(value) == 0) {
    machine.host.set_zero(to, bytes);
  } else {
    std::memset(to, value, bytes);
  }
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind) {
  return copy_now(to, from, bytes);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind,
                            cudaStream_t stream) {
  return copy_on(stream, to, 0, from, 0, bytes, 1);
}

cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, size_t bytes) {
  return copy_now(to, from, bytes);
}

cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, size_t bytes,
                                cudaStream_t stream) {
  return copy_on(stream, to, 0, from, 0, bytes, 1);
}

cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                         size_t width, size_t height, cudaMemcpyKind) {
  if (const cudaError_t error = result(Machine::get().streams.unsafe_call())) return error;
  wait_for_copy(Machine::get(), to, from);
  return copy_rows(to, to_pitch, from, from_pitch, width, height);
}

cudaError_t cudaMemcpy2DAsync(void* to, size_t to_pitch, const void* from, size_t from_pitch,
                              size_t width, size_t height, cudaMemcpyKind, cudaStream_t stream) {
  return copy_on(stream, to, to_pitch, from, from_pitch, width, height);
}

cudaError_t cudaMemcpyToSymbol(const void*, const void*, size_t, size_t, cudaMemcpyKind) {
  return usable();
}

cudaError_t cudaMemcpyToSymbolAsync(const void*, const void*, size_t, size_t, cudaMemcpyKind,
                                    cudaStream_t) {
  return usable();
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (const cudaError_t error = usable()) return error;
  if (const cudaError_t error = result(Machine::get().streams.unsafe_call())) return error;
  return set_on(nullptr, to, value, bytes);
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return set_on(stream, to, value, bytes);
}

cudaError_t cudaMemset2DAsync(void* to, size_t, int, size_t, size_t, cudaStream_t stream) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  if (machine.streams.issue(machine.stream(stream), NodeKind::kSet, 0)) return cudaSuccess;
  machine.contents.forget_through(as_address(to));
  return cudaSuccess;
}

}  // extern "C"
