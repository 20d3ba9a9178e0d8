// The CUDA runtime's calls about streams and events.
#include <optional>

#include "virtual_gpu/cudart/error.h"

using namespace virtual_gpu;

namespace {

Event* as_event(cudaEvent_t handle) { return reinterpret_cast<Event*>(handle); }

cudaError_t create_stream(cudaStream_t* handle, unsigned flags, int priority) {
  if (handle == nullptr) return result(cudaErrorInvalidValue);
  if (const cudaError_t error = usable()) return error;
  Stream* stream = Machine::get().streams.create(Machine::current(), flags, priority);
  *handle = reinterpret_cast<cudaStream_t>(stream);
  return cudaSuccess;
}

cudaError_t record(cudaEvent_t event, cudaStream_t stream) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  machine.streams.record(*as_event(event), machine.stream(stream));
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return create_stream(stream, 0, 0); }

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  if (const cudaError_t error = usable()) return error;
  return result(Machine::get().streams.destroy(reinterpret_cast<Stream*>(stream)));
}

cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  machine.here().counters.synchronizations.fetch_add(1, std::memory_order_relaxed);
  return result(machine.streams.synchronize(machine.stream(stream)));
}

cudaError_t cudaStreamQuery(cudaStream_t stream) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  return result(machine.streams.query(machine.stream(stream)));
}

cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  return result(machine.streams.wait(machine.stream(stream), *as_event(event)));
}

cudaError_t cudaStreamGetPriority(cudaStream_t stream, int* priority) {
  if (const cudaError_t error = usable()) return error;
  *priority = Machine::get().stream(stream).priority;
  return cudaSuccess;
}

cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned* flags) {
  if (const cudaError_t error = usable()) return error;
  *flags = Machine::get().stream(stream).flags;
  return cudaSuccess;
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long* id) {
  if (const cudaError_t error = usable()) return error;
  *id = Machine::get().stream(stream).id;
  return cudaSuccess;
}

cudaError_t cudaStreamGetDevice(cudaStream_t stream, int* device) {
  if (const cudaError_t error = usable()) return error;
  *device = Machine::get().stream(stream).device;
  return cudaSuccess;
}

// Callbacks run at once, on the calling thread, also with late events. During a capture this call
// fails, while cudaLaunchHostFunc adds a node.
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback, void* data,
                                  unsigned) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  if (const Status status = machine.streams.host_call(machine.stream(stream));
      status != Status::kOk) {
    return result(status);
  }
  callback(stream, cudaSuccess, data);
  return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  if (const cudaError_t error = usable()) return error;
  Machine& machine = Machine::get();
  if (!machine.streams.issue(machine.stream(stream), NodeKind::kHost, 0)) function(data);
  return cudaSuccess;
}

cudaError_t cudaStreamAttachMemAsync(cudaStream_t, void*, size_t, unsigned) { return usable(); }

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  if (handle == nullptr) return result(cudaErrorInvalidValue);
  if (const cudaError_t error = usable()) return error;
  Event* event = Machine::get().streams.create_event(Machine::current(), flags);
  *handle = reinterpret_cast<cudaEvent_t>(event);
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, 0); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  if (const cudaError_t error = usable()) return error;
  return result(Machine::get().streams.destroy_event(as_event(event)));
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return record(event, stream);
}

cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned) {
  return record(event, stream);
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  if (const cudaError_t error = usable()) return error;
  return result(Machine::get().streams.query(*as_event(event)));
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  if (const cudaError_t error = usable()) return error;
  Machine::get().here().counters.synchronizations.fetch_add(1, std::memory_order_relaxed);
  return result(Machine::get().streams.synchronize(*as_event(event)));
}

// Host time between the two records: the card itself takes no time.
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t start, cudaEvent_t end) {
  if (const cudaError_t error = usable()) return error;
  const Event& first = *as_event(start);
  const Event& last = *as_event(end);
  const bool untimed = ((first.flags | last.flags) & cudaEventDisableTiming) != 0;
  const std::optional<float> between = Machine::get().streams.milliseconds(first, last);
  if (untimed || !between) return result(cudaErrorInvalidResourceHandle);
  for (const Event* event : {&first, &last}) {
    if (const cudaError_t error = result(Machine::get().streams.query(*event))) return error;
  }
  *ms = *between;
  return cudaSuccess;
}

cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode* mode) {
  *mode = static_cast<cudaStreamCaptureMode>(
      Streams::exchange_thread_mode(static_cast<CaptureMode>(*mode)));
  return cudaSuccess;
}

}  // extern "C"
