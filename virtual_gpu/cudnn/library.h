// The real cuDNN of the process, which plans without a device. Note [Planning without a device]
#pragma once

#include <cudnn.h>

#include <string>

#include "virtual_gpu/device/card.h"

namespace virtual_gpu {

// A function of the real libcudnn.so.9; nullptr when it, or the library, is not there.
void* cudnn_function(const char* name);

// Calls the real function, whatever this library itself defines under the name.
#define HEADROOM_CUDNN(name, ...)                                                      \
  ([&]() -> cudnnStatus_t {                                                            \
    static const auto function =                                                       \
        reinterpret_cast<decltype(&name)>(virtual_gpu::cudnn_function(#name));         \
    return function == nullptr ? CUDNN_STATUS_NOT_INITIALIZED : function(__VA_ARGS__); \
  }())

// The card as cuDNN serializes one (CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION).
std::string cudnn_device_text(const Card& card, int ordinal);

// The finalized descriptor of this device; nullptr, and one line on stderr, when the library is too
// old to plan without a device.
cudnnBackendDescriptor_t cudnn_device(int ordinal);

}  // namespace virtual_gpu
