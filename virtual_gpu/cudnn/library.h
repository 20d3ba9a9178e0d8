// The real cuDNN of the process, which plans without a device. Note [Planning without a device]
#pragma once

#include <cudnn.h>

#include <string>

#include "virtual_gpu/device/card.h"

namespace virtual_gpu {

// A function of the real libcudnn; nullptr if it or the library is missing.
void* cudnn_function(const char* name);

// Calls the real function, not this library's definition of the same name.
#define HEADROOM_CUDNN(name, ...)                                                      \
  ([&]() -> cudnnStatus_t {                                                            \
    static const auto function =                                                       \
        reinterpret_cast<decltype(&name)>(virtual_gpu::cudnn_function(#name));         \
    return function == nullptr ? CUDNN_STATUS_NOT_INITIALIZED : function(__VA_ARGS__); \
  }())

// The card in cuDNN's serialized form (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
std::string cudnn_device_text(const Card& card, int ordinal);

// The finalized descriptor of this device; nullptr, and one line on stderr, if the library is too
// old to plan without a device.
cudnnBackendDescriptor_t cudnn_device(int ordinal);

}  // namespace virtual_gpu
