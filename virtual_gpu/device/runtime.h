// The CUDA that the program was built for, by the runtime library that the process has loaded.
#pragma once

namespace virtual_gpu {

// The number of cudaRuntimeGetVersion(): 12080 for CUDA 12.8. The process's own runtime gives it; a
// process without one has the CUDA that this library was built with.
int cuda_version();
inline int cuda_major() { return cuda_version() / 1000; }

// Ends the process with exit code 5, after one line, if it has a runtime whose structures are
// unknown.
void end_with_unknown_runtime();

}  // namespace virtual_gpu
