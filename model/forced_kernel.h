// One of libtorch's kernels for scaled_dot_product_attention, and no other.
//
// Note [Forced kernels]
// Rationale: scaled_dot_product_attention takes the first kernel in its order that the card, the
//   dtype and the shape allow, and says nowhere which; a measurement of "flash" would be one of
//   whatever ran.
// Approach: for the length of the call the others are disabled in libtorch's settings, which are
//   the process's and are put back after it. What libtorch then warns of is the reason when it
//   refuses. A callback of this thread sees the operation that is dispatched; a wrong one is an
//   error as well.
// Limits: two threads that ask for different kernels at once would hear each other's settings; a
//   step runs its forward, and what backward computes again, on one thread at a time.
#pragma once

#include <functional>
#include <stdexcept>

#include "model/attention_kernel.h"
#include "model/torch.h"

namespace headroom {

// what() is one line: the kernel that was asked for and libtorch's reason against it.
class UnsupportedAttention : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// attend(), which calls scaled_dot_product_attention once, by this kernel. Throws
// UnsupportedAttention where that kernel does not run.
torch::Tensor with_kernel(Attention kernel, const std::function<torch::Tensor()>& attend);

}  // namespace headroom
