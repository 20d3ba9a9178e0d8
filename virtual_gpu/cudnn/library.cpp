#include "virtual_gpu/cudnn/library.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/real_library/real_library.h"
#include "virtual_gpu/report/json_text.h"

namespace virtual_gpu {
namespace {

struct Property {
  const char* key;
  cudaDeviceAttr attribute;
};

// The keys that cuDNN 9.10 to 9.19 require, and the runtime attribute behind each: both are in
// their error messages ("cudaDeviceGetAttribute(&deviceProp.maxCtasPerSM, ...) != cudaSuccess").
constexpr Property kProperties[] = {
    {"regsPerBlock", cudaDevAttrMaxRegistersPerBlock},
    {"multiProcessorCount", cudaDevAttrMultiProcessorCount},
    {"warpSize", cudaDevAttrWarpSize},
    {"maxSharedMemoryPerBlock", cudaDevAttrMaxSharedMemoryPerBlock},
    {"maxSharedMemoryPerBlockOptin", cudaDevAttrMaxSharedMemoryPerBlockOptin},
    {"reservedSharedMemoryPerBlock", cudaDevAttrReservedSharedMemoryPerBlock},
    {"maxRegistersPerSM", cudaDevAttrMaxRegistersPerMultiprocessor},
    {"maxCtasPerSM", cudaDevAttrMaxBlocksPerMultiprocessor},
    {"maxThreadsPerBlock", cudaDevAttrMaxThreadsPerBlock},
    {"maxThreadsPerSM", cudaDevAttrMaxThreadsPerMultiProcessor},
    {"pciDeviceId", cudaDevAttrPciDeviceId},
    {"isTccDriver", cudaDevAttrTccDriver},
    {"supportCoopLaunch", cudaDevAttrCooperativeLaunch},
    {"smClockRateKHz", cudaDevAttrClockRate},
    {"memClockRateKHz", cudaDevAttrMemoryClockRate},
    {"l2CacheSize", cudaDevAttrL2CacheSize},
};

constexpr Property kDimensions[] = {{"\"maxGridSize\":[", cudaDevAttrMaxGridDimX},
                                    {",", cudaDevAttrMaxGridDimY},
                                    {",", cudaDevAttrMaxGridDimZ},
                                    {"],\"maxBlockSize\":[", cudaDevAttrMaxBlockDimX},
                                    {",", cudaDevAttrMaxBlockDimY},
                                    {",", cudaDevAttrMaxBlockDimZ}};

std::string ask(cudaDeviceAttr attribute, int ordinal) {
  int value = 0;
  cudaDeviceGetAttribute(&value, attribute, ordinal);
  return std::to_string(value);
}

cudnnBackendDescriptor_t make_device(const Card& card, int ordinal) {
  const std::string text = cudnn_device_text(card, ordinal);
  cudnnBackendDescriptor_t device = nullptr;
  cudnnStatus_t status =
      HEADROOM_CUDNN(cudnnBackendCreateDescriptor, CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &device);
  if (status == CUDNN_STATUS_SUCCESS) {
    status =
        HEADROOM_CUDNN(cudnnBackendSetAttribute, device, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                       CUDNN_TYPE_CHAR, static_cast<int64_t>(text.size()), text.data());
  }
  if (status == CUDNN_STATUS_SUCCESS) status = HEADROOM_CUDNN(cudnnBackendFinalize, device);
  if (status == CUDNN_STATUS_SUCCESS) return device;
  auto* version = reinterpret_cast<size_t (*)()>(cudnn_function("cudnnGetVersion"));
  std::fprintf(
      stderr,
      "virtual GPU: cuDNN %zu cannot plan for this card without a real one (status %d; cuDNN 90800 "
      "and later can): cuDNN is not available here\n",
      version == nullptr ? 0 : version(), static_cast<int>(status));
  return nullptr;
}

}  // namespace

void* cudnn_function(const char* name) { return real_function("libcudnn", name); }

std::string cudnn_device_text(const Card& card, int ordinal) {
  std::string text = "{";
  for (const Property& part : kDimensions) text += part.key + ask(part.attribute, ordinal);
  text += "]";
  for (const Property& property : kProperties) {
    text += std::string(",\"") + property.key + "\":" + ask(property.attribute, ordinal);
  }
  int driver = 0;
  cudaDriverGetVersion(&driver);
  text += ",\"totalGlobalMem\":" + std::to_string(card.total_bytes);
  text += ",\"cudaDeviceId\":" + std::to_string(ordinal);
  text += ",\"deviceVer\":" + std::to_string(card.major * 100 + card.minor * 10);
  text += ",\"driverVer\":" + std::to_string(driver);
  return text + ",\"deviceName\":" + quoted(card.name) + "}";
}

cudnnBackendDescriptor_t cudnn_device(int ordinal) {
  static std::mutex mutex;
  static auto* devices = new std::map<int, cudnnBackendDescriptor_t>();
  const std::lock_guard lock(mutex);
  const auto found = devices->find(ordinal);
  if (found != devices->end()) return found->second;
  const Card& card = Machine::get().device(ordinal).card();
  return (*devices)[ordinal] = make_device(card, ordinal);
}

}  // namespace virtual_gpu
