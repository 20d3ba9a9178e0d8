// Forces one of libtorch's kernels for scaled_dot_product_attention.
//
// Note [Forced kernels]
// Rationale: scaled_dot_product_attention takes the first kernel in its order that the card, the
//   dtype and the shape allow, and does not report its choice. A measurement of "flash" could be
//   one of another kernel.
// Approach: during the call the other kernels are disabled in libtorch's process-wide settings,
//   which are restored afterwards. If libtorch refuses, its warnings give the reason. A callback on
//   this thread sees the dispatched operation; a wrong one is an error too.
// Limits: two threads that ask for different kernels at once would change each other's settings. A
//   step runs its forward, and the recomputation in backward, on one thread at a time.
#pragma once

#include <functional>
#include <stdexcept>

#include "model/attention_kernel/attention_kernel.h"
#include "model/torch.h"

namespace headroom {

// what() is one line: the kernel asked for and libtorch's reason against it.
class UnsupportedAttention : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Runs attend(), which calls scaled_dot_product_attention once, with this kernel. Throws
// UnsupportedAttention where that kernel does not run.
torch::Tensor with_kernel(Attention kernel, const std::function<torch::Tensor()>& attend);

}  // namespace headroom
