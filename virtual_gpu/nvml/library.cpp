// NVML: the library itself, its versions and its errors. The stand-in libnvidia-ml.so.1 is an empty
// library that depends on this one.
#include <cuda_runtime_api.h>

#include <string>

#include "virtual_gpu/nvml/host.h"

using namespace virtual_gpu::nvml;

namespace {

// The driver under which the virtual H100 was compared with a real one.
constexpr const char* kDriver = "580.159.04";

Result start() {
  if (card_count() == 0) return kDriverNotLoaded;
  initialize();
  return kSuccess;
}

Result answer(const std::string& text, char* to, unsigned length) {
  return is_initialized() ? copy_text(text, to, length) : kUninitialized;
}

}  // namespace

extern "C" {

Result nvmlInit() { return start(); }
Result nvmlInit_v2() { return start(); }
Result nvmlInitWithFlags(unsigned) { return start(); }

Result nvmlShutdown() {
  if (!is_initialized()) return kUninitialized;
  shut_down();
  return kSuccess;
}

const char* nvmlErrorString(int result) {
  switch (result) {
    case kSuccess:
      return "Success";
    case kUninitialized:
      return "Uninitialized";
    case kInvalidArgument:
      return "Invalid Argument";
    case kNotSupported:
      return "Not Supported";
    case kNotFound:
      return "Not Found";
    case kInsufficientSize:
      return "Insufficient Size";
    case kDriverNotLoaded:
      return "Driver Not Loaded";
    default:
      return "Unknown Error";
  }
}

Result nvmlSystemGetDriverVersion(char* text, unsigned length) {
  return answer(kDriver, text, length);
}

Result nvmlSystemGetNVMLVersion(char* text, unsigned length) {
  return answer(std::string("13.") + kDriver, text, length);
}

Result nvmlSystemGetCudaDriverVersion(int* version) {
  if (version == nullptr) return kInvalidArgument;
  cudaDriverGetVersion(version);
  return kSuccess;
}

Result nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

}  // extern "C"
