// The device memory that a kernel may write: the targets of its arguments.
//
// Note [Memory written by a kernel]
// Rationale: known contents must never outlive a kernel that changed them.
// Approach: the compiler gives every kernel its mangled name, and a launch has an array of pointers
//   to the arguments. The name gives their number, and which are numbers or pointers to const. A
//   structure is scanned for pointers, up to the next argument, the end of its stack frame or the
//   limit of 4 KiB for arguments. Every block with a pointer into it becomes unknown. If the name
//   is not usable (kernels compiled at run time), a description takes its place
//   (headroom_triton.py); without one the array is read as long as it points into this thread's
//   stack.
// Limits: a structure's end is unknown, so pointers behind it count too, and a table of pointers in
//   device memory is not followed. A launch without arguments (other libraries' own) may write
//   anything.
#pragma once

#include <string>
#include <vector>

#include "virtual_gpu/device/memory/contents.h"

namespace virtual_gpu {

// Forgets memory that the kernel may write. Called only if something is known.
void forget_written(Contents& contents, const void* kernel, void** arguments);

// The parameters of "void scale<float>(float*, float const*, Layout, int)": kPointer, kRead,
// kOther, kNumber. Empty if it is not a function with parameters.
enum class Parameter { kPointer, kRead, kNumber, kOther };
std::vector<Parameter> parameters_of(const std::string& demangled);

// The kernel's module was unloaded: another may get its address.
void forget_description(const void* kernel);

}  // namespace virtual_gpu

// A letter for each parameter of a kernel without a usable name: r a pointer that it only reads, n
// a number, any other letter a pointer through which it may write. Scratch memory that the compiler
// adds needs none: it has no known values.
extern "C" void virtual_gpu_kernel_parameters(const void* kernel, const char* letters);
