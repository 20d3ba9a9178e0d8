// The listener of libheadroom_blocks.so; see Note [Blocks].
#pragma once

#include <cstdint>

namespace headroom {

// Called under the allocator's lock, on the thread that allocates or frees. bytes: of the block, <
// 0 if it is freed; allocated, reserved: the totals afterwards.
using OnBlock = void (*)(int device, void* address, int64_t bytes, int64_t allocated,
                         int64_t reserved);
using OnWorkspace = void (*)(void* address);

// The words of a program about its own memory; see Note [Named by the program]
// (program_names.h).
struct OnNames {
  bool (*memory)(const void* address, const char* use, const char* owner) = nullptr;
  void (*step_begins)() = nullptr;
  void (*step_ends)(const char* optimizer) = nullptr;
};

}  // namespace headroom

extern "C" void headroom_on_blocks(headroom::OnBlock block, headroom::OnWorkspace workspace);
extern "C" void headroom_on_names(const headroom::OnNames* names);  // which stays
