// What stands at the top of every allocation's stack. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Note [Machinery]
// Rationale: a tensor's memory is asked for some twenty calls below the operation that makes it,
//   the same twenty every time; a reader looks for the operation and for the line of ours that
//   calls it.
// Approach: frames are left out from the top down to the last of an unbroken run of these:
//   1. the recorder: torch::unwind, StackTable, what calls it;
//   2. the allocator: CUDACachingAllocator, c10's storage;
//   3. what makes an empty tensor for whatever operation: at::...empty..., create_out,
//      set_output_..., TensorIteratorBase; between them wrap_kernel_functor and frames without a
//      name, which call the next.
//   Dispatcher and autograd frames further out (at::_ops::mul_Tensor::call, VariableType) stay:
//   they say which operation it was.
// Limits: told by name. A frame with a line of ours is never machinery, but of profiling/ itself.

// How many frames at the top of `stack` (innermost first, indices into `frames`) are machinery.
// Never all of them.
ptrdiff_t machinery_frames(const std::vector<Frame>& frames, const std::vector<int32_t>& stack);

}  // namespace headroom
