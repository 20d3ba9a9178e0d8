// The calls of refused libraries that return text instead of a code.
extern "C" {

const char* ncclGetErrorString(int) { return "NCCL is not covered by the virtual GPU"; }
const char* ncclGetLastError(void*) { return "NCCL is not covered by the virtual GPU"; }
const char* cusparseGetErrorString(int) { return "cuSPARSE is not covered by the virtual GPU"; }

}  // extern "C"
