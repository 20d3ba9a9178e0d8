// The rest of the driver API that cuDNN looks up before it plans, and that newer programs load their
// kernels with. A library's kernels exist by name only, as a module's functions do.
#include <cuda.h>

#include "virtual_gpu/cudart_error.h"
#include "virtual_gpu/driver.h"

using namespace virtual_gpu;

namespace {

struct Library {};

// Blocks of a cluster that every card with clusters can run (CUDA C++ programming guide).
constexpr int kPortableClusterBlocks = 8;

}  // namespace

extern "C" {

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
