// NVIDIA's own libraries of the process, for what they answer without a card.
#pragma once

#include <cstdint>

namespace virtual_gpu {

// A function of the real library of this file name, whatever we define under the function's name;
// nullptr when it, or the library, is not there.
void* real_function(const char* library, const char* name);

// What a real library is asked with where its function wants a handle that only a card could make.
// Note [Asked without a handle]
void* blank_handle();
// Another one for every call, with this word in front.
void* blank_handle_that_begins(uintptr_t word);

}  // namespace virtual_gpu
