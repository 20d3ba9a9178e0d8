// Which device memory a kernel may write: what its arguments point to.
//
// Note [What a kernel may write]
// Rationale: known contents must never outlive a kernel that changed them.
// Approach: the compiler gives every kernel its mangled name and a launch an array of pointers to
//   the arguments. The name says how many there are and which are numbers or pointers to const;
//   what lies behind a structure's address is looked through for pointers, up to the next argument
//   or the 4 KiB that arguments may have. Every block that is pointed into becomes unknown. Where
//   the name says nothing (kernels compiled while the program runs), the array is followed as far
//   as it points into this thread's stack.
// Limits: a structure's end is not known, so pointers behind it count too, and a table of pointers
//   in device memory is not followed. A launch without arguments (the other libraries' own) may
//   write anything.
#pragma once

#include <string>
#include <vector>

#include "virtual_gpu/device/contents.h"

namespace virtual_gpu {

// Forgets what the kernel may write. Called only while something is known.
void forget_written(Contents& contents, const void* kernel, void** arguments);

// The parameters of "void scale<float>(float*, float const*, Layout, int)": kPointer, kRead,
// kOther, kNumber. Empty for what is no function with parameters.
enum class Parameter { kPointer, kRead, kNumber, kOther };
std::vector<Parameter> parameters_of(const std::string& demangled);

}  // namespace virtual_gpu
