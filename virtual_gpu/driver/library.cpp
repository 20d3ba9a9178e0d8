// The rest of the driver API: functions that cuDNN looks up before it plans, and those with which
// newer programs load kernels. A library's kernels exist by name only, like a module's functions.
#include <cuda.h>
#include <dlfcn.h>

#include <string>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/driver/driver.h"
#include "virtual_gpu/report/refusal.h"

using namespace virtual_gpu;

namespace {

struct Library {};

// Blocks per cluster that every card with clusters supports (CUDA C++ programming guide).
constexpr int kPortableClusterBlocks = 8;

// NVIDIA's own libraries are linked statically too, and those that work on the host do without.
void say_no_private_tables(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  // The assumptions of recurrent networks and cuSOLVER's refusals are reported at their queries.
  for (const char* library : {"libnvrtc", "libcudnn_adv", "libcusolver"}) {
    if (name.starts_with(library)) return;
  }
  if (name.starts_with("libcudnn") || name.starts_with("libcublasLt")) {
    say_assumed(
        "cuDNN's plans for convolutions: engines that need a real device were skipped, the "
        "workspaces may differ");
    return;
  }
  say_refused((path + " contains a statically linked CUDA runtime (link the shared one: nvcc "
                      "--cudart shared); its work")
                  .c_str());
}

}  // namespace

extern "C" {

// Only a statically linked CUDA runtime queries the driver's private tables.
CUresult cuGetExportTable(const void**, const CUuuid*) {
  Dl_info info;
  const bool found = dladdr(__builtin_return_address(0), &info) != 0;
  say_no_private_tables(found ? info.dli_fname : "a library");
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void*, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  *library = reinterpret_cast<CUlibrary>(new Library());
  return to_driver(usable());
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char*, CUjit_option*, void**, unsigned,
                               CUlibraryOption*, void**, unsigned) {
  return cuLibraryLoadData(library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

CUresult cuLibraryUnload(CUlibrary library) {
  forget_description(library);
  delete reinterpret_cast<Library*>(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char*) {
  *kernel = reinterpret_cast<CUkernel>(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  *module = reinterpret_cast<CUmodule>(library);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  *function = reinterpret_cast<CUfunction>(kernel);
  return CUDA_SUCCESS;
}

CUresult cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel,
                              CUdevice) {
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}

CUresult cuKernelSetAttribute(CUfunction_attribute, int, CUkernel, CUdevice) {
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxPotentialClusterSize(int* blocks, CUfunction, const CUlaunchConfig*) {
  if (const cudaError_t error = usable()) return to_driver(error);
  *blocks = Machine::get().here().card().major >= 9 ? kPortableClusterBlocks : 1;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t* value, CUlimit limit) {
  // Both enumerations share their numbers.
  return to_driver(cudaDeviceGetLimit(value, static_cast<cudaLimit>(limit)));
}

// The header renames these to their second version; the library has both names.
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
CUresult cuCtxPushCurrent(CUcontext context) { return cuCtxPushCurrent_v2(context); }
CUresult cuCtxPopCurrent(CUcontext* context) { return cuCtxPopCurrent_v2(context); }

}  // extern "C"
