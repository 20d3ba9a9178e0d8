// cuDNN: handles, and its graph API (cudnnBackend...). The real library plans; nothing is executed.
//
// Note [Planning without a device]
// Rationale: the engine that cuDNN chooses, and so the workspace that the framework allocates,
//   comes from heuristics of some hundred megabytes. A table of our own would soon be out of date.
// Approach: since 9.8 the real cuDNN plans for a described device that need not be present
//   (docs.nvidia.com/deeplearning/cudnn, "Deviceless Ahead-of-time Compilation"). So descriptors,
//   graphs, heuristics and support checks are the real library's; where a caller sets a handle we
//   set the description of the card. Functions without a handle are not defined here: the real ones
//   run. Those with one are defined here or refused (report/not_supported.inc). A plan is not
//   built: that compiles kernels, one to two seconds each, and the engine configuration already has
//   the workspace size.
// Limits: plans that are timed against each other (torch.backends.cudnn.benchmark) all take no
//   time. The card memory of cudnnCreate and of loaded kernels is not counted.
#include <cudnn.h>

#include <mutex>
#include <unordered_map>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/cudart/launch/launch_once.h"
#include "virtual_gpu/cudnn/handle.h"
#include "virtual_gpu/cudnn/library.h"

using namespace virtual_gpu;

namespace {

CudnnHandle* as_handle(cudnnHandle_t handle) { return reinterpret_cast<CudnnHandle*>(handle); }

struct Plan {
  cudnnBackendDescriptor_t configuration = nullptr;  // valid until the plan is finalized
  int64_t workspace_bytes = -1;                      // -1 until finalized
};

// Execution plans that the real library has not built.
struct Plans {
  std::mutex mutex;
  std::unordered_map<cudnnBackendDescriptor_t, Plan> known;
};

Plans& plans() {
  static auto* all = new Plans();
  return *all;
}

cudnnStatus_t set_real(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t count, const void* value) {
  return HEADROOM_CUDNN(cudnnBackendSetAttribute, descriptor, name, type, count, value);
}

cudnnStatus_t get_real(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                       cudnnBackendAttributeType_t type, int64_t wanted, int64_t* count,
                       void* value) {
  return HEADROOM_CUDNN(cudnnBackendGetAttribute, descriptor, name, type, wanted, count, value);
}

cudnnStatus_t describe_card(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name) {
  if (usable() != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  const cudnnBackendDescriptor_t card = cudnn_device(Machine::current());
  if (card == nullptr) return CUDNN_STATUS_NOT_INITIALIZED;
  return set_real(descriptor, name, CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, &card);
}

// Replaces a handle or a device number by the card's description.
cudnnStatus_t describe_device(cudnnBackendDescriptor_t descriptor) {
  if (usable() != cudaSuccess) return CUDNN_STATUS_NOT_INITIALIZED;
  const std::string text = cudnn_device_text(Machine::get().here().card(), Machine::current());
  return set_real(descriptor, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                  static_cast<int64_t>(text.size()), text.data());
}

void note_plan(cudnnBackendDescriptor_t descriptor, const void* configuration) {
  const std::lock_guard lock(plans().mutex);
  plans().known[descriptor] = {.configuration =
                                   *static_cast<const cudnnBackendDescriptor_t*>(configuration)};
}

// The workspace of a plan that is known but not built; -1 otherwise.
int64_t finalize_plan(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard lock(plans().mutex);
  const auto found = plans().known.find(descriptor);
  if (found == plans().known.end()) return -1;
  int64_t bytes = -1;
  int64_t count = 0;
  const cudnnStatus_t status =
      get_real(found->second.configuration, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64,
               1, &count, &bytes);
  if (status != CUDNN_STATUS_SUCCESS || count != 1) bytes = -1;
  if (bytes < 0) {
    plans().known.erase(found);
  } else {
    found->second.workspace_bytes = bytes;
  }
  return bytes;
}

int64_t workspace_bytes(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard lock(plans().mutex);
  const auto found = plans().known.find(descriptor);
  return found == plans().known.end() ? -1 : found->second.workspace_bytes;
}

// True if the plan was known: from now on only the real library has it.
bool forget_plan(cudnnBackendDescriptor_t descriptor) {
  const std::lock_guard lock(plans().mutex);
  return plans().known.erase(descriptor) != 0;
}

}  // namespace

namespace virtual_gpu {

int launch(const CudnnHandle* handle) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  return launch_once(handle->stream) == cudaSuccess ? CUDNN_STATUS_SUCCESS
                                                    : CUDNN_STATUS_EXECUTION_FAILED;
}

}  // namespace virtual_gpu

extern "C" {

cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *handle = nullptr;
  if (usable() != cudaSuccess || cudnn_device(Machine::current()) == nullptr) {
    return CUDNN_STATUS_NOT_INITIALIZED;
  }
  Machine::get().here().make_context();
  *handle = reinterpret_cast<cudnnHandle_t>(new CudnnHandle());
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete as_handle(handle);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  if (handle == nullptr) return CUDNN_STATUS_BAD_PARAM;
  as_handle(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  if (handle == nullptr || stream == nullptr) return CUDNN_STATUS_BAD_PARAM;
  *stream = as_handle(handle)->stream;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t count,
                                       const void* value) {
  if (name == CUDNN_ATTR_DEVICEPROP_HANDLE || name == CUDNN_ATTR_DEVICEPROP_DEVICE_ID) {
    return describe_device(descriptor);
  }
  if (type == CUDNN_TYPE_HANDLE) return CUDNN_STATUS_SUCCESS;
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  if (name == CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH) {
    status = describe_card(descriptor, CUDNN_ATTR_ENGINEHEUR_DEVICEPROP);
  } else if (name == CUDNN_ATTR_ENGINE_OPERATION_GRAPH) {
    status = describe_card(descriptor, CUDNN_ATTR_ENGINE_DEVICEPROP);
  }
  if (status == CUDNN_STATUS_SUCCESS) status = set_real(descriptor, name, type, count, value);
  if (status == CUDNN_STATUS_SUCCESS && name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
    note_plan(descriptor, value);
  }
  return status;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t descriptor) {
  if (finalize_plan(descriptor) >= 0) return CUDNN_STATUS_SUCCESS;
  return HEADROOM_CUDNN(cudnnBackendFinalize, descriptor);
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t descriptor,
                                       cudnnBackendAttributeName_t name,
                                       cudnnBackendAttributeType_t type, int64_t wanted,
                                       int64_t* count, void* value) {
  const int64_t bytes = workspace_bytes(descriptor);
  if (bytes >= 0 && name == CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && type == CUDNN_TYPE_INT64) {
    if (count != nullptr) *count = 1;
    if (wanted >= 1 && value != nullptr) *static_cast<int64_t*>(value) = bytes;
    return CUDNN_STATUS_SUCCESS;
  }
  // Queries beyond the workspace (the serialized form) build the plan.
  if (bytes >= 0 && forget_plan(descriptor)) {
    const cudnnStatus_t status = HEADROOM_CUDNN(cudnnBackendFinalize, descriptor);
    if (status != CUDNN_STATUS_SUCCESS) return status;
  }
  return get_real(descriptor, name, type, wanted, count, value);
}

cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t descriptor) {
  forget_plan(descriptor);
  return HEADROOM_CUDNN(cudnnBackendDestroyDescriptor, descriptor);
}

// One launch, however many kernels the engine has.
cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t,
                                  cudnnBackendDescriptor_t) {
  return static_cast<cudnnStatus_t>(launch(as_handle(handle)));
}

}  // extern "C"
