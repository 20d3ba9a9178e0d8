// NVIDIA's own libraries in the process, for functions that work without a card.
#pragma once

#include <cstdint>

namespace virtual_gpu {

// A function of the process's own library ("libcudnn"), whatever its version, not our definition of
// that name; nullptr if it or the library is missing.
void* real_function(const char* library, const char* name);
// The same of a library that is not in the process, but in the folder of one that is; opens it.
void* real_function_beside(const char* loaded, const char* library, const char* name);

// Replaces a handle that only a card could make, in queries to a real library.
// Note [Asked without a handle]
void* blank_handle();
// A new one on every call, beginning with this word.
void* blank_handle_that_begins(uintptr_t word);

}  // namespace virtual_gpu
