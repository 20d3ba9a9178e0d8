// The program's kernels. The compiler registers each with the runtime at start-up; launch
// heuristics query some of them.
#pragma once

namespace virtual_gpu {

struct KernelCode {
  int ptx_version = 0;     // 90: the chosen code was made for compute_90
  int binary_version = 0;  // 90: sm_90
};

// Called thousands of times before main(): stores three words and reads nothing.
void register_kernel(const void* function, void** fat_binary, const char* name);
void** register_fat_binary(const void* wrapper);

// The code of this kernel for a card of this compute capability: the newest that is not newer than
// the card. {0, 0} if there is none, or the kernel is unknown.
KernelCode code_for(const void* function, int major, int minor);

// The mangled name; nullptr if the kernel is unknown.
const char* kernel_name(const void* function);

}  // namespace virtual_gpu
