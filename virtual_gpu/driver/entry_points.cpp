// The driver's functions by name and by the version of CUDA that the caller was built for.
#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "virtual_gpu/device/runtime.h"
#include "virtual_gpu/driver/driver.h"

using namespace virtual_gpu;

namespace {

// Note [Versions of the driver's functions]
// Rationale: a caller asks for "cuStreamGetCtx" and its own CUDA's version, and calls the answer
//   with the arguments of that version's header.
// Approach: a name stands for the newest of its versions that is no newer than the version that was
//   asked for. The names below have one that came after CUDA 12.0; cudaTypedefs.h says when
//   (PFN_NAME_vVERSION). All other names have their newest version since before CUDA 12.
// Limits: a function that is newer than the version that was asked for is found too, where a driver
//   says that the version is not sufficient.
struct Newer {
  const char* name;
  int since;
};
constexpr Newer kNewer[] = {
    {"cuStreamGetCtx_v2", 12050}, {"cuCtxGetDevice_v2", 13000}, {"cuCtxSynchronize_v2", 13000}};

bool is_in(const std::string& name, int version) {
  for (const Newer& newer : kNewer) {
    if (name == newer.name) return version >= newer.since;
  }
  return true;
}

void* driver_function(const std::string& name, int version) {
  for (const char* suffix : {"_v4", "_v3", "_v2", ""}) {
    const std::string full = name + suffix;
    void* found = is_in(full, version) ? dlsym(RTLD_DEFAULT, full.c_str()) : nullptr;
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

extern "C" {

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
  *function = driver_function(name, version);
  const bool found = *function != nullptr;
  if (status != nullptr) {
    *status = found ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return found ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

#undef cuGetProcAddress
// CUDA 11's, which a statically linked runtime takes if it finds no other: without a status.
CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** function, unsigned version,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
  *function = driver_function(name, static_cast<int>(version));
  if (status != nullptr) {
    *status =
        *function == nullptr ? cudaDriverEntryPointSymbolNotFound : cudaDriverEntryPointSuccess;
  }
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* name, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(name, function, static_cast<unsigned>(cuda_version()),
                                          flags, status);
}

}  // extern "C"
