// The kernels a program brings along. The compiler registers each with the runtime at start-up; the
// card's launch heuristics ask about some of them.
#pragma once

namespace virtual_gpu {

struct KernelCode {
  int ptx_version = 0;     // 90: compute_90 was what the chosen code was made for
  int binary_version = 0;  // 90: sm_90
};

// Called thousands of times before main(): keeps three words and looks at nothing.
void register_kernel(const void* function, void** fat_binary, const char* name);
void** register_fat_binary(const void* wrapper);

// The code of this kernel that a card of this compute capability would run: the newest that is not
// newer than the card. {0, 0} when the program has none for it, or the kernel is unknown.
KernelCode code_for(const void* function, int major, int minor);

// As the compiler mangled it; nullptr when the kernel is unknown.
const char* kernel_name(const void* function);

}  // namespace virtual_gpu
