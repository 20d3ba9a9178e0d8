// The frames at the top of every allocation's stack. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Note [Machinery]
// Rationale: a tensor's memory is requested some twenty calls below its operation, always the same
//   twenty. A reader looks for the operation and for our line that calls it.
// Approach: frames are omitted from the top through the last of an unbroken run of these:
//   1. the recorder: torch::unwind, StackTable, its callers;
//   2. the allocator: CUDACachingAllocator, c10's storage;
//   3. functions that make an empty tensor for any operation: at::...empty..., create_out,
//      set_output_..., TensorIteratorBase; between them wrap_kernel_functor and nameless frames,
//      which call the next.
//   Dispatcher and autograd frames further out (at::_ops::mul_Tensor::call, VariableType) stay:
//   they name the operation.
// Limits: recognized by name. A frame with a line of ours is never machinery, except in profiling/.

// The number of machinery frames at the top of `stack` (innermost first, indices into `frames`).
// Never all frames.
ptrdiff_t machinery_frames(const std::vector<Frame>& frames, const std::vector<int32_t>& stack);

}  // namespace headroom
